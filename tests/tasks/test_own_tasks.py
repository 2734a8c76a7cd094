"""Tasks of a user's own: a TOML file with the keys of tasks/built_in.toml."""

import pytest

from unwaver.errors import DataError, UsageError
from unwaver.tasks import built_in, open_task
from unwaver.tasks.own import read_tasks

GOOD = """
[mood]
fields = ["post"]
labels = ["calm", "angry"]
prompt = "Post: {post}\\nCalm or angry?\\nAnswer:"
[mood.relations]
negational = { labels = ["calm"], to = "angry" }
[mood.invalid]
symmetric = "one text"
"""


def write(tmp_path, text, name="my.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_task(tmp_path):
    task = open_task(write(tmp_path, GOOD))
    assert (task.name, task.fields, task.modified, task.labels) == ("mood", ("post",), "post", ("calm", "angry"))
    assert task.form.words == ("calm", "angry")
    assert task.form.segments == ("{post}",)
    assert task.relations["negational"].to == "angry"
    with pytest.raises(UsageError, match="symmetric does not hold for mood: one text"):
        task.check_relation("symmetric")


def test_built_in_tasks_by_name():
    assert open_task("snli") is built_in()["snli"]


def test_a_file_that_was_changed_is_read_again(tmp_path):
    path = write(tmp_path, GOOD)
    assert open_task(path).labels == ("calm", "angry")
    write(tmp_path, GOOD.replace('"angry"]', '"angry", "sad"]'))
    assert open_task(path).labels == ("calm", "angry", "sad")


def test_two_tasks_in_a_file(tmp_path):
    path = write(tmp_path, GOOD + '[nli2]\nlike = "snli"\n')
    with pytest.raises(DataError, match="it has 2 tasks: mood, nli2") as error:
        open_task(path)
    assert f"say which: {path}:mood" in error.value.hint
    assert open_task(f"{path}:nli2").fields == ("premise", "hypothesis")
    assert open_task(f"{path}:nli2").name == "nli2"
    with pytest.raises(DataError, match=r"no task \[mod\]") as error:
        open_task(f"{path}:mod")
    assert "did you mean mood" in error.value.hint


def test_like_takes_a_form_of_its_own_and_nothing_else(tmp_path):
    calm = '[nli2]\nlike = "snli"\n[nli2.forms.calm]\nindicators = ["P", "H"]\nprompt = "{first} {second}"\n'
    assert open_task(write(tmp_path, calm)).forms["calm"].indicators == ("P", "H")
    for extra in ('prompt = "x {premise}"', 'labels = ["a", "b"]'):
        with pytest.raises(DataError, match="takes all but forms from it"):
            open_task(write(tmp_path, f'[nli2]\nlike = "snli"\n{extra}\n'))
    with pytest.raises(DataError, match="like an unknown task snil") as error:
        open_task(write(tmp_path, '[nli2]\nlike = "snil"\n'))
    assert "snli" in error.value.hint


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('fields = ["post"]', 'felds = ["post"]', "unknown key 'felds'; did you mean fields"),
        ('fields = ["post"]', "", "it has no fields"),
        ('fields = ["post"]', "fields = []", "expected a list of 1 or more texts"),
        ('fields = ["post"]', 'fields = "post"', "expected a list of 1 or more texts"),
        ('fields = ["post"]', 'fields = ["a post"]', "expected letters, digits and _"),
        ('labels = ["calm", "angry"]', 'labels = ["calm"]', "two or more different ones"),
        ('labels = ["calm", "angry"]', 'labels = ["calm", "calm"]', "two or more different ones"),
        ('labels = ["calm", "angry"]', "labels = [1, 2]", "labels.0: found 1, expected a text"),
        ('to = "angry"', 'to = "sad"', "relations.negational: found label 'sad', expected one of calm, angry"),
        ('labels = ["calm"]', 'labels = ["glad"]', "relations.negational: found label 'glad'"),
        ('labels = ["calm"]', 'labels = "calm"', "relations.negational.labels: found \"calm\", expected a list of texts"),
        ('labels = ["calm"], to', 'label = ["calm"], to', "relations.negational: found"),
        ("{post}", "{text}", "found {text}, expected one of post"),
        ('symmetric = "one text"', "symmetric = true", "invalid.symmetric: found true, expected a text"),
        ("[mood.invalid]\n", "[mood.invalid]\n[mood.forms]\ncalm = 3\n", "forms.calm: found 3"),
        ("[mood.invalid]\n", '[mood.forms.calm]\nindicators = ["a", "b"]\n[mood.invalid]\n', "a table with prompt"),
        ("[mood.relations]\n", "words = ['a']\n[mood.relations]\n", "words: found 1, expected one for each"),
        ("[mood.relations]\n", "modified = 'x'\n[mood.relations]\n", "modified: found 'x'"),
        ("[mood.relations]\nnegational = { labels = [\"calm\"], to = \"angry\" }", "relations = 3", "relations: found 3, expected an object"),
        ("[mood]", "[snli]", "the name of a built-in task"),
    ],
)  # fmt: skip
def test_mistakes_are_named(tmp_path, old, new, said):
    text = GOOD.replace(old, new)
    if old == "[mood]":
        text = text.replace("[mood.", "[snli.")
    assert text != GOOD
    path = write(tmp_path, text)
    with pytest.raises(DataError) as error:
        open_task(path)
    assert said in error.value.message
    assert error.value.file == path
    assert error.value.hint


def test_no_toml(tmp_path):
    with pytest.raises(DataError, match="no TOML") as error:
        open_task(write(tmp_path, "[mood]\nfields = post\n"))
    assert error.value.line == 2
    with pytest.raises(DataError, match="holds no task"):
        open_task(write(tmp_path, ""))
    with pytest.raises(DataError, match="expected the keys of a task"):
        open_task(write(tmp_path, "mood = 3"))
    with pytest.raises(DataError, match="no such file"):
        open_task(str(tmp_path / "none.toml"))
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(DataError, match="cannot be read"):
        open_task(str(tmp_path / "latin.toml"))


def test_a_name_that_is_nearly_one():
    with pytest.raises(UsageError, match="unknown task 'snil'") as error:
        open_task("snil")
    assert "snli" in error.value.hint
    assert "my.toml" in error.value.hint


def test_every_built_in_task_would_pass_as_ones_own(tmp_path):
    import tomllib
    from importlib import resources

    text = resources.files("unwaver.tasks").joinpath("built_in.toml").read_text(encoding="utf-8")
    names = list(tomllib.loads(text))
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(f"[{name}]", f"[my-{name}]").replace(f"[{name}.", f"[my-{name}.")
    found = read_tasks(tmp_path / write(tmp_path, text))
    assert list(found) == [f"my-{name}" for name in names]
    assert found["my-snli"].relations == built_in()["snli"].relations
