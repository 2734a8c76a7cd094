"""TruthfulQA (Lin et al. 2022), with the questions in other words (Raj et al. 2022), from DIR/truthfulqa and
DIR/truthfulqa_paraphrases.

    v1      the 817 questions as first published: TruthfulQA_v1_817.csv
    2025    the 790 of the revision of 2025: TruthfulQA_2025_790.csv

Answers are free text, with references that are true and references that are false. Three generators wrote the
paraphrases (truthfulQA-alldata.csv), a detector scored them: those with `score` or more are taken, of each
question the `k` best, and of these the ones that repeat the question are dropped. With the score 0 these are the
unfiltered questions of Table 3. They are joined by the exact
text of the question; questions that keep no paraphrase are left out.

The prompt holds solved examples of unwaver's own: TruthfulQA is asked without examples of itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from unwaver.errors import UsageError
from unwaver.files import Row, read_rows, shown
from unwaver.groups.clusters import with_clusters
from unwaver.suites import check_case
from unwaver.suites.library import Library, library
from unwaver.types import Group, Item, Role, Suite

CASES = {"v1": ("paraphrase",), "2025": ("paraphrase",)}
NO_COMMENT = "I have no comment."  # true of every question, so always among the true references
_QUESTIONS = {"v1": "truthfulqa/TruthfulQA_v1_817", "2025": "truthfulqa/TruthfulQA_2025_790"}
_PARAPHRASES = "truthfulqa_paraphrases/truthfulQA-alldata"
_QUESTION, _TRUE, _FALSE = "Question", "Correct Answers", "Incorrect Answers"
_ORIGINAL, _PARAPHRASE, _SCORE = "original question", "paraphrased question", "pp_score"


def suite(
    data_dir: Path | None = None,
    *,
    fetch: bool = False,
    say: Callable[[str], None] | None = None,
    score: float = 0.8,
    k: int | None = None,
    min_score: float | None = None,
) -> Suite:
    """`score` is the least score of a paraphrase (0 takes all), `k` how many a question has at most (6).
    `min_score` is the same as `score` under the name that it has on the command line."""
    least = score if min_score is None else min_score
    if not 0 <= least <= 1:
        raise UsageError(
            f"--min-score is {least:g}, expected a score from 0 to 1",
            hint="leave it out for 0.8, or give 0 for the best paraphrases regardless of their score",
        )
    top = 6 if k is None else k
    if top < 1:
        raise UsageError(f"k={top} leaves no paraphrases", hint="give 1 or more")
    files = library(data_dir, fetch=fetch, say=say)

    @lru_cache(maxsize=2)
    def questions(task: str) -> list[Row]:
        return read_rows(_find(_QUESTIONS[task], files), required=(_QUESTION, _TRUE, _FALSE))

    @lru_cache(maxsize=1)
    def paraphrases() -> Mapping[str, list[str]]:
        return best_paraphrases(_find(_PARAPHRASES, files), least, top)

    def groups(task: str, kind: str) -> Iterator[Group]:
        check_case("truthfulqa", CASES, task, kind)
        return iter(with_clusters(_groups(task, questions(task), paraphrases())))

    def examples(task: str) -> Iterator[Item]:
        check_case("truthfulqa", CASES, task, "paraphrase")
        return iter(())

    def notes(task: str, kind: str) -> list[str]:
        check_case("truthfulqa", CASES, task, kind)
        asked = sum(1 for _ in _groups(task, questions(task), paraphrases()))
        which = f"with a score of {least:g} or more" if least else "(unfiltered: of any score)"
        return [
            f"{asked} of {len(questions(task))} questions have a paraphrase {which}; at most {top} each; written "
            "by models, not checked by people"
        ]

    return Suite("truthfulqa", CASES, groups, examples, notes)


def _find(name: str, files: Library) -> Path:
    path = files.find_optional(name)
    if path is None:
        raise files.missing(f"{name}.csv", f"{name}.csv[.gz]")
    return path


def _groups(task: str, rows: list[Row], paraphrases: Mapping[str, list[str]]) -> Iterator[Group]:
    for n, row in enumerate(rows):
        question = row.text(_QUESTION)
        others = [other for other in paraphrases.get(question, ()) if other != question.strip()]
        if others:
            yield _group(task, n, row, [question.strip(), *others])


def _group(task: str, n: int, row: Row, wordings: list[str]) -> Group:
    id = f"truthfulqa/{task}/paraphrase/{n}"
    true = references(row.text(_TRUE))
    accepted = true if NO_COMMENT in true else (*true, NO_COMMENT)
    rejected = references(row.text(_FALSE))
    items = []
    for i, wording in enumerate(wordings):
        role: Role = "variant" if i else "original"
        fields = {"question": wording}
        items.append(Item(f"{id}/{i}", "truthfulqa", role, fields, accepted=accepted, rejected=rejected))
    return Group(id, "truthfulqa", task, "paraphrase", "same", tuple(items))


def references(cell: str) -> tuple[str, ...]:
    """The answers of a cell, each once, as sentences: "No; It sleeps.; ;No" -> "No.", "It sleeps."."""
    answers = (part.strip() for part in cell.split(";"))
    return tuple(dict.fromkeys(a if a.endswith(".") else a + "." for a in answers if a))


def best_paraphrases(path: Path, score: float, top: int) -> dict[str, list[str]]:
    """The paraphrases of each question with the highest scores, the best first; equal ones in file order."""
    scored: dict[str, list[tuple[float, str]]] = {}
    for row in read_rows(path, required=(_ORIGINAL, _PARAPHRASE, _SCORE)):
        value, text = _score(row), row.text(_PARAPHRASE).strip()
        if value >= score and text:
            scored.setdefault(row.text(_ORIGINAL), []).append((value, text))
    ranked = {question: sorted(found, key=lambda pair: -pair[0]) for question, found in scored.items()}
    return {question: [text for _, text in found[:top]] for question, found in ranked.items()}


def _score(row: Row) -> float:
    found = row.cells[_SCORE]
    try:
        value = float(found)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not 0 <= value <= 1:
        hint = "write the score of the paraphrase detector, or remove the row"
        raise row.where.error(f'column "{_SCORE}": found {shown(found)}, expected a number from 0 to 1', hint)
    return value
