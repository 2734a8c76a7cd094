"""The paraphraser without a model on SNLI test hypotheses: coverage, distance, speed apart from parsing."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from unwaver.files import read_rows
from unwaver.text.distance import lexical_distance
from unwaver.text.english import parsed
from unwaver.text.refused import Refused
from unwaver.variants.rules import rules

MOST_SECONDS = 10.0  # for 1,000 texts, apart from parsing
LEAST_COVERED = 0.8  # share of texts with five or more variants
KEPT = 5


def column(folder: Path, name: str, *columns: str) -> Iterator[tuple[str, ...]]:
    for row in read_rows(folder / "becel/snli" / name):
        yield tuple(row.text(c) for c in columns)


def main() -> None:
    folder = Path(os.environ["UNWAVER_DATA"])
    texts = [text for (text,) in column(folder, "test.tsv.gz", "hypothesis")]
    rewrite = rules()
    list(rewrite(texts[:50]))  # imports
    for _ in parsed([" ".join(text.split()) for text in texts]):  # what is parsed is kept for the rewriter
        pass
    start = time.perf_counter()
    made = [[] if isinstance(m, Refused) else [w.text for w in m] for m in rewrite(texts)]
    seconds = (time.perf_counter() - start) / len(texts) * 1000
    covered = {k: sum(len(m) >= k for m in made) / len(texts) for k in (1, 3, KEPT)}
    pairs = list(zip(texts, made, strict=True))
    people = [
        lexical_distance(*pair) for pair in column(folder, "semantic.tsv", "hypothesis", "hypothesis_paraphrase")
    ]
    print(
        json.dumps(
            {
                "bench": "rules paraphraser, SNLI test hypotheses",
                "texts": len(texts),
                **{f"share_with_{k}": round(share, 4) for k, share in covered.items()},
                "outputs": sum(map(len, made)),
                "distance": round(statistics.fmean(lexical_distance(t, o) for t, m in pairs for o in m), 4),
                "distance_first": round(statistics.fmean(lexical_distance(t, m[0]) for t, m in pairs if m), 4),
                "distance_first_5": round(
                    statistics.fmean(lexical_distance(t, o) for t, m in pairs if len(m) >= KEPT for o in m[:KEPT]),
                    4,
                ),
                "distance_becel": round(statistics.fmean(people), 4),
                "seconds_per_1000": round(seconds, 3),
                "ok": seconds < MOST_SECONDS and covered[KEPT] > LEAST_COVERED,
            }
        )
    )


if __name__ == "__main__":
    main()
