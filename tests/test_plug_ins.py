"""A package that adds one thing to every section of the catalogue: each is listed, and used by the ordinary option."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from unwaver import registry
from unwaver.catalog import SECTIONS
from unwaver.cli.main import main

Run = Callable[..., tuple[int, str]]

MINE = {
    "suites": """
from unwaver import Group, Item, Suite
from unwaver.tasks import plain_task

TASK = plain_task("day", fields=("text",), labels=("yes", "no"))


def mine():
    \"\"\"Days of the week.

    More about them.
    \"\"\"
    return Suite("mine", {"day": ("semantic",)}, groups, lambda task: iter(()), lambda task, kind: [], {"day": TASK})


def groups(task, kind):
    for n, day in enumerate(("Monday", "Sunday")):
        items = [
            Item(f"{n}/{i}", task, role, {"text": f"{day} {i}"}, TASK.labels)
            for i, role in enumerate(("original", "variant"))
        ]
        yield Group(str(n), "mine", task, kind, "same", tuple(items))
""",
    "tasks": """
\"\"\"What mood a post is in.\"\"\"

mine = {"mine": {"fields": ("post",), "labels": ("calm", "angry"), "prompt": "Post: {post}\\nMood:"}}
""",
    "models": """
import math
from unwaver import Answer


class Mine:
    \"\"\"Says the first choice, or how hot it is.\"\"\"

    method, reads, deterministic = "first", ("segments",), True

    def __init__(self, name, *, method: str = "first", temperature: float = 0.0, top_p: float = 1.0):
        self.name, self.identity, self.settings = f"mine/{name}", "mine", {"t": temperature, "p": top_p}

    def answer(self, requests):
        for index, request in enumerate(requests):
            logs = [math.log(0.9)] + [math.log(0.1)] * (len(request.choices) - 1)
            text = f"t {self.settings['t']:g} p {self.settings['p']:g} <<7>>" + ("!" if "2" in request.segments[0] else "")
            yield [(index, Answer(logprobs=tuple(logs)) if request.choices else Answer(text=text))]

    def close(self):
        pass


mine = Mine
""",
    "variants": """
from unwaver.variants.source import Rewrite, paired


def mine(*, word: str = "please"):
    \"\"\"Ask politely.\"\"\"
    return lambda source: paired(source, "surface_mine", lambda texts: ([Rewrite(f"{t} {word}!")] for t in texts))
""",
    "judges": """
from unwaver.variants.certifiers import Certifier


def mine(word: str) -> Certifier:
    \"\"\"mine=WORD: the variant must not have a word.\"\"\"
    return Certifier("mine", refuses=lambda original, text: f"{word} is in it" if word in text.split() else None)
""",
    "agreements": """
from unwaver.agree import Agreement


def mine(*, share: float = 1.0) -> Agreement:
    \"\"\"The same length.\"\"\"
    return Agreement("mine", True, "high", same=1.0, threshold=0.5, compare=lambda pairs: [
        share if len(p.a) == len(p.b) else 0.25 for p in pairs
    ])
""",
    "readers": """
def mine(mark: str = "<<"):
    \"\"\"What stands after a mark.\"\"\"
    return lambda text: text.rpartition(mark)[2].rstrip("!>") if mark in text else None
""",
    "scorers": """
from unwaver.agree.scorers import Scorer
from unwaver.types import Request


def mine(model: str, *, loud: bool = False) -> Scorer:
    \"\"\"A model echoes the answer.\"\"\"

    def request(answer):
        return Request("echo", (answer.text,), answer.text, (), ())

    def right(question, answer, said):
        return "7" in (said(request(answer)).text or "") or loud

    return Scorer("mine", model, asks=lambda question, answer: [request(answer)], right=right)
""",
    "decodings": """
def mine(*, heat: float = 1.5):
    \"\"\"Hot, and the likeliest half.\"\"\"
    return {"temperature": heat, "top_p": 0.5}
""",
    "metrics": """
import numpy as np
from unwaver.metrics.block import Metric


def mine(block):
    \"\"\"ones: 1 for every group.\"\"\"
    yield Metric("ones", lambda b: np.ones(b.groups), better="high")
""",
    "logs": """
import polars as pl
from unwaver.files import Where
from unwaver.logs.common import entry, table_of_entries


def looks_like(path):
    return path.suffix == ".mine"


