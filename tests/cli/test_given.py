"""Empty values, and names that are nearly right, get a message with what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import pytest

from unwaver.cli.main import cli
from unwaver.errors import UnwaverError

Call = Callable[..., None]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text("premise,hypothesis,label\nA man sleeps.,A man is asleep.,entailment\n")

    def called(*arguments: str) -> None:
        cli.main([*arguments], standalone_mode=False)

    return called


PARAPHRASE = ("run", "pairs.csv", "--task", "snli", "--variants", "paraphrase", "--model", "fake/random")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("run", "", "--model", "fake/random"), "SUITES"),
        (("run", " ", "--model", "fake/random"), "SUITES"),
        (("run", "sample", "--model", ""), "--model"),
        (("run", "sample", "--model="), "--model"),
        (("run", "sample", "--model", "fake/random", "--out", ""), "--out"),
        (("run", "sample", "--model", "fake/random", "--template", ""), "--template"),
        (("run", "sample", "--model", "fake/random", "--agree", ""), "--agree"),
        ((*PARAPHRASE, "--writer", ""), "--writer"),
        ((*PARAPHRASE, "--writer", "rules", "--judge", ""), "--judge"),
        (("build", "", "--from", "pairs.csv", "--task", "snli", "--out", "g.jsonl"), "VARIANTS"),
        (("build", "negate", "--from", "", "--task", "snli", "--out", "g.jsonl"), "--from"),
        (("score", ""), "PATHS"),
        (("show", ""), "FOLDER"),
        (("explain", ""), "METRIC"),
        (("list", ""), "SECTION"),
    ],
)
def test_an_empty_value_is_refused_by_name(call: Call, arguments: tuple[str, ...], what: str) -> None:
    with pytest.raises(click.UsageError, match=f"^{what} is empty, expected a value: .*Give a value"):
        call(*arguments)


def test_an_empty_system_message_is_one(call: Call) -> None:
    call("run", "sample/snli/semantic", "--model", "fake/random", "--system", "", "--limit", "1", "--no-report")


@pytest.mark.parametrize(
    ("writer", "meant"), [("rule", "rules"), ("banks/x.jsonl", "bank"), ("opnai/x", "openai")]
)
def test_a_writer_that_is_nearly_right(call: Call, writer: str, meant: str) -> None:
    with pytest.raises(UnwaverError, match=f"--writer {writer}: unknown writer") as e:
        call(*PARAPHRASE, "--writer", writer)
    assert f"did you mean {meant}?" in str(e.value.hint)
    assert "bank/FILE" in str(e.value.hint)


@pytest.mark.parametrize("provider", ["hf", "predictions", "bow"])
def test_an_absolute_path_without_its_slash(call: Call, tmp_path: Path, provider: str) -> None:
    place = tmp_path / "model"
    place.mkdir()
    name = str(place).removeprefix("/")
    with pytest.raises(UnwaverError) as e:
        call("run", "sample", "--model", f"{provider}/{name}")
    assert f"{provider}//{name}" in str(e.value.hint)


def test_an_absolute_path_that_is_not_there(call: Call) -> None:
    with pytest.raises(UnwaverError, match="there is no model folder models/of/mine") as e:
        call("run", "sample", "--model", "hf/models/of/mine")
    assert "for /models/of/mine write hf//models/of/mine" in str(e.value.hint)


def test_what_could_be_a_hub_id(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one slash it may be on the hub; the hint has both ways of writing a path."""
    pytest.importorskip("torch")
    monkeypatch.setattr("unwaver.models.hf._hub_is_silent", lambda *_: "no network")
    with pytest.raises(UnwaverError, match="models/x-that-is-not-there is not a local folder") as e:
        call("run", "sample", "--model", "hf/models/x-that-is-not-there")
    assert "hf/PATH, or hf//PATH for one that begins at /" in str(e.value.hint)


def test_bars_under_a_misspelt_name(call: Call, tmp_path: Path) -> None:
    call("run", "sample/snli/semantic", "--model", "fake/random", "--limit", "1", "--out", "r", "--no-report")
    Path("bars.toml").write_text('bras = ["tau<=0.1"]\n')
    with pytest.raises(UnwaverError, match=r'"bras": found .*expected a table') as e:
        call("gate", "r", "--bars", "bars.toml")
    assert "did you mean bars?" in str(e.value.hint)


# --- explain --------------------------------------------------------------------------------------------------


