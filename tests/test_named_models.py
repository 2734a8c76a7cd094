"""One grammar for a model, wherever one is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.agree.comparison import parse_agreement
from unwaver.agree.scorers import parse_scorer
from unwaver.config import Config
from unwaver.errors import DataError, UnwaverError, UsageError
from unwaver.models import find_model, open_models
from unwaver.models.helpers import open_writer
from unwaver.models_file import find_file
from unwaver.named_models import Named, named, pieces, resolved, with_threshold
from unwaver.variants.certifiers import check_certifiers, parse_certifier

CASES: dict[str, Named] = {
    "fake/random": Named("fake/random", {}),
    "openai/m,timeout=5, retries=0": Named("openai/m", {"timeout": "5", "retries": "0"}),
    'openai/m,extra={"top_k": 5, "stop": ["a, b=c", "}"]},timeout=5': Named(
        "openai/m", {"extra": '{"top_k": 5, "stop": ["a, b=c", "}"]}', "timeout": "5"}
    ),
    'openai/m,extra={},system="Yes, no=1 \\"or\\" {"': Named(
        "openai/m", {"extra": "{}", "system": 'Yes, no=1 "or" {'}
    ),
    "openai/m,system='Say yes, max=3',seed=1": Named("openai/m", {"system": "Say yes, max=3", "seed": "1"}),
    "openai/m,system=Isn't it, or 'is it'?": Named("openai/m", {"system": "Isn't it, or 'is it'?"}),
    "openai/m,system='tis so": Named("openai/m", {"system": "'tis so"}),
    "fake/keyword,words=not,no,never,label=x": Named("fake/keyword", {"words": "not,no,never", "label": "x"}),
    "openai/m,rubric={a} or {b, c=d}?,timeout=1": Named(
        "openai/m", {"rubric": "{a} or {b, c=d}?", "timeout": "1"}
    ),
    "openai/m,base_url=http://h/v1,key_env=K": Named("openai/m", {"base_url": "http://h/v1", "key_env": "K"}),
    "openai/m,system=": Named("openai/m", {"system": ""}),
    "openai/a,b": Named("openai/a,b", {}),
}


@pytest.mark.parametrize("text", CASES)
def test_models_with_options(text: str) -> None:
    assert named(text) == CASES[text]
    assert named(str(CASES[text])) == CASES[text]


@pytest.mark.parametrize(
    ("text", "says"),
    {
        "openai/m,extra={": "found { without the }",
        'openai/m,extra={"a": 1': "found { without the }",
        'openai/m,extra={"a": }': "extra is not JSON",
        'openai/m,extra={"a" 1},timeout=3': "extra is not JSON",
        'openai/m,system="open': 'found " without the "',
        'openai/m,system="bad \\x"': "not a JSON string",
        "openai/m,seed=1,seed=2": "seed is given twice",
    }.items(),
)
def test_junk_is_refused_with_the_option_that_was_used(text: str, says: str) -> None:
    with pytest.raises(UsageError) as e:
        named(text, "--writer ")
    assert says in e.value.message
    assert e.value.message.startswith("--writer openai/m")
    assert e.value.hint


NAMES = st.from_regex(r"[a-z]{1,6}/[A-Za-z0-9_.:/-]{1,20}", fullmatch=True)
KEYS = st.from_regex(r"[a-z_][a-z0-9_]{0,9}", fullmatch=True)
OBJECTS = st.dictionaries(
    st.text(max_size=5),
    st.one_of(st.integers(), st.text(max_size=8), st.lists(st.integers(), max_size=2)),
    max_size=3,
).map(json.dumps)
MARKS = st.text(st.sampled_from("ab1=,{}\"'@\\ \n0."), max_size=14)
VALUES = st.one_of(st.text(max_size=20), MARKS, OBJECTS)


@given(NAMES, st.dictionaries(KEYS, VALUES, max_size=4))
def test_what_is_written_is_read_again(model: str, options: dict[str, str]) -> None:
    one = Named(model, options)
    assert named(str(one)) == one
    body, bar = with_threshold(f"same={one}@0.8")
    assert (body, bar) == (f"same={one}", "0.8")
    assert with_threshold(f"same={one}") == (f"same={one}", None)
    first, found = pieces(body)
    assert (first, found) == (f"same={model}", options)


@given(
    st.one_of(st.text(max_size=40), MARKS.map("openai/m,extra={}".__add__), MARKS.map("fake/random,seed=".__add__))
)
def test_junk_is_a_usage_error_or_a_model(text: str) -> None:
    try:
        found = named(text)
    except UsageError:
        return
    assert named(str(found)) == found or "," in found.model


def test_a_path_that_exists_is_kept_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my,lr=1").mkdir()
    (tmp_path / "at@0.5").mkdir()
    assert named("hf/my,lr=1,dtype=float32") == Named("hf/my,lr=1", {"dtype": "float32"})
    assert named(f"predictions/{tmp_path}/my,lr=1") == Named(f"predictions/{tmp_path}/my,lr=1", {})
    assert pieces("bleurt=my,lr=1,revision=x") == ("bleurt=my,lr=1", {"revision": "x"})
    assert named("fake/keyword,words=my,lr=1,label=x").options == {"words": "my,lr=1", "label": "x"}
    assert with_threshold("same=hf/at@0.5") == ("same=hf/at@0.5", None)
    assert with_threshold("same=hf/at@0.5@0.7") == ("same=hf/at@0.5", "0.7")
    assert parse_certifier("same=hf/my,lr=1@0.7").model == "hf/my,lr=1"


# --- the five options ------------------------------------------------------------------------------------------

BY_OPTION = {
    "--model openai/m,": lambda spec: find_model(spec),
    "--writer openai/m,": lambda spec: open_writer(Config((), (), writer=spec), {}),
    "--judge same=openai/m,": lambda spec: check_certifiers([f"same={spec}@0.8"]),
    "--agree judge=openai/m,": lambda spec: parse_agreement(f"judge={spec}@0.8"),
    "--scorer judge=openai/m,": lambda spec: parse_scorer(f"judge={spec}"),
}


@pytest.mark.parametrize("option", BY_OPTION)
def test_every_option_takes_the_grammar_and_is_named_in_errors(option: str) -> None:
    take = BY_OPTION[option]
    take('openai/m,base_url=http://127.0.0.1:9/v1,extra={"top_k": 5, "x": "a, b=c"}')
    with pytest.raises(UsageError) as e:
        take("openai/m,timeout=soon")
    assert (e.value.message, e.value.hint) == (
        "option timeout=soon: expected a number",
        f"{option}timeout=…, or leave it out",
    )
    with pytest.raises(UsageError, match=f"^{option}tiemout: .*has no option|has an option") as e:
        take("openai/m,tiemout=3")
    assert e.value.message.startswith(f"{option}tiemout: ")
    assert e.value.hint == "did you mean timeout?"
    with pytest.raises(UsageError, match=r"unknown model 'opnai/m'|--writer opnai/m,timeout=3: unknown writer"):
        take("opnai/m,timeout=3")


def test_a_judge_is_opened_with_its_options() -> None:
    assert parse_certifier("entail=openai/m,base_url=http://127.0.0.1:9/v1@0.7").model == (
        "openai/m,base_url=http://127.0.0.1:9/v1"
    )
    from unwaver.models.helpers import open_consulted

    model = open_consulted(Config((), ()), "openai/m,base_url=http://127.0.0.1:9/v1,temperature=none")
    assert "127.0.0.1:9" in model.identity
    assert model.settings["temperature"] is None


def test_options_in_the_name_win_over_general_ones() -> None:
    config = Config((), ("fake/random,seed=3", "fake/random"), model_args={"seed": "5"}, seed=7)
    assert [model.settings["seed"] for model in open_models(config, config.models)] == [3, 5]
    writer = Config(
        (), (), writer="openai/w,temperature=0.9,base_url=http://h/v1", writer_args={"temperature": "0.1"}
    )
    assert open_writer(writer, {"temperature": 0.6}).settings["temperature"] == 0.9


def test_hints_of_the_provider_name_the_option_that_was_used() -> None:
    from unwaver.models.helpers import open_consulted

    with pytest.raises(UsageError, match="base_url is not an address") as e:
        open_consulted(Config((), ()), "openai/m,base_url=nowhere", option="--judge entail=")
    assert e.value.hint == "--judge entail=openai/m,base_url=http://localhost:8000/v1"
    with pytest.raises(UsageError, match="base_url is not an address") as e:
        open_writer(Config((), (), writer="openai/m,base_url=nowhere"), {})
    assert e.value.hint == "--writer-arg base_url=http://localhost:8000/v1"


# --- unwaver.toml ----------------------------------------------------------------------------------------------

TOML = """
[models.fast]
model = "openai/small"
base_url = "http://127.0.0.1:9/v1"
key_env = "FAST_KEY"
extra = {top_k = 5, note = "a, b=c"}
temperature = 0.5
[models.coin]
model = "fake/random,seed=3"
"""
FAST = 'openai/small,base_url=http://127.0.0.1:9/v1,key_env=FAST_KEY,extra={"top_k": 5, "note": "a, b=c"},temperature=0.5'


@pytest.fixture
def toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    below = tmp_path / "project" / "below"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    path = tmp_path / "project" / "unwaver.toml"
    path.write_text(TOML)
    return path


def test_a_name_is_what_the_file_says(toml: Path) -> None:
    assert str(named("@fast")) == FAST
    assert named("@fast,temperature=1").options["temperature"] == "1"
    assert resolved("entail=@fast@0.8", "--judge ") == f"entail={FAST}@0.8"
    assert resolved("judge=@coin,rubric={a} {b}", "--agree ") == 'judge=fake/random,seed=3,rubric="{a} {b}"'
    assert resolved("same=hf/x@0.8", "") == "same=hf/x@0.8"
    assert parse_certifier("entail=@fast@0.8").at_least == 0.8
    assert parse_certifier("entail=@fast@0.8").model == FAST
    agreement = parse_agreement("judge=@fast,rubric={a} like {b}?@0.4")
    assert (agreement.model, agreement.threshold, agreement.options["temperature"]) == ("openai/small", 0.4, 0.5)
    assert parse_scorer("judge=@coin").options == {"seed": 3}
    assert [m.settings["seed"] for m in open_models(Config((), ()), ["@coin", "@coin,seed=4"])] == [3, 4]


def test_another_file_is_another_run(toml: Path) -> None:
    def config() -> Config:
        judges, writer = ("entail=@fast@0.8",), "@fast"
        return Config(("sample",), ("@coin",), judges=judges, writer=writer, agree=("judge=@coin",))

    before = config()
    assert before.models == ("fake/random,seed=3",)
    assert before.judges == (f"entail={FAST}@0.8",)
    assert before.writer == FAST
    assert before.agree == ("judge=fake/random,seed=3",)
    assert before.id == config().id
    toml.write_text(TOML.replace("seed=3", "seed=4"))
    assert config().id != before.id
    toml.write_text(TOML.replace("temperature = 0.5", "temperature = 0.6"))
    assert config().id != before.id


def test_the_file_is_looked_for_up_to_a_project_or_home(
    toml: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_file() == toml
    (tmp_path / "project" / ".git").mkdir()
    assert find_file() == toml, "the folder with .git itself is looked at"
    (toml.parent / "below" / ".git").mkdir()
    assert find_file() is None
    (toml.parent / "below" / ".git").rmdir()
    monkeypatch.setenv("HOME", str(toml.parent / "below"))
    assert find_file() is None
    with pytest.raises(UsageError, match=r"--model @fast: there is no unwaver\.toml in this folder or above") as e:
        named("@fast")
    assert "[models.fast]" in (e.value.hint or "")


def test_an_unknown_name_lists_the_known_ones(toml: Path) -> None:
    for config in ({"models": ("@fats",)}, {"models": (), "judges": ("entail=@fats@0.5",)}):
        with pytest.raises(UsageError, match=r"@fats: this file has no \[models.fats\]") as e:
            Config(("sample",), **config)  # type: ignore[arg-type]
        assert e.value.hint == "known: @coin, @fast"
        assert e.value.file == str(toml)


@pytest.mark.parametrize(
    ("text", "says"),
    {
        '[models.m]\nmodel = "openai/m"\napi_key = "abcdefgh12345"': "api_key holds a key",
        '[models.m]\nmodel = "openai/m"\nkey_env = "sk-proj-abcdef1234567890"': "key_env holds a key",
        '[models.m]\nmodel = "openai/m"\nsystem = "sk-proj-abcdef1234567890"': "system holds a key",
        '[models.m]\nmodel = "openai/m"\nextra = {a = {Authorization = "Bearer abcdefgh12345"}}': "Authorization holds",
        '[models.m]\nmodel = "openai/m"\nbase_url = "http://me:pass1234@h/v1"': "base_url holds",
        '[models.m]\nmodel = "openai/m,extra={\\"k\\": \\"sk-proj-abcdef1234567890\\"}"': "model holds a key",
    }.items(),
)
def test_keys_are_refused_and_not_shown(toml: Path, text: str, says: str) -> None:
    toml.write_text(text)
    with pytest.raises(DataError) as e:
        named("@m")
    assert says in e.value.message
    assert "key_env = " in (e.value.hint or "")
    for secret in ("abcdef", "pass1234"):
        assert secret not in str(e.value) + str(e.value.hint)


@pytest.mark.parametrize(
    ("text", "says"),
    {
        "[models.m": "no TOML",
        "models = 3": '"models": found 3, expected a table',
        "[models.m]": '"models.m": found {}, expected a table with "model"',
        "[models]\nm = 3": '"models.m": found 3, expected a table',
        "[models.m]\nmodel = 3": '"models.m.model": found 3, expected a text',
        '[models.m]\nmodel = "@m"': "names another name",
        '[models.m]\nmodel = "openai/m"\nstop = ["a"]': '"models.m.stop": found ["a"], expected a text',
        '[models.m]\nmodel = "openai/m"\ntimeout = 2024-01-01': '"models.m.timeout": found "2024-01-01", expected a text',
        '[models.m]\nmodel = "openai/m"\ntimeout = "soon"': "[models.m]: option timeout=soon: expected a number",
        '[models.m]\nmodel = "openai/m"\ntiemout = 3': "openai/m has no option 'tiemout'",
        '[models.m]\nmodel = "openai/m,seed=x"': "expected a whole number",
    }.items(),
)
def test_a_bad_file_is_named(toml: Path, text: str, says: str) -> None:
    toml.write_text(text)
    with pytest.raises(UnwaverError) as e:
        named("@m")
    assert says in e.value.message
    assert e.value.file == str(toml)
    assert e.value.hint
