"""`run paranlu --source automatic --bank FILE`: paraphrases that a generator wrote, in place of those by people.

    {"id": "snli.train.60271", "variants": ["…", "…"]}           by the id of the problem
    {"id": "anli.train.1", "field": "hyp1", "variants": ["…"]}   α-NLI: for each hypothesis
    {"update": "It rains.", "variants": ["…"]}                   by the text that is paraphrased; or "text"
    {"snli.train.60271": [{"original_example": …, "update_paraphrase": "…"}]}    the published layout

Of α-NLI both hypotheses change: their paraphrases are paired at random, and those of the hypothesis with fewer are
drawn again (section 6.1 of the paper).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from unwaver.errors import DataError, UsageError
from unwaver.files import Row, extension, read_json, read_rows, read_text, shown
from unwaver.types import Group

Problems = dict[str, list[dict[str, Any]]]
Texts = dict[tuple[str, str], list[str]]  # (id or text, field or "") -> paraphrases


def check_source(source: str | None, bank: str | None, groups: Sequence[Group]) -> None:
    """Refuse the options where they would have no effect."""
    if bank is not None and source != "automatic":
        raise UsageError("--bank is for automatic paraphrases", hint="add --source automatic, or omit --bank")
    if not any(group.suite == "paranlu" for group in groups):
        hint = "other suites take paraphrases of a file as --writer bank/FILE"
        raise UsageError("--source chooses the paraphrases of the suite paranlu, which is not run", hint=hint)


def automatic_problems(path: Path, originals: Problems, fields: Sequence[str], seed: int) -> Problems:
    """The problems for which the bank has paraphrases, each with a list of them, as in the published files."""
    if not path.is_file():
        raise DataError("there is no such bank", file=path, hint="give --bank the path of a file of paraphrases")
    if extension(path) == ".json" and read_text(path).lstrip().startswith("{"):
        return _published(path, originals, fields)
    by_id, by_text = _read(path, fields)
    found: Problems = {}
    for id, paraphrases in originals.items():
        original = paraphrases[0]["original_example"]
        texts = [_texts_of(id, original[name], name, by_id, by_text) for name in fields]
        if all(texts):
            found[id] = [
                {
                    "original_example": original,
                    **{f"{n}_paraphrase": t for n, t in zip(fields, chosen, strict=True)},
                }
                for chosen in paired(texts, Random(f"{seed}/{id}"))
            ]
    if not found:
        first = next(iter(originals))
        hint = f'write {{"id": "{first}", "variants": ["…"]}}, with ids or texts of the problems'
        raise DataError("no paraphrase in this bank belongs to a problem", file=path, hint=hint)
    return found


def paired(texts: Sequence[Sequence[str]], random: Random) -> list[tuple[str, ...]]:
    """Texts of several fields side by side, at random; shorter lists are drawn from again.

    [["a", "b", "c"], ["x"]] -> [("b", "x"), ("c", "x"), ("a", "x")]
    """
    if len(texts) == 1:
        return [(text,) for text in texts[0]]
    most = max(map(len, texts))
    columns = []
    for own in texts:
        column: list[str] = []
        while len(column) < most:
            column += random.sample(own, len(own))
        columns.append(column[:most])
    return list(dict.fromkeys(zip(*columns, strict=True)))


def _published(path: Path, originals: Problems, fields: Sequence[str]) -> Problems:
    found = read_json(path)
    prefix = next(iter(originals)).partition(".")[0] + "."
    own = {id: entries for id, entries in found.items() if id.startswith(prefix)}
    for id, entries in own.items():
        good = isinstance(entries, list) and all(
            isinstance(e, dict) and all(isinstance(e.get(f"{name}_paraphrase"), str) for name in fields)
            for e in entries
        )
        if not good or id not in originals:
            what = "is not a problem of ParaNLU" if id not in originals else f"found {shown(entries)}"
            hint = f"each problem has a list of objects with {', '.join(f'{n}_paraphrase' for n in fields)}"
            raise DataError(f"{id}: {what}", file=path, line=1, hint=hint)
    if not own:
        raise DataError(f"no problem in this bank begins with {prefix}", file=path, line=1, hint="check the task")
    return {
        id: [{**entry, "original_example": originals[id][0]["original_example"]} for entry in entries]
        for id, entries in own.items()
        if entries
    }


def _read(path: Path, fields: Sequence[str]) -> tuple[Texts, Texts]:
    by_id: Texts = {}
    by_text: Texts = {}
    for row in read_rows(path):
        texts = _variants(row)
        named = next((name for name in (*fields, "text") if isinstance(row.cells.get(name), str)), None)
        if named is not None:
            by_text.setdefault((_plain(row.cells[named]), "" if named == "text" else named), []).extend(texts)
        elif row.cells.get("id") is not None:
            field = str(row.cells.get("field") or (fields[0] if len(fields) == 1 else ""))
            if field not in fields and str(row.cells["id"]).partition(".")[0] == "anli":
                message = f'"field": found {shown(row.cells.get("field"))}, expected {" or ".join(fields)}'
                raise row.where.error(message, "say which hypothesis it paraphrases")
            by_id.setdefault((str(row.cells["id"]), field), []).extend(texts)
        else:
            hint = f'write {{"{fields[0]}": "the original", "variants": ["…"]}}'
            raise row.where.error(f'neither "id" nor "{fields[0]}": the paraphrases belong to nothing', hint)
    return by_id, by_text


def _variants(row: Row) -> list[str]:
    value = next((row.cells[c] for c in ("variants", "variant", "paraphrase") if c in row.cells), None)
    values = value if isinstance(value, list) else [] if value in (None, "") else [value]
    if value is None or not all(isinstance(v, str) for v in values):
        raise row.where.error(f'"variants": found {shown(value)}, expected texts', 'write "variants": ["…", "…"]')
    return [v for v in values if v.strip()]


def _texts_of(id: str, text: str, field: str, by_id: Mapping[Any, list[str]], by_text: Texts) -> list[str]:
    """Each paraphrase once; a copy of the original is none."""
    found = [*by_id.get((id, field), ())]
    for name in (field, ""):
        found += by_text.get((_plain(text), name), ())
    return [t for t in dict.fromkeys(found) if _plain(t) != _plain(text)]


def _plain(text: str) -> str:
    return " ".join(text.split())
