"""negate and antonym against the human-made BECEL sets, and their speed. One line of JSON for each set.

Two sentences count as one when they are equal without case, spacing, punctuation and contraction. The two halves
of SNLI are its even rows, on which the rules were made, and its odd rows, of which only the rates were seen.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from unwaver.files import read_rows
from unwaver.text.english import parsed
from unwaver.text.refused import Refused
from unwaver.variants.antonym import antonym
from unwaver.variants.negate import negate
from unwaver.variants.source import Rewriter

FIELDS = {"snli": "hypothesis", "rte": "sentence2", "mrpc": "sentence2", "boolq": "question"}
SENTENCES = 10_000
MOST_SECONDS = 20
# the share of rows that the first, and any, output must match
FIRST, ANY = {"snli": 0.85}, {"snli": 0.92, "rte": 0.70, "mrpc": 0.70}
ANTONYM_ANY = 0.60

Pair = tuple[str, str]


def plain(text: str) -> str:
    """plain("He can't  sleep !") -> "hecannotsleep"."""
    text = text.lower().replace("’", "'")
    text = re.sub(r"\bcan ?'t\b|\bcannot\b", "can not", text)
    text = re.sub(r"\bwon ?'t\b", "will not", text)
    text = re.sub(r" ?n ?'t\b", " not", text)
    return re.sub(r"[\W_]+", "", text)


def pairs(data: Path, task: str, tag: str) -> list[Pair]:
    """(original, human-made opposite) for each row of a tag."""
    name = FIELDS[task]
    rows = read_rows(data / "becel" / task / "negational.tsv", required=(name, f"{name}_neg", "tag"))
    return [(row.text(name), row.text(f"{name}_neg")) for row in rows if row.cells["tag"] == tag]


def matched(rows: Sequence[Pair], rewriter: Rewriter) -> dict[str, float]:
    """The shares of rows that the first output matches, that any output matches, and that were refused."""
    first = some = refused = 0
    for (_, gold), made in zip(rows, rewriter([text for text, _ in rows]), strict=True):
        if isinstance(made, Refused):
            refused += 1
            continue
        hits = [plain(rewrite.text) == plain(gold) for rewrite in made]
        first, some = first + hits[0], some + any(hits)
    shares = {"first": first / len(rows), "any": some / len(rows), "refused": refused / len(rows)}
    return {"rows": len(rows), **{name: round(share, 4) for name, share in shares.items()}}


def negation_lines(data: Path) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = []
    for task in FIELDS:
        rows = pairs(data, task, "negation")
        parts = {"": rows, ", even rows": rows[::2], ", odd rows": rows[1::2]} if task == "snli" else {"": rows}
        for part, some in parts.items():
            found = matched(some, negate())
            ok = part != "" or (found["first"] >= FIRST.get(task, 0) and found["any"] >= ANY.get(task, 0))
            lines.append({"bench": f"negate, {task}{part}", **found, "ok": ok})
    return lines


def antonym_lines(data: Path) -> list[dict[str, object]]:
    """SNLI's antonym rows with each source of antonyms."""
    tables = sorted((data / "antonyms").glob("*.tsv*"))
    sources = {"WordNet folder": None, **{table.name: str(table) for table in tables}}
    rows = pairs(data, "snli", "antonym")
    lines: list[dict[str, object]] = []
    for name, table in sources.items():
        found = matched(rows, antonym(antonyms=table))
        ok = "conceptnet" in name or found["any"] >= ANTONYM_ANY  # a table without parts of speech promises less
        lines.append({"bench": f"antonym, snli, {name}", **found, "ok": ok})
    return lines


def speed_line(data: Path) -> dict[str, object]:
    files = [data / "snli" / f"snli_1.0_{part}.jsonl.gz" for part in ("dev", "test")]
    texts = [row.text("sentence2") for file in files for row in read_rows(file)][:SENTENCES]
    start = time.perf_counter()
    for _ in parsed(texts):
        pass
    parsing = time.perf_counter() - start
    start = time.perf_counter()
    for rewriter in (negate(), antonym()):
        for _ in rewriter(texts):
            pass
    seconds = time.perf_counter() - start
    figures = {"rewriting_s": round(seconds, 1), "parsing_s": round(parsing, 1)}
    name = f"negate and antonym, {len(texts)} SNLI hypotheses, parsing apart"
    return {"bench": name, **figures, "target": f"<= {MOST_SECONDS} s", "ok": seconds <= MOST_SECONDS}


def main() -> None:
    data = Path(os.environ["UNWAVER_DATA"])
    kept = True
    for line in [*negation_lines(data), *antonym_lines(data), speed_line(data)]:
        print(json.dumps(line), flush=True)
        kept = kept and bool(line["ok"])
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