def mine(path, options):
    \"\"\"One answer per line, with | between the parts.\"\"\"
    told = [line.split("|") for line in path.read_text().splitlines()]
    found = [
        entry(Where(str(path), n), task="t", model="me", group=g, id=g, item=i, label=a)
        for n, (g, i, a) in enumerate(told, 1)
    ]
    return table_of_entries(found, path, options, suite="lines")
""",
}
ABOUT = {
    "suites": "Days of the week.",
    "tasks": "What mood a post is in.",
    "models": "Says the first choice, or how hot it is.",
    "variants": "Ask politely.",
    "judges": "mine=WORD: the variant must not have a word.",
    "agreements": "The same length.",
    "readers": "What stands after a mark.",
    "scorers": "A model echoes the answer.",
    "decodings": "Hot, and the likeliest half.",
    "metrics": "ones: 1 for every group.",
    "logs": "One answer per line, with | between the parts.",
}


def install(folder: Path, points: dict[str, dict[str, str]]) -> None:
    """What `pip install` leaves of a package: its entry points."""
    info = folder / "my_package-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Name: my-package\nVersion: 1.0\n")
    lines = [
        line
        for section, names in points.items()
        for line in (f"[unwaver.{section}]", *(f"{n} = {v}" for n, v in names.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    registry.names.cache_clear()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]
    registry.names.cache_clear()


@pytest.fixture
def installed(place: Path) -> Path:
    for section, source in MINE.items():
        (place / f"my_{section}.py").write_text(source)
    install(place, {section: {"mine": f"my_{section}:mine"} for section in MINE})
    return place


@pytest.fixture
def run() -> Run:
    def call(*arguments: str) -> tuple[int, str]:
        out = StringIO()
        with redirect_stdout(out), redirect_stderr(out), pytest.raises(SystemExit) as left:
            main(list(arguments))
        return int(left.value.code or 0), out.getvalue()

    return call


QUESTIONS = [
    {
        "items": [
            {"text": f"What is {a} and {b}, way {n}?", "accepted": [str(a + b)], "rejected": ["8"]} for n in (1, 2)
        ]
    }
    for a, b in ((3, 4), (5, 5))
]


@pytest.fixture
def questions(installed: Path) -> str:
    (installed / "own.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)))
    return "own.jsonl"


@pytest.fixture
def posts(installed: Path) -> str:
    (installed / "posts.csv").write_text("post,label\nAll is well,calm\nHow dare you,angry\n")
    return "posts.csv"


def scores(told: tuple[int, str]) -> dict[str, Any]:
    code, text = told
    assert code == 0, text
    return {score["metric"]: score for score in json.loads(text)["scores"]}


def test_there_is_one_of_each() -> None:
    assert list(MINE) == list(ABOUT) == list(SECTIONS)


@pytest.mark.parametrize("section", SECTIONS)
def test_each_is_listed_with_its_description(section: str, installed: Path, run: Run) -> None:
    code, text = run("list", section, "--json")
    assert code == 0
    document = json.loads(text)
    found = document["about" if section == "suites" else section]
    assert found["mine"] == ABOUT[section]
    assert list(found) == [*SECTIONS[section], "mine"]
    assert ABOUT[section] in run("list", section)[1]


def test_a_suite(installed: Path, run: Run) -> None:
    assert scores(run("run", "mine", "--model", "fake/constant", "--json"))["tau"]["groups"] == 2
    assert "mine/day/semantic                     2 groups" in run("list", "suites")[1]


def test_a_task(posts: str, run: Run) -> None:
    code, text = run("build", "surface_case", "--from", posts, "--task", "mine", "--out", "g.jsonl", "-q")
    assert code == 0, text
    groups = [json.loads(line) for line in Path("g.jsonl").read_text().splitlines()]
    assert groups[0]["task"] == "mine"
    assert groups[0]["items"][0]["choices"] == ["calm", "angry"]
    found = scores(run("run", "g.jsonl", "--model", "fake/constant", "--json", "--out", "r"))
    assert {s["task"] for s in found.values()} == {"mine"}
    code, text = run("run", "g.jsonl", "--model", "fake/constant", "--dry-run", "--out", "d")
    assert "Post: ALL IS WELL\\nMood:" in Path("d/groups.jsonl").read_text()


def test_a_model_and_a_decoding(questions: str, run: Run) -> None:
    found = run("run", questions, "--model", "mine/x", "--decode", "mine:heat=2", "--json", "--out", "r")
    assert scores(found)
    assert "t 2 p 0.5" in run("show", "r", "--all")[1] or "t 2 p 0.5" in run("score", "r", "--json")[1]


def test_a_variant(posts: str, run: Run) -> None:
    code, text = run("build", "mine", "--from", posts, "--task", "mine", "--out", "g.jsonl", "-q")
    assert code == 0, text
    assert "All is well please!" in Path("g.jsonl").read_text()


def test_a_judge(posts: str, installed: Path, run: Run) -> None:
    bank = [{"post": "All is well", "variants": ["All is very well", "All is fine"]}]
    (installed / "bank.jsonl").write_text("\n".join(map(json.dumps, bank)))
    options = ("--from", posts, "--task", "mine", "--writer", "bank/bank.jsonl", "--judge", "mine=very")
    code, text = run("build", "paraphrase", *options, "--out", "g.jsonl", "-q")
    assert code == 0, text
    items = json.loads(Path("g.jsonl").read_text().splitlines()[0])["items"]
    assert [(i["fields"]["post"], i.get("certified")) for i in items[1:]] == [
        ("All is very well", False),
        ("All is fine", None),
    ]


def test_an_agreement_a_reader_and_a_scorer(questions: str, run: Run) -> None:
    free = ("--agree", "mine,share=0.75", "--scorer", "mine=mine/echo,loud=false", "--read", "mine", "--json")
    found = scores(run("run", questions, "--model", "mine/x", *free, "--out", "r"))
    assert found["Cons_mine"]["value"] == 1.0  # both say <<7>>, read as 7
    assert found["accuracy_mine"]["value"] == 1.0
    again = scores(run("score", "r", "--json"))
    assert again["accuracy_mine"] == found["accuracy_mine"]
    other = scores(run("run", questions, "--model", "mine/x", "--agree", "mine", "--json", "--out", "s"))
    assert other["Cons_mine"]["value"] == 0.25  # unread, one of the two has a mark more
    code, text = run("run", questions, "--model", "mine/x", "--agree", "mine,shore=1", "--out", "t")
    assert code == 2
    assert "the agreement mine has no option 'shore'" in text


FAR = """
from unwaver.agree import Agreement


