"""A sheet that a person fills in: is this variant right? And what its verdicts say of the variants not looked at.

    id              original        variant             expected            label       verdict  reason
    mine/…/7/1      A man sleeps.   A man is asleep.    the same meaning …  yes → yes   ok
    mine/…/9/1      All sleep.      Some sleep.         the same meaning …  yes → yes   wrong    weaker

A text that a spreadsheet could take for a formula begins with an apostrophe, and what cannot be seen is spelled:
see unwaver.text.spreadsheet. Ids are read back as they were.

A variant that was called wrong does not apply. The share of wrong ones bounds the scores (see docs/variants.md).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path
from random import Random

from unwaver.config_record import as_paths
from unwaver.errors import DataError
from unwaver.files import read_rows, shown
from unwaver.groups.certify import Read, standings
from unwaver.groups.conversations import question_of
from unwaver.text import spreadsheet
from unwaver.types import Group, Item, replace

COLUMNS = ("id", "original", "variant", "expected", "label", "verdict", "reason")
# no numbers: 1 may be a yes or the lowest of five grades
OK, WRONG = ("ok", "yes", "right", "true"), ("wrong", "no", "false")
# what a variant must be, by kind; for other kinds, by what is expected of the answers
_RELATION = {
    **dict.fromkeys(("semantic", "paraphrase", "fooling"), "the same meaning: the answer must stay"),
    "symmetric": "the two texts swapped: the answer must stay",
    "reverse": "the two texts in the other order: the answer must stay",
    "signal": "other signs around the names of the texts: the answer must stay",
    "surface": "the same text in another form: the answer must stay",
    "negational": "the opposite meaning: the answer must change",
    "transitive": "it follows from the originals",
    "additive": "the originals joined: the answer of both must stay",
    "bucket": "the same problem in other words",
}
_EXPECTED = {
    "same": "the answer must stay",
    "different": "the answer must change",
    "implied": "it follows from the originals",
    "bucket": "the same problem in other words",
}
_MOST_ANSWERS = 3  # of one text, in a cell


def sheet(
    groups: Sequence[Group], *, sample: int | None = None, seed: int = 0, only: Set[str] | None = None
) -> str:
    """The variants, or `sample` of them drawn at random, with empty verdicts, as .tsv. `only` are the ids of those
    that count, where that is known: what the judges have refused need not be looked at."""
    rows = [
        (item, (*texts_of(group, item), relation_of(group), _labels(group, item)))
        for group in groups
        for item in variants_of(group)
        if only is None or item.id in only
    ]
    if sample is not None and sample < len(rows):
        rows = [rows[i] for i in sorted(Random(seed).sample(range(len(rows)), sample))]
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((*map(spreadsheet.written, (item.id, *texts)), "", "") for item, texts in rows)
    return out.getvalue()


def variants_of(group: Group) -> list[Item]:
    """What there is to judge; what was refused already need not be looked at."""
    return [item for item in group.items if _is_variant(item) and item.certified is not False]


def _is_variant(item: Item) -> bool:
    return item.role in ("variant", "conclusion")


def texts_of(group: Group, item: Item) -> tuple[str, str]:
    """Original and variant, only what differs between them; all of two conversations with other turns. Of a
    conclusion all, after every original: "(1) A | B (2) A | C"."""
    originals = [each for each in group.items if each.role == "original"]
    if len(originals) > 1:
        numbered = (f"({n}) {' | '.join(each.fields.values())}" for n, each in enumerate(originals, 1))
        return " ".join(numbered), " | ".join(item.fields.values())
    first = originals[0] if originals else group.items[0]
    if item.messages and item.fields.keys() != first.fields.keys():  # a turn more or less: all of both
        return question_of(first), question_of(item)
    names = [name for name in item.fields if item.fields[name] != first.fields.get(name)] or list(item.fields)
    return " | ".join(first.fields.get(name, "") for name in names), " | ".join(
        item.fields[name] for name in names
    )


def relation_of(group: Group) -> str:
    return _RELATION.get(group.kind.partition("_")[0]) or _EXPECTED[group.expect]


def _answers(accepted: Sequence[str]) -> str:
    """("a", "b") -> "a or b"; references of free text may be many: "a or b or c or …"."""
    return " or ".join([*accepted[:_MOST_ANSWERS], *["…"][: len(accepted) - _MOST_ANSWERS]])


def _labels(group: Group, item: Item) -> str:
    """The right answers: "entailment → contradiction", "neutral + contradiction → neutral or contradiction"."""
    before = [_answers(each.accepted) for each in group.items if each.role == "original" and each.accepted]
    after = _answers(item.accepted)
    return " → ".join(part for part in (" + ".join(before), after) if part)


def read_sheets(given: object) -> dict[Path, dict[str, bool]]:
    """The verdicts of each sheet. `given` is a sheet, a folder of sheets, or several of either; a sheet that is
    named twice is read once."""
    found: dict[Path, Path] = {}
    for path in map(Path, as_paths(given)):
        for sheet in _sheets_in(path) if path.is_dir() else [path]:
            found.setdefault(sheet.resolve(), sheet)
    return {sheet: read_sheet(sheet) for sheet in found.values()}


def _sheets_in(folder: Path) -> list[Path]:
    found = sorted(each for each in folder.iterdir() if each.suffix.lower() in (".tsv", ".csv"))
    if not found:
        hint = "put the sheets there as .tsv or .csv, or name them: --review SHEET"
        raise DataError("there is no review sheet in this folder", file=folder, hint=hint)
    return found


def majority(sheets: Mapping[Path, Mapping[str, bool]]) -> dict[str, bool]:
    """What most people say of each variant; a tie calls it wrong."""
    votes: dict[str, list[bool]] = {}
    for verdicts in sheets.values():
        for id, verdict in verdicts.items():
            votes.setdefault(id, []).append(verdict)
    return {id: 2 * sum(found) > len(found) for id, found in votes.items()}


def read_sheet(path: Path) -> dict[str, bool]:
    """The verdicts by item; rows without one have not been looked at."""
    verdicts: dict[str, bool] = {}
    for row in read_rows(path, required=("id", "verdict")):
        found = str(row.cells["verdict"] or "").strip().casefold()
        if found in OK or found in WRONG:
            verdicts[spreadsheet.read(row.text("id"))] = found in OK
        elif found:
            hint = "leave it empty if nobody judged this variant"
            if any(map(str.isdigit, found)):
                hint = "write the word: 1 may mean yes, or the lowest of five grades"
            raise row.where.error(f'column "verdict": found {shown(found)}, expected ok or wrong', hint)
    return verdicts


def counting(groups: Sequence[Group], verdicts: Mapping[str, bool], read: Read) -> list[Group]:
    """The groups without the variants that judges refused, or that were not needed: what a person says of those
    tells nothing about the variants that count."""
    found = []
    for group in groups:
        unseen = tuple(replace(i, certified=None) if i.id in verdicts else i for i in group.items)
        by_judges, as_asked = standings(replace(group, items=unseen), read), standings(group, read)
        out = {id for id in by_judges if by_judges[id] == "rejected" or as_asked[id] == "spare"}
        found.append(replace(group, items=tuple(i for i in group.items if i.id not in out)))
    return found


def reviewed(groups: Sequence[Group], verdicts: Mapping[str, bool]) -> list[Group]:
    """The groups with the verdicts on their variants, and with the upper limit of the share of wrong ones."""
    limits = _limits(groups, verdicts)
    found = []
    for group in groups:
        items = tuple(
            replace(i, certified=verdicts[i.id], certified_by="") if i.id in verdicts else i for i in group.items
        )
        epsilon = limits.get(_made_alike(group), group.epsilon)
        found.append(replace(group, items=items, epsilon=epsilon))
    return found


def _limits(groups: Sequence[Group], verdicts: Mapping[str, bool]) -> dict[tuple[str, ...], float]:
    """By kind: the upper end of the exact interval of the share of wrong variants; 0 where all were looked at."""
    from unwaver.stats import binomial

    seen: dict[tuple[str, ...], list[bool]] = {}
    total: dict[tuple[str, ...], int] = {}
    for group in groups:
        for item in group.items:
            if _is_variant(item) and (item.certified is not False or item.id in verdicts):
                total[_made_alike(group)] = total.get(_made_alike(group), 0) + 1
                if item.id in verdicts:
                    seen.setdefault(_made_alike(group), []).append(verdicts[item.id])
    return {
        kind: 0.0 if len(found) == total[kind] else binomial(found.count(False), len(found))[1]
        for kind, found in seen.items()
    }


def _made_alike(group: Group) -> tuple[str, ...]:
    return group.suite, group.task, group.kind


def unknown_ids(groups: Sequence[Group], verdicts: Mapping[str, bool]) -> list[str]:
    """Verdicts on items that are not here: the sheet belongs to other groups."""
    known = {item.id for group in groups for item in group.items}
    return [id for id in verdicts if id not in known]


def check_sheets(
    sheets: Mapping[Path, Mapping[str, bool]], groups: Sequence[Group], say: Callable[[str], None]
) -> None:
    """A sheet of which nothing is known here belongs to other groups."""
    for sheet, verdicts in sheets.items():
        strange = unknown_ids(groups, verdicts)
        if strange and len(strange) == len(verdicts):
            hint = "give the sheet that unwaver review wrote for these groups"
            raise DataError(f"no id of this sheet is in these groups: {strange[0]} …", file=sheet, hint=hint)
        if strange:
            say(f"{sheet}: {len(strange):,} verdicts are about variants that are not in this run")
