"""A job for people, as a TOML file says it. `unwaver annotate --new KIND` writes one with comments.

kind = "rate"
from = "groups.jsonl"        # a suite, groups, or a table
raters = 3                   # how many people judge each card
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from unwaver.errors import DataError, near
from unwaver.files import read_toml, shown
from unwaver.people.rules import MEAN, YES, check_rule
from unwaver.typed import AboveZero, Filled, is_text, typed

KINDS = {
    "rate": "How similar are an original and its variant, from 1 to 5?",
    "write": "People paraphrase one text of each item.",
    "validate": "Does a variant keep meaning, label and grammar?",
    "answer": "People answer the questions that a model gets.",
    "pairs": "Do two answers to a question say the same?",
    "review": "Is a variant what it should be?",
}
SCALE = ("not similar at all", "slightly similar", "somewhat similar", "quite similar", "highly similar")
CRITERIA = ("meaning", "label", "grammar")
YES_NO_UNSURE = ("yes", "no", "unsure")
SAME = ("yes", "no")
REVIEW = ("ok", "wrong")
_RULES = {"rate": "mean>=4", "validate": "all-yes", "pairs": "majority", "review": "majority", "answer": "2-of-3"}
# the texts of a card with a known answer: those that it needs, and those that it may have
KNOWN_TEXTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "rate": (("original", "variant"), ()),
    "write": (("text",), ()),
    "validate": (("original", "variant"), ("label",)),
    "answer": (("prompt",), ("choices",)),
    "pairs": (("question", "one", "other"), ()),
    "review": (("original", "variant", "expected"), ()),
}
WITH_CONTEXT = ("rate", "write", "validate", "review")  # every other text of their cards is shown as context
_OPPOSITE = "mean<=2"  # of grades, where a variant is to mean the opposite (BECEL, negational)
_EXAMPLE = 'kind = "rate", from = "groups.jsonl": unwaver annotate --new rate writes a whole file'


@dataclass(frozen=True)
class Known:
    """A card whose answer is known: for practice, with a reason, or to see whether somebody pays attention."""

    shown: Mapping[str, str]
    answer: str
    because: str = ""


@dataclass(frozen=True)
class Job:
    """`raters` judge each card, or each group of `answer`. `claim_minutes` without a reply free what a person has
    taken. `check_every` cards, one with a known answer comes."""

    path: Path
    kind: str
    source: str
    title: str = ""
    instructions: str = ""
    raters: int = 3
    seed: int = 0
    limit: int | None = None  # cards drawn from the source
    claim_minutes: float = 30.0
    check_every: int = 10
    scale: tuple[str, ...] = SCALE
    criteria: tuple[str, ...] = CRITERIA
    grades: tuple[str, ...] = SAME  # what a pair may be called
    field: str = ""  # of the text that is to be paraphrased
    least: int = 3  # paraphrases of a text
    most: int = 10
    rule: str | Mapping[str, str] = ""  # which variants stay, for all or by kind: see unwaver.people.rules
    practice: tuple[Known, ...] = ()
    checks: tuple[Known, ...] = ()

    @property
    def database(self) -> Path:
        return self.path.with_suffix(".sqlite")

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def choices(self) -> tuple[str, ...]:
        """What a card can be called; none where people write, or where each card has its own choices."""
        return {
            "rate": tuple(str(n) for n in range(1, len(self.scale) + 1)),
            "validate": YES_NO_UNSURE,
            "pairs": self.grades,
            "review": REVIEW,
        }.get(self.kind, ())

    def rule_for(self, about: Mapping[str, Any]) -> str:
        """The rule for a card, by what is known of it: {"kind": "mine/snli/negational", "expect": "different"} has
        mean<=2 in a job that grades, unless the job says otherwise."""
        if isinstance(self.rule, str) and self.rule:
            return self.rule
        kind = str(about.get("kind", "")).rpartition("/")[2]
        own = self.rule or {}
        assert not isinstance(own, str)
        for name in (kind, kind.partition("_")[0]):
            if name in own:
                return own[name]
        opposite = self.kind == "rate" and about.get("expect") == "different"
        return _OPPOSITE if opposite else _RULES.get(self.kind, "")


Names = Annotated[tuple[Filled, ...], msgspec.Meta(min_length=2)]


class _Settings(msgspec.Struct):
    """What the file may say besides its kind and its source."""

    title: str = ""
    instructions: str = ""
    raters: AboveZero = 3
    seed: int = 0
    limit: AboveZero | None = None
    claim_minutes: Annotated[float, msgspec.Meta(gt=0)] = 30.0
    check_every: Annotated[int, msgspec.Meta(ge=2)] = 10
    scale: Names = SCALE
    criteria: Annotated[tuple[Filled, ...], msgspec.Meta(min_length=1)] = CRITERIA
    grades: Names = SAME
    field: str = ""
    least: AboveZero = 3
    most: AboveZero = 10
    rule: str | Annotated[dict[str, str], msgspec.Meta(min_length=1)] = ""
    practice: list[dict[str, str]] = []
    checks: list[dict[str, str]] = []


def read_job(path: Path) -> Job:
    if path.suffix in (".sqlite", ".secret"):
        what = f"a job is a TOML file, and {path.suffix} files are kept beside it"
        raise DataError(what, file=path, hint=f"unwaver annotate {path.with_suffix('.toml')}")
    given = read_toml(path, "job", _EXAMPLE)
    kind, source = given.pop("kind", None), given.pop("from", None)
    if not isinstance(kind, str) or kind not in KINDS:
        what = f"kind = {shown(kind)}" if kind is not None else "kind is missing"
        raise DataError(f"{what}, expected {', '.join(KINDS)}", file=path, hint=near(str(kind), KINDS))
    if not is_text(source) or not source:
        raise DataError("from is missing: what is asked about", file=path, hint='from = "groups.jsonl"')
    known = _Settings.__struct_fields__
    for name in given:
        if name not in known:
            raise DataError(f'"{name}" is not known', file=path, hint=near(name, [*known, "kind", "from"]))
    settings: _Settings = typed(_Settings, given, path, "leave it out for the default")
    cards = {
        name: tuple(_known(entry, f"[[{name}]]", path) for entry in getattr(settings, name))
        for name in ("practice", "checks")
    }
    job = Job(path, kind, source, **{**msgspec.structs.asdict(settings), **cards})
    _check_whole(job)
    return job


def _known(entry: Mapping[str, str], where: str, path: Path) -> Known:
    """[[checks]] with the texts of a card, its answer and, for practice, why."""
    texts = {name: value for name, value in entry.items() if name not in ("answer", "because")}
    if not texts or "answer" not in entry:
        hint = f'{where} with the texts that are shown and answer = "…"'
        raise DataError(f"{where} needs texts and an answer", file=path, hint=hint)
    return Known(texts, entry["answer"], entry.get("because", ""))


def _check_whole(job: Job) -> None:
    if job.least > job.most:
        raise DataError(f"least = {job.least} is above most = {job.most}", file=job.path, hint="swap them")
    if job.kind == "write" and not job.field:
        raise DataError("field is missing: which text is paraphrased", file=job.path, hint='field = "question"')
    _check_rules(job)
    _check_grades(job)
    if job.kind == "write" and job.checks:
        hint = "leave [[checks]] out; a job of kind validate judges what people wrote"
        raise DataError("[[checks]]: a paraphrase has no one right answer", file=job.path, hint=hint)
    for where, entries in (("[[practice]]", job.practice), ("[[checks]]", job.checks)):
        for n, known in enumerate(entries, 1):
            _check_known(job, known, f"{where} number {n}")


def _check_grades(job: Job) -> None:
    """Labels of pairs are numbers, or yes and anything else: words that mean neither would all become no."""
    same = [grade in (*YES, "unsure") for grade in job.grades]
    if job.kind != "pairs" or all(grade.isdigit() for grade in job.grades):
        return
    if not any(grade in YES for grade in job.grades) or all(same):
        what = "all of these say" if all(same) else "none of these says"
        hint = f'grades = ["yes", "no"], or numbers: ["1", "2", "3"]; {", ".join(YES)} say that they do'
        raise DataError(
            f"grades = {shown(list(job.grades))}: {what} that two answers say the same", file=job.path, hint=hint
        )


def _check_known(job: Job, known: Known, where: str) -> None:
    choices = [choice.strip() for choice in known.shown.get("choices", "").split("|") if choice.strip()]
    allowed = ("yes", "no") if job.kind == "validate" else job.choices or choices
    if allowed and known.answer not in allowed:
        what = f"{where}: answer = {shown(known.answer)}, expected {', '.join(allowed)}"
        raise DataError(what, file=job.path, hint="give the answer as a rater would")
    needed, optional = KNOWN_TEXTS[job.kind]
    if missing := [name for name in needed if not known.shown.get(name)]:
        raise DataError(f"{where} has no {missing[0]}", file=job.path, hint=f'{missing[0]} = "…"')
    other = [name for name in known.shown if name not in (*needed, *optional)]
    if other and job.kind not in WITH_CONTEXT:
        hint = near(other[0], [*needed, *optional, "answer", "because"])
        raise DataError(f'{where}: "{other[0]}" is not known', file=job.path, hint=hint)


def _check_rules(job: Job) -> None:
    """Rules that this kind of job has: means are of grades, all others of yes and no."""
    given = [job.rule] if isinstance(job.rule, str) else list(job.rule.values())
    for rule in filter(None, given):
        check_rule(rule, job.path)
        if job.kind in _RULES and bool(MEAN.fullmatch(rule)) != (job.kind == "rate"):
            what = f'rule = "{rule}" is for {"grades" if MEAN.fullmatch(rule) else "yes and no"}'
            hint = f'a job of the kind {job.kind} has such as rule = "{_RULES[job.kind]}"'
            raise DataError(what, file=job.path, hint=hint)
    if job.kind == "rate" and len(job.scale) != len(SCALE) and not job.rule:
        what = f"rule is missing: the scale has {len(job.scale)} grades, and {_RULES['rate']} is for {len(SCALE)}"
        raise DataError(what, file=job.path, hint=f'rule = "mean>={len(job.scale) - 1}"')