def far() -> Agreement:
    \"\"\"How far apart two lengths are.\"\"\"
    return Agreement("far", True, "low", same=0.0, threshold=0.4, compare=lambda pairs: [
        min(abs(len(p.a) - len(p.b)) / 10, 1) for p in pairs
    ])
"""


def test_an_agreement_that_is_better_low(place: Path, run: Run) -> None:
    """Its direction is its own: in tau, in the table, in explain, in compare and in the report."""
    (place / "my_far.py").write_text(FAR)
    (place / "lengths.py").write_text(
        "def answer(requests):\n"
        "    return ['a' * (1 + int(r['prompt'].split('+')[1]) * ('way 2' in r['prompt'])) for r in requests]\n"
    )
    install(place, {"agreements": {"far": "my_far:far"}})
    asked = [{"items": [{"text": f"way {n} +{far}+"} for n in (1, 2)]} for far in (0, 1, 4, 9)]
    (place / "own.jsonl").write_text("\n".join(map(json.dumps, asked)))
    found = scores(
        run("run", "own.jsonl", "--model", "python/lengths:answer", "--agree", "far", "--json", "--out", "r")
    )
    assert found["tau"]["value"] == 0.5  # of 0, .1, .4 and .9 those from .4 on
    assert found["Cons_far"]["value"] == pytest.approx(0.35)
    assert {name: s["better"] for name, s in found.items() if "far" in name} == dict.fromkeys(
        ("Cons_far", "Cons_far@0.4", "Cons_far_questions"), "low"
    )
    assert json.loads(run("show", "r", "--json")[1])["found"] == 2
    assert "the value of far (the first --agree) is less than 0.4" in " ".join(run("show", "r")[1].split())
    assert "Cons_far ↓" in run("score", "r")[1]
    for name, better in (("Cons_far", "lower"), ("Cons_far@0.4", "lower"), ("Cons_far_joint", "higher")):
        assert f" better {better} values " in " ".join(run("explain", name)[1].split())
    assert "Cons_far ↓" in run("compare", "r", "r", "--metric", "Cons_far")[1]
    code, text = run("report", "r", "--out", "page.html")
    assert code == 0, text
    page = Path("page.html").read_text()
    told = page[page.index('id="how-cons-agreement"') :]
    assert "Lower is better." in told[: told.index("</details>")]


def test_a_metric_and_a_log(installed: Path, run: Run) -> None:
    (installed / "a.mine").write_text("fr|1|Paris\nfr|2|Paris\nit|1|Rome\nit|2|Milan\n")
    found = scores(run("score", "a.mine", "--json"))
    assert found["ones"]["value"] == 1.0
    assert found["Cons_lex"]["value"] == 0.5


def test_names_that_are_built_in_stay_so(place: Path, run: Run) -> None:
    install(place, {section: {next(iter(names)): "no_such:thing"} for section, names in SECTIONS.items()})
    for section, names in SECTIONS.items():
        assert registry.find(section, next(iter(names))) is not None
        assert list(registry.names(section)) == list(names)


# --- what is broken -------------------------------------------------------------------------------------------

USES = {
    "suites": "run broken --model fake/random",
    "tasks": "build surface_case --from posts.csv --task broken --out g.jsonl",
    "models": "run sample/snli --model broken/x",
    "variants": "build broken --from posts.csv --task sst2 --out g.jsonl",
    "judges": "run sample/snli --model fake/random --judge broken=x",
    "agreements": "run own.jsonl --model fake/random --agree broken",
    "readers": "run own.jsonl --model fake/random --read broken",
    "scorers": "run own.jsonl --model fake/random --scorer broken=fake/random",
    "decodings": "run sample/snli --model mine/x --decode broken",
    "metrics": "run sample/snli --model fake/random",
    "logs": "score own.jsonl --format broken",
}
BROKEN = {
    "missing": ("no_such_module:thing", "No module named 'no_such_module'"),
    "attribute": ("harmless:nothing", "has no attribute 'nothing'"),
    "raises": ("raises:thing", "cannot be loaded: ValueError: not today"),
    "no attribute": ("harmless", "expected module:attribute"),
    "fails": ("harmless:fails", "failed: RuntimeError: never"),
    "gives": ("harmless:gives", "expected"),
}
HARMLESS = """
def fails(*arguments, **options):
    raise RuntimeError("never")


