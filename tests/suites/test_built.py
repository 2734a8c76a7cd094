"""Groups made from items of one's own, by every builder; and a model as the writer of paraphrases."""

import json
from collections import Counter
from pathlib import Path

import pytest

import unwaver
from unwaver import registry
from unwaver.asking.writing import clean
from unwaver.config import Config
from unwaver.engine.build_groups import build
from unwaver.engine.stored import read_groups
from unwaver.errors import DataError, UnwaverError, UsageError
from unwaver.groups.certify import Reading, standings
from unwaver.groups.from_lines import read_groups_file
from unwaver.models import helpers
from unwaver.suites import built, own
from unwaver.types import Answer, replace

PAIRS = """id,premise,hypothesis,label
a,A man sleeps on a bench.,A man is resting.,entailment
b,A woman reads a book.,A woman is swimming.,contradiction
c,Two dogs run in a field.,The dogs are brothers.,neutral
d,A boy eats an apple.,A boy eats.,0
d,A boy eats a pear.,A boy sings.,2
"""
REVIEWS = "text,label\n" + "Bad.,0\nGood.,1\n" * 4 + "It is such a bad film.,0\nWhat a good film it is.,1\n" * 3


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(PAIRS)
    return path


@pytest.fixture
def reviews(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text(REVIEWS)
    return path


def groups_of(suite):
    return [g for task, kinds in suite.cases.items() for kind in kinds for g in suite.groups(task, kind)]


def bank(path, **variants):
    path.write_text("".join(json.dumps({"id": i, "variants": v}) + "\n" for i, v in variants.items()))
    return f"bank/{path}"


# --- from a table -------------------------------------------------------------------------------------------


def test_swap(pairs):
    suite = built.suite(pairs, task="snli", variants=["swap"])
    found = groups_of(suite)
    assert suite.cases == {"snli": ("symmetric",)}
    assert [g.id for g in found] == ["pairs/snli/symmetric/b", "pairs/snli/symmetric/d.2"]
    assert found[0].items[1].fields == {"premise": "A woman is swimming.", "hypothesis": "A woman reads a book."}
    assert suite.notes("snli", "symmetric") == [
        "swap: 2 groups of 2 items; refused: 3 × symmetric holds only where the label is contradiction"
    ]
    assert [i.id for i in suite.examples("snli")] == ["a", "b", "c", "d", "d.2"]


def test_two_builders_of_a_kind_share_no_id(tmp_path, pairs):
    path = tmp_path / "two.csv"
    path.write_text(PAIRS.replace("\nc,", "\nd.2,"))
    writer = bank(tmp_path / "b.jsonl", **{"d": ["A boy is eating."], "d.2": ["The dogs are siblings."]})
    suite = built.suite(path, task="snli", variants=["paraphrase"], writer=writer, judges=["entail=self"])
    found = groups_of(suite)
    ids = [item.id for g in found for item in g.items]
    assert len(set(ids)) == len(ids)
    for g in found:
        variants = {i.id for i in g.items if i.role == "variant"}
        assert {i.about for i in g.items if i.role == "judge"} == variants, "judges speak of their own group"


def test_clusters_are_shared_originals(tmp_path, pairs):
    path = tmp_path / "t.csv"
    path.write_text(PAIRS + "e,A man sleeps on a bench.,A man is resting.,entailment\n")
    found = groups_of(built.suite(path, task="snli", variants=["reverse"]))
    assert found[0].cluster == found[5].cluster == found[0].id
    assert found[1].cluster == found[1].id


def test_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Premise,claim,verdict\nA.,B.,2\n")
    columns = {"hypothesis": "claim", "gold": "verdict"}
    (group,) = groups_of(built.suite(path, task="snli", variants=["swap"], columns=columns))
    assert group.items[0].fields == {"premise": "A.", "hypothesis": "B."}
    assert group.items[0].accepted == ("contradiction",)
    with pytest.raises(DataError, match="hypothesis") as error:
        built.suite(path, task="snli", variants=["swap"])
    assert "--column hypothesis=NAME" in error.value.hint
    with pytest.raises(DataError, match="no column can be the hypotesis") as error:
        built.suite(path, task="snli", variants=["swap"], columns={"hypotesis": "claim"})
    assert "did you mean hypothesis" in error.value.hint
    with pytest.raises(DataError, match="calim"):
        built.suite(path, task="snli", variants=["swap"], columns={"hypothesis": "calim"})


def test_bad_cells_are_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("premise,hypothesis,label\nA.,B.,2\nA.,B.,maybe\n")
    with pytest.raises(DataError, match="maybe") as error:
        built.suite(path, task="snli", variants=["swap"])
    assert (error.value.file, error.value.line) == (str(path), 3)


def test_usage(pairs):
    with pytest.raises(UsageError, match="unknown variant 'sawp'") as error:
        built.suite(pairs, task="snli", variants=["sawp"])
    assert "did you mean swap" in error.value.hint
    with pytest.raises(UsageError, match="needs the task of the items"):
        built.suite(pairs, variants=["swap"])
    with pytest.raises(UsageError, match="additive does not hold for snli: merging"):
        built.suite(pairs, task="snli", variants=["additive"])
    with pytest.raises(UsageError, match="paraphrases need a writer"):
        built.suite(pairs, task="snli", variants=["paraphrase"])
    with pytest.raises(UsageError, match="unknown certifier"):
        built.suite(pairs, task="snli", variants=["paraphrase"], writer="fake/random", judges=["ential=self"])


def test_nothing_to_make(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("premise,hypothesis,label\nA.,B.,0\n")
    with pytest.raises(
        UsageError, match="no variant could be made: swap: 0 groups of 0 items; refused: 1 × symmetric"
    ):
        built.suite(path, task="snli", variants=["swap"])


def test_surface_stands_for_its_family():
    names = built.names_of(["surface", "swap", "surface_case"])
    assert names == [n for n in registry.names("variants") if n.startswith("surface_")] + ["swap"]


def test_additive(reviews):
    suite = built.suite(reviews, task="sst2", variants=["additive"], additive="all", additive_cap=3)
    for g in groups_of(suite):
        a, b, joined = (i.fields["sentence"] for i in g.items)
        assert joined == f"{a} {b}"


def test_an_own_task(tmp_path):
    toml = tmp_path / "my.toml"
    toml.write_text('[mood]\nfields = ["post"]\nlabels = ["calm", "angry"]\nprompt = "{post}?"\n')
    path = tmp_path / "posts.csv"
    path.write_text("text,label\nI am fine today.,calm\nI hate this.,angry\n")
    writer = bank(tmp_path / "b.jsonl", **{"2": ["Today I am fine."], "3": ["This I hate."]})
    suite = built.suite(path, task=str(toml), variants=["paraphrase"], writer=writer)
    assert list(suite.tasks) == ["mood"]
    found = groups_of(suite)
    assert [g.items[1].fields for g in found] == [{"post": "Today I am fine."}, {"post": "This I hate."}]
    with pytest.raises(UsageError, match="symmetric does not hold for mood"):
        built.suite(path, task=str(toml), variants=["swap"])
    toml.write_text(toml.read_text() + '[mood.invalid]\nsemantic = "every word counts"\n')
    with pytest.raises(UsageError, match="semantic does not hold for mood: every word counts"):
        built.suite(path, task=str(toml), variants=["paraphrase"], writer=writer)


def test_a_bank_that_only_repeats(pairs, tmp_path):
    writer = bank(tmp_path / "b.jsonl", a=["a man is resting!"], b=["The woman swims."])
    suite = built.suite(pairs, task="snli", variants=["paraphrase"], writer=writer)
    assert [g.id for g in groups_of(suite)] == ["pairs/snli/semantic/b"]
    said = " ".join(suite.notes("snli", "semantic"))
    assert "1 × every variant equals the original" in said
    assert "3 × the bank has no variant of it" in said
    assert "sha256:" in said


ENGLISH = ("negate", "antonym", "paraphrase")
TASK = {"additive": "sst2", "surface_contraction": "sst2", "surface_number": "sst2", "surface_spelling": "sst2"}


@pytest.mark.parametrize("name", list(registry.SECTIONS["variants"]))
def test_every_builder(name, tmp_path):
    """Groups of the right shape, ids that differ, and the way through groups.jsonl and back."""
    if name in ENGLISH:
        pytest.importorskip("spacy")
    task = TASK.get(name, "snli")
    path = tmp_path / "items.csv"
    if task == "sst2":
        texts = [
            "It isn't a bad film.",
            "I like the colour of 7 films.",
            "Not good.",
            "We do not like it at all and so on.",
        ]
        path.write_text("text,label\n" + "".join(f"{t},{n % 2}\n" for n, t in enumerate(texts * 3)))
    else:
        rows = [
            "A man sleeps.,A tall man is resting.,0",
            "A man sleeps.,A man is running.,2",
            "A man sleeps.,He is old.,1",
        ]
        path.write_text("premise,hypothesis,label\n" + "\n".join(rows) + "\n")
    antonyms = tmp_path / "antonyms.tsv"
    antonyms.write_text("word1\tword2\ntall\tshort\nold\tyoung\n")
    options = {"writer": "rules", "lang": "en", "seed": 0}
    if name == "antonym":
        options["antonyms"] = str(antonyms)
    try:
        suite = built.suite(path, task=task, variants=[name], **options)
    except UnwaverError as error:
        if name in ENGLISH and "install" in f"{error} {error.hint}":
            pytest.skip(str(error))
        raise
    found = groups_of(suite)
    ids = [i.id for g in found for i in g.items]
    assert len(set(ids)) == len(ids)
    for g in found:
        assert len(g.items) >= 2
        assert g.items[0].role == "original"
        assert g.items[-1].role != "original"
    out = tmp_path / "groups.jsonl"
    build(Config((str(path),), (), task=task, variants=(name,), **options), out)
    again = [replace(g, cluster="") for g in read_groups_file(out)]
    assert again == [replace(g, cluster="") for g in found]
    assert len(groups_of(own.suite(out))) == len(found), "run reads what build wrote"
    result = unwaver.run(str(out), "fake/random", out=str(tmp_path / "run"))
    assert result.missing == 0


# --- a model as the writer ----------------------------------------------------------------------------------


class Staged:
    """A writer whose nth answer about a sentence is the nth of `texts`; None fails."""

    method, reads = "generate", ("prompt",)

    def __init__(self, *texts, deterministic=False):
        self.name = self.identity = "staged"
        self.settings = {"temperature": 0.6}
        self.deterministic = deterministic
        self._texts, self.asked = texts, Counter()

    def answer(self, requests):
        for n, request in enumerate(requests):
            if request.choices:  # whether what it wrote means the same
                yield [(n, Answer(text="Yes"))]
                continue
            self.asked[request.prompt, request.replicate] += 1
            text = self._texts[request.replicate % len(self._texts)]
            answer = (
                Answer(error="no luck")
                if text is None
                else Answer(text=text.replace("*", request.prompt.rpartition(": ")[2].rstrip(".")))
            )
            yield [(n, answer)]

    def close(self):
        pass


class Nli:
    """Entailment, but neutral where one text has "maybe", and contradiction of a variant with "twist"."""

    method, reads, deterministic = "classify", ("segments",), True

    def __init__(self, name="nli", wrong=()):
        self.name = self.identity = name
        self.settings = {}
        self._wrong, self.asked = wrong, Counter()

    def answer(self, requests):
        yield [(n, Answer(text=self._label(r))) for n, r in enumerate(requests)]

    def _label(self, request):
        self.asked[request.segments] += 1
        premise, hypothesis = request.segments
        if hypothesis in self._wrong or "maybe" in premise + hypothesis:
            return "neutral"
        return "contradiction" if premise.startswith("P") and "twist" in hypothesis else "entailment"

    def close(self):
        pass


@pytest.fixture
def fooled(tmp_path, monkeypatch):
    """Ask a model about two pairs, with a writer that is staged."""
    path = tmp_path / "pairs.csv"
    path.write_text("premise,hypothesis,label\nP one.,First one is here.,0\nP two.,Second one is here.,0\n")

    def call(writer, model=None, *, out="run", kind="fooling", **options):
        monkeypatch.setattr(helpers, "open_writer", lambda config, settings: writer)
        options = {"task": "snli", "variants": ("paraphrase",), "writer": "fake/random", "kind": kind, **options}
        return unwaver.run(str(path), model or Nli(), out=str(tmp_path / out), **options)

    return call


def test_rounds_go_on_until_k_are_certified(fooled, tmp_path):
    writer, model = (
        Staged("*, maybe.", "*, indeed.", "*, INDEED", "*, with a twist.", "*, never asked for."),
        Nli(),
    )
    result = fooled(writer, model, k=2)
    assert Counter(replicate for _, replicate in writer.asked) == {0: 2, 1: 2, 2: 2, 3: 2}
    assert result.find("r_r@2").value == 1.0
    assert result.find("r_r@1").value == 0.5
    assert result.find("r_s@2").value == 1.0
    assert result.find("r_r@1").counted == 2
    assert max(model.asked.values()) == 1, "each question once"
    (found,) = result.run["certification"]
    assert (found["candidates"], found["judged"], found["acceptance"]) == (6, 6, pytest.approx(4 / 6))
    records = [json.loads(x) for x in (tmp_path / "run" / "audit.jsonl").read_text().splitlines()]
    assert Counter(r["standing"] for r in records) == {"rejected": 2, "copy": 2, "kept": 4}
    assert unwaver.score(str(tmp_path / "run")).scores == result.scores


def test_tries_are_used_up(fooled):
    writer = Staged("*, maybe.")
    result = fooled(writer, k=1, tries=3)
    assert sum(writer.asked.values()) == 6
    assert result.find("r_r@1").value is None
    assert result.find("r_r@1").not_applicable == 2
    assert result.missing == 0


def test_tries_are_twice_k_unless_said(fooled):
    writer = Staged("*, maybe.")
    fooled(writer, k=2)
    assert sum(writer.asked.values()) == 2 * 4


def test_the_same_again_asks_nothing(fooled):
    first, model = Staged("*, maybe.", "*, indeed."), Nli()
    before = fooled(first, model, k=1)
    again, other = Staged("*, maybe.", "*, indeed."), Nli()
    after = fooled(again, other, k=1)
    assert not again.asked
    assert not other.asked
    assert after.scores == before.scores
    assert after.run["spent"]["calls"] == 0


def test_only_items_that_are_answered_right_are_written_for(fooled):
    writer = Staged("*, indeed.")
    result = fooled(writer, Nli(wrong=("Second one is here.",)), k=1)
    assert len(writer.asked) == 1
    assert (result.find("r_r@1").counted, result.find("r_r@1").not_applicable) == (1, 1)


def test_a_writer_that_says_the_same_every_time_is_asked_once(fooled):
    writer = Staged("*, maybe.", deterministic=True)
    fooled(writer, k=2)
    assert sum(writer.asked.values()) == 2


def test_a_failing_writer_is_said(fooled):
    writer = Staged(None, "*, indeed.", "*, again.")
    result = fooled(writer, k=1, tries=1)
    assert result.run["spent"]["stopped"] == "2 calls of the writer failed"
    assert result.find("r_r@1").value is None
    assert sum(writer.asked.values()) == 2
    again = fooled(Staged("*, indeed."), k=1, tries=1)
    assert again.run["spent"]["stopped"] is None, "the same command asks again what failed"
    assert again.find("r_r@1").value == 0.0


@pytest.mark.parametrize("text", ["", "   ", '""', "Sure:", "\n\n"])
def test_empty_answers_are_no_candidates(fooled, text):
    result = fooled(Staged(text), k=1, tries=2)
    (found,) = result.run["certification"]
    assert found["candidates"] == 0
    assert result.find("r_r@1").value is None


def test_unicode(fooled, tmp_path):
    fooled(Staged("«*» — ça 🙂 \ud83d"), k=1, tries=1)
    text = (tmp_path / "run" / "groups.jsonl").read_text(encoding="utf-8")
    assert "🙂" in text


def test_semantic_groups_without_a_paraphrase_can_be_scored_again(fooled, tmp_path):
    result = fooled(Staged("First one is here."), kind="semantic", k=1, tries=2)
    score = result.find("tau")
    assert (score.counted, score.not_applicable) == (1, 1)
    assert [len(g.items) for g in read_groups(tmp_path / "run")] == [1, 3]
    assert unwaver.score(str(tmp_path / "run")).scores == result.scores


def test_a_model_writes_five_unless_said(fooled, tmp_path):
    texts = [f"*, {word}." for word in ("once", "twice", "again", "indeed", "really", "truly", "surely")]
    fooled(Staged(*texts), kind="semantic")
    assert [sum(i.role == "variant" for i in g.items) for g in read_groups(tmp_path / "run")] == [5, 5]


def test_two_models_need_candidates_of_their_own(fooled):
    """One model refuses what the other accepts: the writer goes on for it, and each keeps its own."""
    strict = Nli("strict", wrong=("First one is here, indeed.", "Second one is here, indeed."))
    writer = Staged("*, indeed.", "*, again.")
    result = fooled(writer, [Nli("lenient"), strict], k=1)
    assert {s.model: s.counted for s in result if s.metric == "r_r@1" and "average" not in s.model} == {
        "lenient": 2,
        "strict": 2,
    }
    kept = {f["model"]: f["acceptance"] for f in result.run["certification"]}
    assert kept == {"lenient": 1.0, "strict": 0.5}


def test_a_tiny_language_model_as_the_writer(pairs, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "models")
    import tiny

    options = {"task": "snli", "variants": ("paraphrase",), "writer": f"hf/{tiny.saved(tmp_path / 'tiny')}"}
    options |= {"writer_args": {"max_tokens": "4"}, "k": 1, "tries": 2, "limit": 2, "device": "cpu"}
    first = unwaver.run(str(pairs), "fake/random", out=str(tmp_path / "r"), **options)
    again = unwaver.run(str(pairs), "fake/random", out=str(tmp_path / "r"), **options)
    assert first.run["spent"]["calls"] > 0
    assert again.run["spent"]["calls"] == 0
    assert again.scores == first.scores
    assert first.run["writer"]["settings"]["temperature"] == 0.6, "sampled unless said otherwise"


@pytest.mark.parametrize(
    "more", [{"replicates": 3}, {"store": "shared.sqlite"}, {"max_calls": 5}, {"judges": ("entail=fake/random",)}]
)
def test_a_folder_is_scored_as_its_run_was(pairs, tmp_path, more):
    writer = bank(
        tmp_path / "b.jsonl", a=["A man rests.", "Someone rests."], b=["A lady swims."], d=["A boy chews."]
    )
    more = {name: str(tmp_path / value) if name == "store" else value for name, value in more.items()}
    options = {"task": "snli", "variants": ("paraphrase",), "kind": "fooling", "k": 1, "writer": writer, **more}
    result = unwaver.run(str(pairs), "fake/random", out=str(tmp_path / "r"), **options)
    assert unwaver.score(str(tmp_path / "r")).scores == result.scores
    score = result.find("r_r@1")
    assert score.counted + score.not_applicable + score.failed + score.not_asked == score.groups == 5
    assert bool(score.not_asked) == ("max_calls" in more)


def test_two_judges_of_one_kind_each_have_a_say(fooled, tmp_path, monkeypatch):
    """The model under test accepts everything, the other judge nothing."""
    monkeypatch.setattr(
        helpers, "open_consulted", lambda config, name, **_: Nli("other", wrong=("First one is here.",))
    )
    judges = ("entail=self", "entail=fake/random")
    result = fooled(Staged("*, indeed."), Nli("self"), k=1, tries=1, judges=judges)
    assert result.find("r_r@1").counted == 1
    first, second = (json.loads(x) for x in (tmp_path / "run" / "audit.jsonl").read_text().splitlines())
    assert (first["standing"], second["standing"]) == ("rejected", "kept")
    assert first["reasons"] == ["fake/random (back.2) says neutral"]
    assert [v["judge"] for v in second["verdicts"]] == ["self", "self", "fake/random", "fake/random"]


def test_build_with_a_writer_and_a_judge(pairs, tmp_path, monkeypatch):
    judge = Nli("judge")
    monkeypatch.setattr(helpers, "open_writer", lambda config, settings: Staged("*, maybe.", "*, indeed."))
    monkeypatch.setattr(helpers, "open_consulted", lambda config, name, **_: judge)
    config = Config((str(pairs),), (), task="snli", variants=("paraphrase",), writer="fake/random",
                    judges=("entail=fake/random",), k=1)  # fmt: skip
    built = build(config, tmp_path / "groups.jsonl")
    groups, certification = built.groups, built.certification
    assert max(judge.asked.values()) == 1
    assert certification[0]["items_with_1"] == 1.0
    assert certification[0]["acceptance"] == 0.5
    assert len(groups) == 5
    assert (tmp_path / "audit.jsonl").exists()
    assert all(
        set(standings(g, lambda item: Reading()).values()) == {"open", "spare"}
        for g in read_groups_file(tmp_path / "groups.jsonl")
    )
    with pytest.raises(UsageError, match="needs a model under test"):
        build(replace(config, judges=("entail=self",)), tmp_path / "other.jsonl")


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("A dog sleeps.", "A dog sleeps."),
        ('Sure, here it is:\n"A dog sleeps."', "A dog sleeps."),
        ("Sure! Here is a paraphrase: A dog sleeps.", "A dog sleeps."),
        ("Sure!\nHere is one:\nA dog sleeps.", "A dog sleeps."),
        ("Paraphrase: A dog sleeps.", "A dog sleeps."),
        ("“A dog sleeps.”", "A dog sleeps."),
        ("  A dog\tsleeps.  \n\nI hope this helps!", "A dog sleeps."),
        ("'A dog sleeps.'", "A dog sleeps."),
        ("1. A dog sleeps.\n2. The dog is asleep.", "A dog sleeps."),
        ("- A dog sleeps.", "A dog sleeps."),
        ("**A dog sleeps.**", "A dog sleeps."),
        ("Sure enough, the dog sleeps.", "Sure enough, the dog sleeps."),
        ("1.5 million dogs sleep.", "1.5 million dogs sleep."),
        ("", ""),
        ('"', '"'),
        ("🙂", "🙂"),
    ],
)
def test_chatty_answers_are_cleaned(written, sentence):
    assert clean(written) == sentence


def test_a_family_makes_what_fits_and_a_builder_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    table, task = tmp_path / "q.csv", tmp_path / "ask.toml"
    table.write_text("text\nWho wrote it?\n")
    task.write_text('[ask]\nfields = ["text"]\nlabels = []\nprompt = "{text}"\n')
    made = built.suite(table, task=str(task), variants=("surface",))
    assert "surface_case" in made.cases["ask"]
    with pytest.raises(UsageError, match="options need"):
        built.suite(table, task=str(task), variants=("options",))


def test_a_limit_takes_groups_of_every_builder():
    assert built.in_turn([[1, 2, 3], [4], []]) == [1, 4, 2, 3]
