"""An option that changes nothing is said, or refused: never accepted in silence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unwaver.cli.main import cli
from unwaver.errors import UsageError

Said = Callable[..., str]


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """What a command says on stderr, in one line; raises what it raises."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    Path("pairs.csv").write_text("premise,hypothesis,label\nA man sleeps.,A man is asleep.,entailment\n")
    Path("q.csv").write_text("question,paraphrase,label\nIs it late?,Has it got late?,yes\nIs it?,It is?,no\n")
    Path("kinds.csv").write_text("question,paraphrase,label,kind,task\nIs it late?,Is it?,yes,semantic,mood\n")
    items = [{"text": "Is it late?", "choices": ["yes", "no"]}, {"text": "Late?", "choices": ["yes", "no"]}]
    Path("groups.jsonl").write_text(json.dumps({"id": "a", "kind": "semantic", "task": "own", "items": items}))
    Path("free.csv").write_text("question,paraphrase\nWho is it?,Tell me who it is\n")

    def call(command: str, *more: str) -> str:
        try:
            cli.main([*command.split(), *more], standalone_mode=False)
        finally:
            captured = capsys.readouterr()
        return captured.err

    return call


RUN = "run sample/snli/semantic --model fake/random --no-report --limit 2 --out out"


IDLE = [
    ("--task snli", "a file of your own"),
    ("--kind semantic", "a file of your own"),
    ("--label yes", "a file of your own"),
    ("--column original=x", "a file of your own"),
    ("--writer rules", "the variant paraphrase"),
    ("--judge distance=0.1:0.9", "the variant paraphrase"),
    ("--k 3", "the variant paraphrase"),
    ("--writer-arg a=b", "a model that writes"),
    ("--tries 3", "a model that writes"),
    ("--lang de", "negate, antonym, paraphrase and surface_typo"),
    ("--antonyms x", "the variant antonym"),
    ("--additive all", "additive"),
    ("--additive-cap 3", "additive"),
    ("--data-dir x", "published data"),
    ("--fetch", "published data"),
    ("--alpha 0.01", "--until"),
    ("--method logprob", "choice of methods"),
    ("--map a=b", "labels of its own"),
    ("--device cpu", "device"),
    ("--normalise", "--method logprob"),
    ("--read number", "free text"),
    ("--agree exact", "free text"),
    ("--scorer judge=fake/random", "free text"),
]


def test_a_run_says_which_option_has_no_effect_and_when_it_has(said: Said) -> None:
    told = said(f"{RUN} {' '.join(option for option, _ in IDLE)}").splitlines()
    for option, when in IDLE:
        lines = [line for line in told if line.startswith(f"{option.split()[0]} has no effect: ")]
        assert len(lines) == 1, option
        assert when in lines[0]
    assert len([line for line in told if "has no effect" in line]) == len(IDLE)


def test_a_dry_run_says_it_too(said: Said) -> None:
    assert "--encoder has no effect: it is for paraphrases" in said(f"{RUN} --encoder x --dry-run")


@pytest.mark.parametrize(
    "command",
    [
        "run sample/snli/semantic --limit 2",
        "run q.csv --task mood --kind semantic --label yes --label no",
        "run q.csv --column original=question",
        "run free.csv --agree exact --scorer judge=fake/random --read last_line",
        "run free.csv --until tau<=0.5 --alpha 0.1",
        "run pairs.csv --task snli --variants paraphrase --writer rules --k 2 --judge distance=0:1",
        "run pairs.csv --task snli --variants negate,paraphrase --writer rules --column gold=label",
        "run groups.jsonl --task own",
    ],
)
def test_what_has_an_effect_is_not_mentioned(said: Said, command: str) -> None:
    assert "has no effect" not in said(f"{command} --model fake/random --no-report --out out")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("q.csv --writer rules", "--writer has no effect: it is for paraphrases"),
        ("groups.jsonl --label yes", "--label has no effect: the groups in this file have their choices"),
        ("groups.jsonl --column original=x", "--column has no effect: it is for a table"),
        ("groups.jsonl --judge entail=self", "--judge has no effect: the groups in this file name who"),
        ("groups.jsonl --kind negational", "--kind has no effect: every row names its relation"),
        ("kinds.csv --kind negational", "--kind has no effect: every row names its relation"),
        ("kinds.csv --task other", "--task has no effect: every row names its task"),
        ("pairs.csv --task snli --variants negate --kind x", "--kind has no effect: each variant has a relation"),
        ("pairs.csv --task snli --variants negate --label x", "--label has no effect: the items have the labels"),
        ("pairs.csv --task snli --variants negate --k 3", "--k has no effect"),
        (
            "pairs.csv --task snli --variants paraphrase --writer rules --writer-arg a=b",
            "--writer-arg has no effect",
        ),
    ],
)
def test_files_of_ones_own(said: Said, command: str, expected: str) -> None:
    assert expected in said(f"run {command} --model fake/random --no-report --out out")


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--writer rules", "--writer has no effect"),
        ("--max-calls 3", "--max-calls has no effect: no model is asked"),
        ("--store x.sqlite", "--store has no effect: no model is asked"),
        ("--device cpu", "--device has no effect"),
        ("--additive all", "--additive has no effect"),
    ],
)
def test_build_says_it_too(said: Said, option: str, expected: str) -> None:
    assert expected in said(f"build negate --from pairs.csv --task snli --out g.jsonl {option}")


