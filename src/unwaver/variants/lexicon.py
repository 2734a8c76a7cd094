"""Words and their opposites: from a file, a WordNet folder, or a lexicon of the `wn` library.

    antonyms_of()("old", "a") -> [["young"], ["new"]], one list for each sense
    synonyms("automobile", "n") -> ["car", "auto", …], as the word has one sense

A WordNet folder holds the text files of WordNet 3 (index.adj, data.adj, …): the one named in UNWAVER_WORDNET, or
Debian's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from unwaver.errors import DataError, UsageError
from unwaver.files import Row, missing_column, read_rows

Pos = Literal["n", "v", "a", "r"]  # noun, verb, adjective, adverb
# a lemma and its part of speech -> its opposites: a list for each sense, the most frequent sense first
Antonyms = Callable[[str, Pos], list[list[str]]]

NONE = "none"  # UNWAVER_WORDNET=none: the same variants on every machine, whatever is installed
DEBIAN_WORDNET = Path("/usr/share/wordnet")
INSTALL = (
    "give a table of antonyms (--antonyms FILE), or a WordNet folder: apt-get install wordnet-base, "
    "or UNWAVER_WORDNET=FOLDER; or: pip install wn && python -m wn download oewn:2024"
)
_FILES: dict[Pos, str] = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}


def antonyms_of(file: str | None = None) -> Antonyms:
    """Where opposites come from: the file if one is named, else a WordNet folder, else a `wn` lexicon."""
    if file is not None:
        return antonyms_in_file(Path(file))
    folder = wordnet_folder()
    if folder is not None:
        return antonyms_in_wordnet(folder)
    found = antonyms_in_wn()
    if found is None:
        raise UsageError("no source of antonyms was found", hint=INSTALL)
    return found


# --- a table ------------------------------------------------------------------------------------------------

_WORD_COLUMNS = (("word1", "word2"), ("word", "antonym"))
_POS_COLUMNS = ("pos", "pos1")


def antonyms_in_file(path: Path) -> Antonyms:
    """A table with the columns word1 and word2 (or word and antonym), in which each row counts both ways.

    A column `label` keeps the rows that say Antonym; a column `pos` (or pos1) is n, v, a, s or r. A word that
    has no row for its part of speech takes those of any other. A table knows no senses: each antonym counts as
    one.
    """
    rows = read_rows(path)
    first, second = _word_columns(rows[0])
    pos_column = next((c for c in _POS_COLUMNS if c in rows[0].cells), None)
    by_word: dict[str, dict[tuple[str, str], None]] = {}  # word -> {(antonym, pos)} in the order of the file
    for row in rows:
        if str(row.cells.get("label", "antonym")).casefold() != "antonym":
            continue
        a, b = (row.text(column).strip() for column in (first, second))
        pos = _pos(row, pos_column)
        by_word.setdefault(a.casefold(), {})[b, pos] = None
        by_word.setdefault(b.casefold(), {})[a, pos] = None
    if not by_word:
        raise DataError("no row is labelled Antonym", hint="the column label says Antonym or Synonym", file=path)

    def antonyms(lemma: str, pos: Pos) -> list[list[str]]:
        found = by_word.get(lemma.casefold(), {})
        fitting = [word for word, of in found if of in (pos, "")] or [word for word, _ in found]
        # a word with many opposites is a common one: "small" before "minuscule"
        ranked = sorted(dict.fromkeys(fitting), key=lambda word: -len(by_word[word.casefold()]))
        return [[word] for word in ranked]

    return antonyms


def _word_columns(row: Row) -> tuple[str, str]:
    for first, second in _WORD_COLUMNS:
        if first in row.cells and second in row.cells:
            return first, second
    raise row.where.error(
        missing_column("word1", row.cells), hint="name the two columns word1 and word2, or word and antonym"
    )


def _pos(row: Row, column: str | None) -> str:
    if column is None:
        return ""
    found = row.text(column).strip().casefold().split("-")[0]  # "a-1": the first of two words of one spelling
    if found not in ("n", "v", "a", "s", "r", ""):
        raise row.where.error(f'column "{column}": found "{found}"', hint="expected n, v, a, s or r")
    return "a" if found == "s" else found  # s: an adjective that WordNet groups under another


# --- a WordNet folder ---------------------------------------------------------------------------------------


class _Synset(NamedTuple):
    words: tuple[str, ...]
    pointers: tuple[tuple[str, int, str, int, int], ...]  # sign, offset, pos, source word, target word (from 1)


def wordnet_folder() -> Path | None:
    """The folder in UNWAVER_WORDNET, else Debian's; None for "none", or where there is neither."""
    named = os.environ.get("UNWAVER_WORDNET")
    if named == NONE:
        return None
    if named:
        if not (Path(named) / "index.adj").is_file():
            raise UsageError(
                f"UNWAVER_WORDNET={named} has no file index.adj",
                hint="name the folder with index.noun, data.noun, … (in WordNet's own archive: dict)",
            )
        return Path(named)
    return DEBIAN_WORDNET if (DEBIAN_WORDNET / "index.adj").is_file() else None


def synset_count(lemma: str, pos: Pos) -> int | None:
    """In how many senses a lemma is used: ("couch", "n") -> 3, ("xyzzy", "n") -> 0; None without a WordNet."""
    folder = wordnet_folder()
    return None if folder is None else len(_senses(folder, lemma, pos))


