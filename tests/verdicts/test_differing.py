"""A/B of prompts: runs that differ in system prompt, template or decoding are compared, headed by what differs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from server import Server

import unwaver as package
from unwaver.cli.main import cli
from unwaver.errors import UsageError
from unwaver.verdicts.differing import agree_alike, asked_how, differing, heading, shortened
from unwaver.verdicts.paired_runs import compare, pairs_of, sides_of

PREAMBLE = "You answer questions of the customers of a chain of shops, politely and to the point. "


class BySystem:
    """Its answers depend on all that it is told."""

    def reply(self, messages: list[dict[str, str]], max_tokens: int) -> str:
        told = "".join(message["content"] for message in messages)
        return "yes" if hashlib.sha256(told.encode()).digest()[0] % 4 else "no"

    def tokens(self, text: str) -> list[tuple[str, int, float | None]]:
        return []


@pytest.fixture
def questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [f"Is shop {n} open?,Can one visit shop {n}?,{'yes' if n % 2 else 'no'}" for n in range(100)]
    path = tmp_path / "questions.csv"
    path.write_text("question,paraphrase,gold\n" + "\n".join(lines) + "\n")
    return path


def said(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(cli, [*arguments], env={"COLUMNS": "200"})
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.parametrize("free", [False, True])
def test_two_system_prompts_on_a_hundred_questions(questions: Path, free: bool) -> None:
    if free:
        rows = [line.split(",") for line in questions.read_text().splitlines()[1:]]
        questions = questions.with_suffix(".jsonl")
        groups = [{"items": [{"text": a}, {"text": b}]} for a, b, _ in rows]
        questions.write_text("".join(json.dumps(group) + "\n" for group in groups))
    with Server(BySystem()) as server:
        for name, system in (("a", PREAMBLE + "Be brief."), ("b", PREAMBLE + "Think first.\x1b[31m")):
            package.run(str(questions), "openai/m", model_args={"base_url": server.url}, system=system, out=name)
    shown = said("compare", "a", "b")
    before, _, table = shown.partition("relation")
    assert "system prompt: " in before
    assert "Be brief. | " in before
    assert "Think first." in before
    assert "\x1b[31m" not in shown
    assert "newly broken: questions/own/semantic/" in table
    assert "newly fixed: questions/own/semantic/" in table
    (found,) = json.loads(said("compare", "a", "b", "--json"))["comparisons"]
    (difference,) = found["differs"]
    assert difference["what"] == "system prompt"
    assert (difference["first"], difference["second"]) == (
        PREAMBLE + "Be brief.",
        PREAMBLE + "Think first.\x1b[31m",
    )
    assert found["rows"][0]["groups"] == 100
    assert found["rows"][0]["broken"]
    assert found["rows"][0]["fixed"]


def test_a_gate_takes_a_baseline_with_another_prompt(questions: Path) -> None:
    with Server(BySystem()) as server:
        for name, temperature in (("a", "0"), ("b", "0.5")):
            arguments = {"base_url": server.url, "temperature": temperature}
            package.run(str(questions), "openai/m", model_args=arguments, system=f"{name} | <b>", out=name)
    given = ("gate", "b", "--baseline", "a", "--bar", "drop(tau)<=0.9")
    shown = said(*given, "--markdown", "gate.md", "--junit", "gate.xml")
    assert shown.index("system prompt: a | <b> | b | <b>") < shown.index("relation")
    assert "temperature: 0.0 | 0.5" in shown
    assert "system prompt" in Path("gate.md").read_text()
    document = json.loads(said(*given, "--json"))
    assert {"what": "system prompt", "first": "a | <b>", "second": "b | <b>"} in document["differs"]


def test_templates_are_compared_by_their_text(questions: Path) -> None:
    """The same file with another text differs; a copy of the file under another name does not."""
    template = Path("ask.txt")
    for name, text in (("a", "Q: {text}\nyes or no?"), ("b", "{text} Say yes or no.")):
        template.write_text(text)
        package.run(str(questions), "fake/random", template=str(template), out=name)
    Path("copy.txt").write_text(text)
    package.run(str(questions), "fake/random", template="copy.txt", out="c")
    assert "template (own): Q: {text} yes or no? | {text} Say yes or no." in said("compare", "a", "b")
    assert "template" not in said("compare", "b", "c")


def test_words_are_part_of_a_template(questions: Path) -> None:
    for name, words in (("a", '["Yes", "No"]'), ("b", '["Ja", "Nein"]')):
        Path("t.toml").write_text(f'[own]\nprompt = "{{text}}"\nwords = {words}\n')
        package.run(str(questions), "fake/random", template="t.toml", labels=("yes", "no"), out=name)
    assert "words (own): ['Yes', 'No'] | ['Ja', 'Nein']" in said("compare", "a", "b")


def test_what_else_differs_stays_refused(questions: Path) -> None:
    package.run(str(questions), "fake/random", system="a", out="a")
    package.run(str(questions), "fake/random", system="b", replicates=2, out="b")
    with pytest.raises(UsageError, match="not asked in the same way: --replicates is 1 and 2"):
        compare(pairs_of([sides_of(Path("a")), sides_of(Path("b"))]))
    assert "system prompt: a | b" in said("compare", "a", "b", "--allow-different")


def test_several_models_are_paired_across_another_decoding(questions: Path) -> None:
    with Server(BySystem()) as server:
        for name, temperature in (("a", "0"), ("b", "0.5")):
            arguments = {"base_url": server.url, "temperature": temperature}
            package.run(str(questions), ["openai/m", "openai/n"], model_args=arguments, out=name)
    found = compare(pairs_of([sides_of(Path("a")), sides_of(Path("b"))]))
    assert [(c.first.model, c.second.model) for c in found] == [("m", "m"), ("n", "n")]
    assert all("temperature" in {difference.what for difference in c.differs} for c in found)


def test_two_models_differ_in_what_both_have() -> None:
    one: dict[str, Any] = {"system prompt": None, "temperature": 0.0, "top_p": 1.0, "dtype": "float32"}
    other = {"system prompt": None, "temperature": 0.7, "top_p": 1.0, "max_tokens": 9}
    assert [d.what for d in differing(one, other, same_model=False)] == ["temperature"]
    assert [d.what for d in differing(one, other, same_model=True)] == ["temperature", "dtype", "max_tokens"]
    assert differing({}, other, same_model=True) == []


def test_runs_of_older_versions_tell_the_file_alone() -> None:
    model = {"name": "m", "method": "generate", "settings": {"system": None}}
    old = {"models": [model], "config": {"template": "a.txt", "system": "S"}}
    new = {**old, "prompts": {"own/": {"prompt": "{text}", "words": []}}, "config": {"template": "b.txt"}}
    asked = [asked_how(record, "m", "generate") for record in (old, new)]
    lines = list(heading(differing(*asked, same_model=True)))
    assert lines == ["system prompt: S | not given", "template: a.txt | b.txt"]


def test_long_texts_are_shown_from_where_they_part() -> None:
    long = "x" * 500
    assert shortened(f"{long} one", f"{long} two") == ("…" + "x" * 15 + " one", "…" + "x" * 15 + " two")
    assert shortened("short", "s") == ("short", "s")
    assert shortened("a" * 70, "b") == ("a" * 60 + "…", "b")
    one, other = shortened(long, long + " and more")
    assert (one, other) == ("…" + "x" * 16, "…" + "x" * 16 + " and more")


# --- agreements ---------------------------------------------------------------------------------------------


@pytest.fixture
def two_agreements(questions: Path) -> None:
    """One model whose answers to reworded questions differ in case only."""
    rows = [line.split(",")[:2] for line in questions.read_text().splitlines()[1:21]]
    groups = [{"items": [{"text": a}, {"text": b}]} for a, b in rows]
    Path("q.jsonl").write_text("".join(json.dumps(group) + "\n" for group in groups))
    with Server(lambda prompt: "Yes" if prompt.startswith("Is") else "yes") as server:
        for agree in ("exact", "normalised"):
            package.run("q.jsonl", "openai/m", model_args={"base_url": server.url}, agree=(agree,), out=agree)
        package.run("q.jsonl", "openai/m", model_args={"base_url": server.url}, out="usual")


def test_runs_that_differ_in_their_agreement_only(two_agreements: None) -> None:
    shown = said("compare", "exact", "normalised")
    assert "agreement: exact | normalised" in shown
    assert "--agree NAME compares both by one" in shown
    (found,) = json.loads(said("compare", "exact", "normalised", "--json"))["comparisons"]
    (row,) = found["rows"]
    assert (row["metric"], row["first"], row["second"], row["verdict"]) == ("tau", 1.0, 0.0, "differs")


@pytest.mark.parametrize(("agree", "value"), [("exact", 1.0), ("normalised", 0.0)])
def test_both_by_one_agreement(two_agreements: None, agree: str, value: float) -> None:
    for pair in (("exact", "normalised"), ("normalised", "usual")):
        (found,) = json.loads(said("compare", *pair, "--agree", agree, "--json"))["comparisons"]
        assert found["differs"] == found["remarks"] == []
        assert [(row["first"], row["second"]) for row in found["rows"]] == [(value, value)]


def test_the_usual_agreement_may_be_named(two_agreements: None) -> None:
    (found,) = json.loads(said("compare", "normalised", "usual", "--json"))["comparisons"]
    assert found["remarks"] == []
    assert found["rows"][0]["verdict"] == "no difference"


def test_a_gate_holds_no_run_against_another_agreement(two_agreements: None) -> None:
    gate = ("gate", "normalised", "--baseline", "exact", "--bar", "drop<=0.2")
    with pytest.raises(UsageError, match="--agree is exact and normalised") as refused:
        cli.main([*gate], standalone_mode=False)
    assert "--agree NAME compares both by one" in str(refused.value.hint)
    assert json.loads(said(*gate, "--agree", "normalised", "--json"))["verdict"] == "pass"


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (["judge=openai/a", "exact"], ["judge=openai/a"], True),
        (["judge=openai/a"], ["judge=openai/b"], False),
        (["exact", "judge=openai/a"], ["exact", "judge=openai/b"], False),
        (["exact", "normalised"], ["normalised", "exact"], False),
        (["embedding@0.7"], ["embedding@0.8"], False),
        ([], ["exact"], True),
    ],
)
def test_when_agreements_are_alike(one: list[str], other: list[str], alike: bool) -> None:
    assert agree_alike({"agreement": one}, {"agreement": other}) is alike
