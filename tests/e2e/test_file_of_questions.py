"""`unwaver run questions.csv`: from a file of questions to scores, with a scripted chat server and without one."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from server import Server

import unwaver
from unwaver.cli import printing
from unwaver.config import Config
from unwaver.console import Console
from unwaver.engine import consent
from unwaver.engine.questions import frozen, settled
from unwaver.errors import DataError, UsageError
from unwaver.groups.from_lines import read_groups_file

QUESTIONS = (
    "What is the capital of Australia?",
    "Which planet is the largest?",
    "When did the great battle finally end?",
)
WAYS = (
    "Could you tell me this: {q}",
    "I would like to know: {q}",
    "Quick: {q}",
    "Please answer this one now. {q}",
)
ANSWERS, REPEATS, PARAPHRASES = 8, 2, 3  # of a question


class Chat:
    """Answers by the last word, writes paraphrases in turn, certifies all but those that begin with Quick."""

    def __init__(self) -> None:
        self.written: Counter[str] = Counter()
        self.lock = threading.Lock()

    def __call__(self, prompt: str) -> str:
        if found := re.search(r"Reply with nothing but the rephrased text: (.*)", prompt, re.DOTALL):
            with self.lock:
                number = self.written[prompt]
                self.written[prompt] += 1
            return WAYS[number % len(WAYS)].format(q=found[1])
        if "Do the two texts mean the same?" in prompt:
            return "No" if "Quick" in prompt else "Yes"
        return f"It is {len(prompt.split()[-1])}."


@pytest.fixture
def chat() -> Iterator[Server]:
    with Server(Chat()) as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("questions.csv").write_text("question\n" + "".join(f"{text}\n" for text in QUESTIONS))
    return tmp_path


Call = Callable[..., tuple[int, str, str]]


def model(server: Server, more: str = "") -> str:
    return f"openai/m,base_url={server.url}{more}"


def test_a_csv_of_questions_is_enough(place: Path, chat: Server, call: Call) -> None:
    code, out, err = call("run", "questions.csv", "--model", model(chat), "--out", "r", "--no-report")
    assert code == 0, err
    assert "question/semantic" in out
    assert "question/surface_typo" in out
    assert "question/surface_punctuation" in out
    assert "Cons_normalised_repeat" in out
    # one in four paraphrases is rejected, so one more is written, and judged
    written = len(QUESTIONS) * (PARAPHRASES + 1)
    assert len(chat.bodies) == len(QUESTIONS) * ANSWERS + 2 * written
    assert f"about {len(QUESTIONS) * (ANSWERS + 2 * PARAPHRASES)} requests, at most" in err
    record = json.loads(Path("r/run.json").read_text())
    assert record["config"]["variants"] == ["auto"]
    assert record["config"]["writer"] == model(chat)
    (found,) = record["certification"]
    assert (found["kept"], found["judged"], found["self_certified"]) == (9, 12, True)
    (semantic,) = [s for s in json.loads(Path("r/scores.json").read_text())["scores"] if s["metric"] == "Cons_normalised_repeat" and s["kind"] == "semantic"]  # fmt: skip
    assert semantic["value"] == 1


def test_a_second_run_asks_and_builds_nothing(place: Path, chat: Server, call: Call) -> None:
    first = call("run", "questions.csv", "--model", model(chat), "--no-report")
    asked, groups = len(chat.bodies), next(place.glob("runs/*/groups.jsonl"))
    before = groups.read_bytes()
    code, out, err = call("run", "questions.csv", "--model", model(chat), "--no-report")
    assert (code, out) == (0, first[1])
    assert len(chat.bodies) == asked
    assert groups.read_bytes() == before
    assert "requests" not in err


def test_a_new_question_is_asked(place: Path, chat: Server, call: Call) -> None:
    call("run", "questions.csv", "--model", model(chat), "--no-report", "-q")
    before = len(chat.bodies)
    with Path("questions.csv").open("a") as file:
        file.write("Where does the longest river begin?\n")
    code, _, err = call("run", "questions.csv", "--model", model(chat), "--no-report")
    assert code == 0
    assert "4 questions, 12 groups to ask: about 14 requests" in err
    assert len(chat.bodies) - before == ANSWERS + 2 * (PARAPHRASES + 1)


def test_an_interrupted_run_goes_on(place: Path, chat: Server, call: Call) -> None:
    code, _, _ = call("run", "questions.csv", "--model", model(chat), "--max-calls", "20", "--no-report", "-q")
    assert code == 3
    code, _, err = call("run", "questions.csv", "--model", model(chat), "--no-report")
    assert code == 0
    assert "3 questions, 9 groups to ask: about 18 requests" in err
    assert max(chat.answered.values()) <= 1 + max(REPEATS, PARAPHRASES)
    assert sum(chat.answered.values()) == len(QUESTIONS) * (ANSWERS + 2 * (PARAPHRASES + 1))


def test_show_and_report(place: Path, chat: Server, call: Call) -> None:
    call("run", "questions.csv", "--model", model(chat), "--out", "r", "--no-report", "-q")
    code, out, _ = call("show", "r", "--all")
    assert code == 0
    assert "What is the capital of Australia?" in out
    assert call("report", "r", "-q")[0] == 0


def test_labels(place: Path, chat: Server, call: Call) -> None:
    Path("yes.csv").write_text("question,answer\nIs the sun a star?,yes\nIs the moon a star?,no\n")
    code, out, err = call(
        "run", "yes.csv", "--label", "yes", "--label", "no", "--model", model(chat), "--no-report"
    )
    assert code == 0, err
    assert "own/semantic" in out
    asked = [body["messages"][-1]["content"] for body in chat.bodies]
    assert any("Answer with one of: yes, no." in prompt for prompt in asked)
    assert "--label has no effect" not in err


@pytest.mark.parametrize("name", ["fake/random", "fake/constant", "python/own:answer"])
def test_models_that_do_not_write(place: Path, call: Call, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("unwaver.text.english.is_available", lambda: False)
    Path("own.py").write_text("def answer(items):\n    return ['a'] * len(items)\n")
    code, out, err = call("run", "questions.csv", "--model", name, "--out", "r", "--no-report")
    assert code == 0, err
    assert f"{name} cannot write paraphrases: unwaver makes surface changes only" in " ".join(err.split())
    assert "semantic" not in out
    assert (
        "no paraphrases: no model in this run can write them. To name one, add --writer openai/NAME"
        in " ".join(out.split())
    )


def test_predictions(place: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unwaver.text.english.is_available", lambda: False)
    code, out, _ = call("run", "questions.csv", "--dry-run", "--out", "todo")
    assert code == 0
    assert "requests          24" in out  # six groups of an original, three times, and a variant
    groups = read_groups_file(Path("todo/groups.jsonl"))
    lines = [json.dumps({"id": item.id, "text": "same"}) for group in groups for item in group.items]
    Path("answers.jsonl").write_text("\n".join(lines))
    code, out, err = call(
        "run", "questions.csv", "--model", "predictions/answers.jsonl", "--out", "r", "--no-report"
    )
    assert code == 0, err
    assert json.loads(Path("r/scores.json").read_text())["scores"][0]["value"] == 0


def test_from_python(place: Path, chat: Server) -> None:
    result = unwaver.run("questions.csv", model=model(chat), out="r")
    assert result.is_complete
    assert result.find("Cons_normalised", kind="semantic").groups == len(QUESTIONS)
    rows = [{"question": text} for text in QUESTIONS]
    again = unwaver.run(rows, model=lambda requests: ["x"] * len(requests), out="p")
    assert again.find("tau", kind="surface_typo").value == 0


# --- what is said and asked before ---------------------------------------------------------------------------


def test_an_unclear_column(place: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("two.csv").write_text(
        "one,two\nWho wrote Hamlet?,A play of five acts\nWhere is Oslo?,A big city in Norway\n"
    )
    code, _, err = call("run", "two.csv", "--model", "fake/random")
    assert code == 2
    assert "two.csv:1: 2 columns may hold the question" in err
    assert "choose one: --column question=one" in err
    asked: list[Any] = []

    def choose(question: str, names: Any) -> str:
        asked.append((question, names))
        return "two"

    config = settled(Config(("two.csv",), ("fake/random",)), (), Console(choose=choose))
    assert config.columns == {"question": "two"}
    assert asked[0][1] == ("one", "two")
    assert settled(config) == config
    code, _, err = call("run", "two.csv", "--model", "fake/random", "--column", "question=two", "--no-report")
    assert code == 0, err


@pytest.mark.parametrize("answer", ["2", "two"])
def test_a_terminal_asks_for_the_column(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr("click.prompt", lambda *_, **__: answer)
    assert printing._choose("Which one?", ("one", "two")) == "two"


PAID = "openai/m,base_url=https://example.org/v1,key_env=HOME"


def forced(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(consent, "MOST", most)
    monkeypatch.setattr("unwaver.engine.reached.reach", lambda _: (_ for _ in ()).throw(UsageError("agreed")))


def test_many_requests_to_a_paid_service(place: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    forced(monkeypatch, 20)
    code, _, err = call("run", "questions.csv", "--model", PAID)
    assert code == 2
    assert "this run may send 69 requests to m, a paid service" in err
    assert "add --yes to agree" in err
    assert "agreed" in call("run", "questions.csv", "--model", PAID, "--yes")[2]
    assert "agreed" in call("run", "questions.csv", "--model", PAID, "--limit", "1", "--tries", "1")[2]
    with pytest.raises(UsageError, match="a paid service"):
        unwaver.run("questions.csv", PAID)
    with pytest.raises(UsageError, match="agreed"):
        unwaver.run("questions.csv", PAID, yes=True)


@pytest.mark.parametrize(("said", "raises"), [(True, "agreed"), (False, "nothing was asked")])
def test_a_terminal_asks_before_it_spends(
    place: Path, monkeypatch: pytest.MonkeyPatch, said: bool, raises: str
) -> None:
    from unwaver.engine.runs import go

    forced(monkeypatch, 20)
    with pytest.raises(UsageError, match=raises):
        go(Config(("questions.csv",), (PAID,)), Console(confirm=lambda _: said))


@pytest.mark.parametrize(
    ("more", "paid"),
    [("", True), (",price_in=0,price_out=0", False), (",price_in=1,price_out=2", True)],
)
def test_what_is_paid(place: Path, call: Call, monkeypatch: pytest.MonkeyPatch, more: str, paid: bool) -> None:
    forced(monkeypatch, 20)
    err = call("run", "questions.csv", "--model", PAID + more)[2]
    assert ("a paid service" in err) == paid
    assert ("agreed" in err) == (not paid)
    if more:
        assert "cost at most" in err


def test_a_local_server_is_free_unless_it_has_a_price(
    place: Path, chat: Server, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced(monkeypatch, 20)
    assert "agreed" in call("run", "questions.csv", "--model", model(chat))[2]
    assert "a paid service" in call("run", "questions.csv", "--model", model(chat, ",price_in=1,price_out=1"))[2]


def test_the_writer_does_not_write_as_the_model_answers(place: Path, chat: Server) -> None:
    spec = model(chat, ",temperature=0,timeout=7")
    config = settled(Config(("questions.csv",), (spec,), {"max_tokens": "99", "concurrency": "2"}))
    assert config.writer == model(chat, ",timeout=7")
    assert config.writer_args == {"concurrency": "2"}
    assert settled(config) == config
    named = settled(Config(("questions.csv",), (spec,), writer="openai/other"))
    assert (named.writer, named.writer_args) == ("openai/other", {})


# --- beside other ways ----------------------------------------------------------------------------------------


def test_questions_and_a_suite(place: Path, call: Call) -> None:
    code, _, err = call("run", "questions.csv", "sample/snli", "--model", "fake/random")
    assert code == 2
    assert "questions.csv holds questions without variants, and sample/snli has groups" in err
    assert "run them separately: unwaver run questions.csv --model" in err


def test_two_files_of_questions(place: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unwaver.text.english.is_available", lambda: False)
    Path("more.csv").write_text("Prompt\nWhere does the river begin?\n")
    code, out, err = call("run", "questions.csv", "more.csv", "--model", "fake/random", "--no-report")
    assert code == 0, err
    assert "more" in out


def test_other_variants_of_questions(place: Path, call: Call) -> None:
    code, out, err = call(
        "run", "questions.csv", "--variants", "surface_case", "--model", "fake/random", "--no-report"
    )
    assert code == 0, err
    assert "question/surface_case" in out
    code, _, err = call("run", "questions.csv", "--task", "question", "--model", "fake/random", "--no-report")
    assert code == 0, err


def test_auto_variants_of_another_task(place: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unwaver.text.english.is_available", lambda: False)
    Path("pairs.csv").write_text("premise,hypothesis\nA man is feeding two ducks.,A man feeds the ducks.\n")
    code, out, err = call("run", "pairs.csv", "--task", "snli", "--variants", "auto", "--model", "fake/random", "--no-report")  # fmt: skip
    assert code == 0, err
    assert "snli/surface_typo" in out
    code, _, err = call("run", "pairs.csv", "--task", "snli", "--model", "fake/random")
    assert code == 2
    assert "--variants auto" in err


def test_frozen_groups(place: Path, chat: Server, call: Call) -> None:
    out = place / "groups.jsonl"
    built = frozen(Config(("questions.csv",), ()), [model(chat)], out)
    assert Counter(group.kind for group in built.groups) == {
        "semantic": 3, "surface_typo": 3, "surface_punctuation": 3
    }  # fmt: skip
    asked = len(chat.bodies)
    assert asked == 2 * len(QUESTIONS) * (PARAPHRASES + 1)
    code, table, err = call("run", "groups.jsonl", "--model", model(chat), "--out", "r", "--no-report")
    assert code == 0, err
    assert len(chat.bodies) - asked == len(QUESTIONS) * ANSWERS
    assert "question/semantic" in table
    assert "Cons_normalised_repeat" in table


def test_build_on_the_command_line(place: Path, chat: Server, call: Call) -> None:
    code, out, err = call("build", "auto", "--from", "questions.csv", "--writer", model(chat), "--out", "g.jsonl")
    assert code == 0, err
    assert re.search(r"semantic +3 groups", out)


def test_no_file_no_question(place: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        unwaver.run("gone.xlsx", "fake/random")