def synonyms(lemma: str, pos: Pos) -> list[str]:
    """The other lemmas of a lemma's only synset: ("automobile", "n") -> ["car", …]; [] if it has several."""
    folder = wordnet_folder()
    senses = [] if folder is None else _senses(folder, lemma, pos)
    if folder is None or len(senses) != 1:
        return []
    words = _synset(folder, pos, senses[0]).words
    return [_plain(w) for w in words if _plain(w).casefold() != lemma.casefold()]


def synonyms_of_senses(lemma: str, pos: Pos, most: int = 3) -> list[str]:
    """The other lemmas of its `most` frequent senses, in order: ("wear", "v") -> ["have on", "bear"]. Other senses
    are rarely meant ("fag", to tire)."""
    folder = wordnet_folder()
    senses = [] if folder is None else _senses(folder, lemma, pos)
    found = [_plain(w) for offset in senses[:most] for w in _synset(folder, pos, offset).words] if folder else []
    return [w for w in dict.fromkeys(found) if w.casefold() != lemma.casefold()]


def antonyms_in_wordnet(folder: Path) -> Antonyms:
    """For each sense the lemma's own opposite, then those of its synonyms: big -> little, small (of large)."""

    def antonyms(lemma: str, pos: Pos) -> list[list[str]]:
        senses = []
        for offset in _senses(folder, lemma, pos):
            synset = _synset(folder, pos, offset)
            words = [_plain(w).casefold() for w in synset.words]
            number = words.index(lemma.casefold()) + 1 if lemma.casefold() in words else 0
            opposites = sorted(_opposites(folder, synset), key=lambda pair: pair[0] != number)
            senses.append(list(dict.fromkeys(word for _, word in opposites)))
        return [sense for sense in senses if sense]

    return antonyms


def _opposites(folder: Path, synset: _Synset) -> Iterator[tuple[int, str]]:
    """(number of the word in the synset, its opposite)."""
    for sign, offset, pos, source, target in synset.pointers:
        if sign == "!":
            with _sound(folder / f"data.{_FILES[_as_pos(pos)]}"):
                word = _synset(folder, _as_pos(pos), offset).words[target - 1]
            yield source, _plain(word)


def _as_pos(letter: str) -> Pos:
    return "n" if letter == "n" else "v" if letter == "v" else "r" if letter == "r" else "a"


def _plain(word: str) -> str:
    """galore(ip) -> galore, hot_dog -> hot dog."""
    return re.sub(r"\(\w+\)$", "", word).replace("_", " ")


def _senses(folder: Path, lemma: str, pos: Pos) -> list[int]:
    line = _index(folder, pos).get(lemma.casefold().replace(" ", "_"))
    if line is None:
        return []
    with _sound(folder / f"index.{_FILES[pos]}"):
        count = int(line.split(" ")[2])
        return [int(offset) for offset in line.split()[-count:]]


@cache
def _index(folder: Path, pos: Pos) -> dict[str, str]:
    lines = _read(folder / f"index.{_FILES[pos]}").decode(errors="replace").split("\n")
    return {line.split(" ", 1)[0]: line for line in lines if line and not line.startswith(" ")}


@cache
def _synset(folder: Path, pos: Pos, offset: int) -> _Synset:
    data = _data(folder, pos)
    cells = data[offset : data.find(b"\n", offset)].decode(errors="replace").split(" | ")[0].split()
    if not cells or cells[0] != f"{offset:08}":
        raise DataError(
            f"no synset at byte {offset}, where index.{_FILES[pos]} says there is one",
            hint="use the unchanged index and data files of one WordNet release",
            file=folder / f"data.{_FILES[pos]}",
        )
    with _sound(folder / f"data.{_FILES[pos]}"):
        words_end = 4 + 2 * int(cells[3], 16)
        pointers_at = range(words_end + 1, words_end + 1 + 4 * int(cells[words_end]), 4)
        return _Synset(
            tuple(cells[4:words_end:2]),
            tuple(
                (cells[i], int(cells[i + 1]), cells[i + 2], int(cells[i + 3][:2], 16), int(cells[i + 3][2:], 16))
                for i in pointers_at
            ),
        )


@contextmanager
def _sound(file: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, IndexError) as error:
        hint = "use the unchanged index and data files of one WordNet release"
        raise DataError(f"a line cannot be read: {error}", hint=hint, file=file) from None


@cache
def _data(folder: Path, pos: Pos) -> bytes:
    return _read(folder / f"data.{_FILES[pos]}")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(
            f"cannot be read: {error.strerror}", hint="a WordNet folder has index.* and data.*", file=path
        ) from None


# --- a lexicon of the wn library ----------------------------------------------------------------------------


def antonyms_in_wn() -> Antonyms | None:
    """Opposites from any English lexicon that `wn` has downloaded; None if there is none."""
    if os.environ.get("UNWAVER_WORDNET") == NONE:
        return None
    try:
        import wn
    except ImportError:
        return None
    if not wn.lexicons(lang="en"):
        return None

    @cache
    def antonyms(lemma: str, pos: Pos) -> list[list[str]]:
        letters = ("a", "s") if pos == "a" else (pos,)
        senses = [sense for letter in letters for sense in wn.senses(lemma, pos=letter, lang="en")]
        opposites = [[str(other.word().lemma()) for other in sense.get_related("antonym")] for sense in senses]
        return [found for found in opposites if found]

    return antonyms
