"""What people say of variants, for --review: sheets, folders of sheets, and jobs.

--review sheet.tsv --review other.tsv      each sheet is a vote
--review rate.toml                         what its rule keeps of what people said
"""

from __future__ import annotations

from pathlib import Path

from unwaver.config_record import as_paths
from unwaver.errors import DataError
from unwaver.groups.review import read_sheets
from unwaver.people.chain import is_of_texts
from unwaver.people.outcome import read_judged, verdicts


def read_reviews(given: object) -> dict[Path, dict[str, bool]]:
    """The verdicts of each sheet and job."""
    paths = [Path(path) for path in as_paths(given)]
    jobs = list(dict.fromkeys(path for path in paths if path.suffix == ".toml"))
    sheets = [path for path in paths if path not in jobs]
    return {**(read_sheets(sheets) if sheets else {}), **{job: _of_job(job) for job in jobs}}


def _of_job(path: Path) -> dict[str, bool]:
    found = read_judged(path)
    if is_of_texts(found):
        hint = "use the bank that it gives: --writer bank/bank.jsonl"
        raise DataError("this job judges texts that people wrote, which are in no group yet", file=path, hint=hint)
    kept = verdicts(found)
    if not kept:
        hint = f"unwaver annotate {path} serves it"
        raise DataError("nobody has judged a variant in this job yet", file=path, hint=hint)
    return kept