def gives(*arguments, **options):
    return 7
"""


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("how", BROKEN)
def test_what_is_broken_is_named(section: str, how: str, questions: str, installed: Path, run: Run) -> None:
    (installed / "harmless.py").write_text(HARMLESS)
    (installed / "raises.py").write_text("raise ValueError('not today')\n")
    (installed / "posts.csv").write_text("sentence,label\nAll is well,positive\n")
    value, why = BROKEN[how]
    points = {"models": {"mine": "my_models:mine"}}
    points.setdefault(section, {})["broken"] = value
    install(installed, points)
    code, text = run(*USES[section].split())
    assert code == 2, text
    assert "'broken'" in text
    assert why in text or (how == "gives" and "has no " in text)
    assert f"unwaver.{section}" in text
    code, text = run("list", "--json")  # the rest is listed all the same
    assert code == 0
    said = json.loads(text)[section]["broken"]
    assert (why in said) == (how not in ("fails", "gives"))


@pytest.mark.parametrize("section", ["readers", "agreements", "scorers", "metrics"])
def test_what_fails_at_work_is_named(section: str, questions: str, installed: Path, run: Run) -> None:
    late = {
        "metrics": MINE["metrics"].replace("def mine", "def late").replace("np.ones(b.groups)", "np.ones(7)"),
        "readers": "def late():\n    return lambda text: len(text)\n",
        "agreements": MINE["agreements"].replace("def mine", "def late").replace("share if", "7.0 if"),
        "scorers": MINE["scorers"].replace("def mine", "def late").replace('"7" in', "7 in"),
    }
    (installed / "late_one.py").write_text(late[section])
    install(installed, {"models": {"mine": "my_models:mine"}, section: {"late": "late_one:late"}})
    option = {
        "metrics": (),
        "readers": ("--read", "late"),
        "agreements": ("--agree", "late"),
        "scorers": ("--scorer", "late=mine/x"),
    }
    code, text = run("run", questions, "--model", "mine/x", *option[section])
    assert code == 2, text
    assert f"the {section.removesuffix('s')} 'late' of an installed package" in text


def test_unknown_sections(run: Run) -> None:
    for wrong in ("task", "agreement", "judgse"):
        code, text = run("list", wrong)
        assert code == 2
        assert f"unwaver list has no section '{wrong}'" in text
        assert "did you mean" in text
    code, text = run("list", "xyz", "--json")
    assert code == 2
    assert "known: agreements, decodings" in json.loads(text.splitlines()[0])["error"]["hint"]