def test_explain_knows_every_name_that_list_shows(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    from unwaver import registry

    for family in registry.names("metrics"):
        call("explain", family)
    shown = capsys.readouterr().out
    assert "tau_conditioned  inconsistency" in shown
    with pytest.raises(UnwaverError, match="unknown metric 'violtion'") as e:
        call("explain", "violtion")
    assert "did you mean violation?" in str(e.value.hint)


@pytest.mark.parametrize("width", [50, 80, 140])
def test_explain_is_as_wide_as_the_terminal(
    call: Call, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    call("explain", "tau", "P_C")
    longest = max(map(len, capsys.readouterr().out.splitlines()))
    assert width - 20 <= longest <= width


# --- folders and tables ---------------------------------------------------------------------------------------


RUN = ("run", "sample/snli/semantic", "--model", "fake/random", "--out", "r", "--no-report", "-q")


def test_another_run_in_a_folder_is_told_by_its_settings(call: Call) -> None:
    call(*RUN, "--limit", "1", "--model-arg", "seed=4")
    with pytest.raises(UnwaverError, match="--limit 1 → 2; --shots 0 → 3") as e:
        call(*RUN, "--limit", "2", "--model-arg", "seed=4", "--shots", "3")
    assert "choose another --out" in str(e.value.hint)
    with pytest.raises(UnwaverError, match=r"a different run: --model-arg seed=4 → seed=5\n"):
        call(*RUN, "--limit", "1", "--model-arg", "seed=5")
    many = ("--seed", "1", "--system", "x", "--shots", "1", "--replicates", "2")
    with pytest.raises(UnwaverError, match="and 3 more"):
        call(*RUN, "--limit", "2", "--model-arg", "seed=5", *many)


def test_another_run_is_told_apart_by_the_end_of_a_long_setting(call: Call) -> None:
    from unwaver.config import Config
    from unwaver.engine.other_run import other_run

    model = "openai/m,base_url=http://127.0.0.1:8000/a/long/path/v1"
    config = Config(("sample",), (f"{model},temperature=0.5",))
    message = str(other_run(Path("r"), {"config": {"suites": ["sample"], "models": [model]}}, config))
    assert "--model …:8000/a/long/path/v1 → …:8000/a/long/path/v1,temperature=0.5" in message


@pytest.mark.parametrize(
    "option", ["concurrency=2", "timeout=9", "retries=1", "backoff=0.1", "rpm=60", "tpm=900", "price_in=3"]
)
def test_a_run_goes_on_whatever_its_pace_and_price(option: str) -> None:
    from unwaver.config import Config

    def id_of(model: str, judge: str, writer: str = "openai/w", **args: str) -> str:
        return Config(("sample",), (model,), judges=(judge,), model_args=args, writer=writer).id

    plain = id_of("openai/m,seed=1", "same=openai/j@0.8")
    assert plain == id_of(f"openai/m,{option},seed=1", "same=openai/j@0.8")
    assert plain == id_of("openai/m,seed=1", f"same=openai/j,{option}@0.8")
    assert plain == id_of("openai/m,seed=1", "same=openai/j@0.8", **dict([option.split("=")]))
    assert plain == id_of("openai/m,seed=1", "same=openai/j@0.8", f"openai/w,{option}")
    assert plain != id_of(f"openai/m,{option},seed=2", "same=openai/j@0.8")
    assert plain != id_of("openai/m,seed=1", f"same=openai/j,{option}@0.9")


def test_another_run_in_a_folder_shows_no_secret(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    from unwaver.config import Config
    from unwaver.engine.other_run import other_run

    old = {"suites": ["sample"], "models": ["openai/m"], "model_args": {"extra": "***"}}
    key = "sk-abcdefghijklmnopqrstuvwxyz123456"
    config = Config(("sample",), ("openai/m",), model_args={"extra": f'{{"api_key": "{key}"}}'}, limit=3)
    message = str(other_run(Path("r"), {"config": old}, config))
    assert "--limit not given → 3" in message
    assert key not in message


def test_a_dry_run_on_a_finished_run_says_that_it_wrote_nothing(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    call(*RUN, "--limit", "1", "--dry-run")
    assert "written: r/groups.jsonl" in capsys.readouterr().out
    call(*RUN, "--limit", "1")
    capsys.readouterr()
    call(*RUN, "--limit", "1", "--dry-run")
    shown = capsys.readouterr().out
    assert "written" not in shown
    assert "groups: r/groups.jsonl (of the run in this folder, unchanged)" in shown


def test_the_same_model_twice_is_told_apart() -> None:
    from unwaver.engine.headings import told_apart

    fake, gpt = ("fake/random", "fake"), ("gpt", "generate")
    assert told_apart([fake, fake], ["fake/random", "fake/random"]) == ["fake/random", "fake/random (2)"]
    assert told_apart([fake, fake], ["fake/random", "fake/random,seed=3"]) == ["fake/random", "fake/random,seed=3"]
    assert told_apart([gpt, gpt], ["openai/gpt", "openai/gpt,seed=3"]) == [
        "gpt (openai/gpt)",
        "gpt (openai/gpt,seed=3)",
    ]
    assert told_apart([fake, fake, fake], ["fake/random"] * 3)[2] == "fake/random (3)"
