"""Help: every option in a section, lines that fit a terminal, examples that run."""

from __future__ import annotations

import csv
import importlib
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from unwaver.cli import main as main_module
from unwaver.cli.help_text import sections_of
from unwaver.cli.main import cli, main
from unwaver.cli.sections import Option, Verb, option, section, verb
from unwaver.cli.verbs import VERBS


def commands(command: click.Command = cli, path: tuple[str, ...] = ("unwaver",)) -> Iterator[tuple[str, Verb]]:
    """Every command with how it is called: "unwaver analyse split"."""
    assert isinstance(command, Verb)
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, (*path, name))


ALL = dict(commands())


def help_of(path: str) -> str:
    context = click.Context(ALL[path], info_name=path, terminal_width=80, help_option_names=["-h", "--help"])
    return ALL[path].get_help(context)


def test_every_verb_is_in_one_section_of_the_help() -> None:
    titles = [name for verbs in main_module.HELP.values() for name in verbs]
    assert sorted(titles) == sorted(set(titles)) == sorted(VERBS)
    modules = {p.stem.removesuffix("_verb") for p in Path(main_module.__file__).parent.glob("*_verb.py")}
    assert modules == set(VERBS)
    shown = help_of("unwaver")
    assert all(f"\n{title}:\n" in shown for title in main_module.HELP)


@pytest.mark.parametrize("path", ALL)
def test_every_option_is_in_a_section(path: str) -> None:
    options = [p for p in ALL[path].params if isinstance(p, click.Option)]
    assert [p.name for p in options if not isinstance(p, Option)] == []
    sections = sections_of(ALL[path])
    assert sum(map(len, sections.values())) == len(options)
    shown = help_of(path)
    for title, members in sections.items():
        assert members
        assert shown.count(f"\n{title}:\n") == 1
    for each in options:
        assert each.help, f"{path} {each.opts[0]} has no help"
        assert each.opts[-1] in shown