@pytest.mark.parametrize("method", ["nonsense", "logprobs"])
def test_an_unknown_method_is_refused_with_the_choices(said: Said, method: str) -> None:
    with pytest.raises(UsageError, match="unknown method") as e:
        said(RUN, "--method", method)
    assert "logprob" in str(e.value.hint)
    assert "generate" in str(e.value.hint)


def test_a_model_that_reads_no_system_message_is_named(said: Said, tmp_path: Path) -> None:
    Path("mine.py").write_text("def answer(requests):\n    return [r['choices'][0] for r in requests]\n")
    told = said("run sample/snli/semantic --model python/mine:answer --no-report --limit 2 --out o --system x")
    assert "takes no system message: --system has no effect on it" in told


# --- a task that is nearly a built-in one ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "meant"), [("snil", "snli"), ("SNLI", "snli"), ("bolq", "boolq"), ("fact", "facts")]
)
def test_a_task_that_is_nearly_a_built_in_one_is_pointed_out(said: Said, name: str, meant: str) -> None:
    told = said(f"run q.csv --task {name} --model fake/random --no-report --out out")
    assert f"{name} is not a built-in task" in told
    assert f"Did you mean {meant}?" in told


def test_a_near_miss_in_the_rows_of_a_file_is_pointed_out(said: Said) -> None:
    Path("rows.csv").write_text("question,paraphrase,label,task\nIs it late?,Is it?,yes,snil\n")
    assert "Did you mean snli?" in said("run rows.csv --model fake/random --no-report --out out")


def test_a_task_of_ones_own_is_not_remarked_on(said: Said) -> None:
    assert "built-in" not in said("run q.csv --task tickets --model fake/random --no-report --out out")


@pytest.mark.parametrize("name", ["tasks/mood", "my.yaml", "q.csv"])
def test_a_task_that_looks_like_a_file_is_refused(said: Said, name: str) -> None:
    with pytest.raises(UsageError, match="unknown task") as e:
        said(f"run q.csv --task {name} --model fake/random --out out")
    assert "my.toml" in str(e.value.hint)


# --- options given twice --------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--template a.txt", "--method logprob", "--system x", "--task snli"])
def test_an_option_of_one_text_is_never_silently_the_last(said: Said, option: str) -> None:
    import click

    with pytest.raises(click.UsageError, match=f"{option.split()[0]} is given 2 times, expected once"):
        said(f"run sample --model fake/random {option} {option}")


def test_of_numbers_and_places_the_last_wins(said: Said) -> None:
    said("run sample/snli --limit 3 --out first --limit 1 --out last --model fake/random --no-report")
    assert not Path("first").exists()
    assert len(Path("last/groups.jsonl").read_text().splitlines()) == 4


def test_flags_and_repeatable_options_may_be_repeated(said: Said) -> None:
    assert "times" not in said(f"{RUN} -q -q --model fake/constant")


# --- answers that are already there ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("score out --bucket x", "--bucket has no effect: out is a run folder"),
        ("score out --task x", "--task has no effect: out is a run folder"),
        ("score out --agree exact", "--agree has no effect: no answer of this run is free text"),
        ("score t.csv --agree exact", "--agree has no effect: t.csv is not a run folder"),
        ("score t.csv --review t.csv", "--review has no effect: t.csv is not a run folder"),
        ("score t.csv --filter strict", "--filter has no effect: it is for lm-eval, and t.csv is read as table"),
        ("report out --bucket x", "--bucket has no effect"),
        ("compare out out --answer x", "--answer has no effect"),
        ("gate out --bar tau<=0.9 --gold x", "--gold has no effect"),
        ("gate out --bar tau<=0.9 --common", "--common has no effect without --baseline"),
    ],
)
def test_options_about_answers_are_refused_where_nothing_takes_them(
    said: Said, command: str, expected: str
) -> None:
    said(RUN)
    Path("t.csv").write_text(
        "group,kind,role,label,gold\na,semantic,original,yes,yes\na,semantic,variant,no,yes\n"
    )
    with pytest.raises(UsageError, match=expected) as e:
        said(command)
    assert "leave" in str(e.value.hint)


def test_an_option_that_one_of_two_paths_takes_is_accepted(said: Said) -> None:
    said(RUN)
    Path("log.csv").write_text("problem,reply\na,yes\na,no\nb,yes\nb,yes\n")
    said("report out log.csv --bucket problem --answer reply --format md")


def test_weights_without_corrected_values(said: Said) -> None:
    Path("t.csv").write_text(
        "group,kind,role,label,gold\na,semantic,original,yes,yes\na,semantic,variant,no,yes\n"
    )
    assert "--weights has no effect" in said("score t.csv --weights published")


def test_python_has_the_same_rule(said: Said, tmp_path: Path) -> None:
    import unwaver

    said(RUN)
    options: dict[str, Any] = {"bucket": "x"}
    with pytest.raises(UsageError, match="--bucket has no effect"):
        unwaver.score(tmp_path / "out", **options)


def test_conversations_are_sent_as_they_are(said: Said) -> None:
    spoken = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it late, my friend?"}]
    Path("chat.jsonl").write_text(json.dumps({"messages": spoken}))
    run = "run chat.jsonl --variants surface_case --task question --model fake/random --no-report --out out"
    assert "--system has no effect: every conversation has a system message" in said(f"{run} --system Kind.")
    assert "--message has no effect" not in said(f"{run}2 --message system")
    Path("t.txt").write_text("{question}")
    assert "--template has no effect: conversations are sent as they are" in said(f"{run}3 --template t.txt")
    assert "--message has no effect: it is for variants of conversations" in said(f"{RUN}4 --message system")