@pytest.mark.parametrize("path", ALL)
def test_help_fits_eighty_columns(path: str) -> None:
    assert [line for line in help_of(path).splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("path", ALL)
def test_help_is_plain(path: str) -> None:
    said = " ".join(help_of(path).split())
    assert not re.search(r"\b(is told|so many|so often|likewise|stands for)\b", said, re.IGNORECASE)


@pytest.mark.parametrize("path", ALL)
def test_options_that_several_verbs_have_mean_the_same(path: str) -> None:
    """An option is a flag everywhere or nowhere, and repeatable the same way within its family."""
    for each in ALL[path].params:
        if isinstance(each, click.Option) and each.opts[-1] in ("--json", "--quiet", "--force", "--dry-run"):
            assert each.is_flag


def test_an_option_without_a_section_is_refused() -> None:
    with pytest.raises(TypeError, match=r"unwaver new: options without a section: loose"):

        @verb("new", examples=())
        @section("Output", option("--fine"))
        @click.option("--loose")
        def command(**options: Any) -> None: ...


def test_a_section_named_twice_is_shown_once() -> None:
    @verb("new", examples=("unwaver new",))
    @section("Output", option("--one", help="1"))
    @section("Input", option("--two", help="2"))
    @section("Output", option("--three", help="3"))
    def command(**options: Any) -> None: ...

    assert {title: [o.name for o in found] for title, found in sections_of(command).items()} == {
        "Output": ["one", "three"],
        "Input": ["two"],
    }


# --- examples -----------------------------------------------------------------------------------------------

# words that stand for something of the user's, and what takes weights or minutes: these are only parsed
ONLY_PARSED = ("PATH", "DIR", "NAME", "HOST", "demo/", "unwaver train", "unwaver study", "hf/", "samples_gsm8k")
ONLY_PARSED += ("annotate job.toml", "unwaver view")  # serve until they are stopped


def example_lines() -> list[tuple[str, str]]:
    return [(path, line) for path, command in ALL.items() for line in command.examples]


def test_every_help_has_examples() -> None:
    assert [path for path, command in ALL.items() if not 1 <= len(command.examples) <= 3] == []
    assert all(path in "\n".join(ALL[path].examples) for path in ALL)


@pytest.mark.parametrize(("path", "line"), example_lines())
def test_examples_parse(path: str, line: str) -> None:
    words = shlex.split(line.split(" > ")[0])
    assert words[0] == "unwaver"
    command: click.Command = cli
    context, rest = click.Context(cli), words[1:]
    while isinstance(command, click.Group):
        found = command.get_command(context, rest[0])
        assert found is not None, line
        command, rest = found, rest[1:]
    command.make_context("unwaver", list(rest))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that the examples name."""
    import numpy as np

    import unwaver

    place = tmp_path_factory.mktemp("examples")
    for name in ("sample-1a2b3c4d", "mine-1a2b3c4d", "new", "old", "small", "large", "base"):
        unwaver.run("sample/snli", "fake/random", out=str(place / "runs" / name), limit=4)
    (place / "bars.toml").write_text("[bars]\nmax = { tau = 0.9 }\n")
    texts = [
        ("A man sleeps.", "A person is asleep.", "entailment"),
        ("A dog runs.", "No dog runs.", "contradiction"),
    ]
    write(place / "pairs.csv", "premise,hypothesis,gold", texts)
    write(place / "train.csv", "premise,hypothesis,label", texts * 4)
    answers = [("a", "semantic", "original", "yes", "yes"), ("a", "semantic", "variant", "no", "yes")]
    for name in ("old.csv", "new.csv"):
        write(place / name, "group,kind,role,label,gold", answers)
    buckets = [
        (f"p{n}", f"p{n}", "bucket", role, reply, reply, "yes", "hard" if n % 2 else "easy", "0.5")
        for n in range(8)
        for role, reply in (("original", "yes" if n % 3 else "no"), ("variant", "yes"), ("variant", "no"))
    ]
    for name in ("answers", "human", "automatic", "examples", "full", "partial"):
        write(place / f"{name}.csv", "question,group,kind,role,label,reply,gold,difficulty,confidence", buckets)
    judged = [
        ("q1", "yes", "yes it is", "1"),
        ("q2", "no", "maybe", "0"),
        ("q3", "a", "a", "5"),
        ("q4", "b", "c", "2"),
    ]
    for name in ("judged.csv", "sts.csv"):
        write(place / name, "question,a,b,label", judged)
    for name in ("ann.tsv", "bob.tsv"):
        verdicts = [f"sample/snli/semantic/{n}/1\tok" for n in range(4)]
        (place / name).write_text("\n".join(["id\tverdict", *verdicts]))
    (place / "unwaver.toml").write_text("bars = ['drop<=0.05']\n[sources.answers]\nlog = 'answers.csv'\n")
    (place / "unwaver.lock.jsonl").write_text('{"version": 1}\n')
    np.savez(place / "embeddings.npz", embeddings=np.eye(40), labels=np.arange(40) % 2)
    for name in ("a", "b"):
        found = unwaver.score(str(place / "answers.csv")).document()
        (place / "runs" / name).mkdir()
        (place / "runs" / name / "scores.json").write_text(json.dumps(found))
    return place


def write(path: Path, header: str, rows: list[Any]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header.split(","), *rows])


RUN = dict.fromkeys(line for _, line in example_lines() if not any(word in line for word in ONLY_PARSED))


@pytest.mark.parametrize("line", RUN)
def test_examples_run(line: str, prepared: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(prepared)
    words = shlex.split(line.split(" > ")[0])[1:]
    with pytest.raises(SystemExit) as left:
        main(words)
    decides = words[0] in ("gate", "check")
    assert left.value.code in (0, 1) if decides else left.value.code == 0, capsys.readouterr().err


def test_python_m_unwaver_is_the_same() -> None:
    module = importlib.import_module("unwaver.__main__")
    assert module.main is main
