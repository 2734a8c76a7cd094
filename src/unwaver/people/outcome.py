"""What comes out of a job, at any time: verdicts, certified groups, a bank of paraphrases, labels, answers.

People are r1, r2, … here, in the order in which they were invited: no name leaves the database. People who were
set aside are left out of everything but the list of replies, where they are marked. What the owner decided takes
the place of what people said.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unwaver.errors import DataError
from unwaver.groups import group_to_json
from unwaver.groups.review import COLUMNS, reviewed, variants_of
from unwaver.people.figures import said_of
from unwaver.people.job import Job, read_job
from unwaver.people.rules import YES, of_one, verdict
from unwaver.people.store import Card, Database, Reply
from unwaver.text import spreadsheet
from unwaver.types import Group


@dataclass(frozen=True)
class Outcome:
    """A job as it stands."""

    job: Job
    cards: list[Card]
    replies: list[Reply]
    decisions: Mapping[str, Mapping[str, Any]]
    names: Mapping[int, str]  # of all people, as exports call them
    aside: frozenset[int]

    @property
    def counted(self) -> list[Reply]:
        return [reply for reply in self.replies if reply.rater not in self.aside]

    @property
    def people(self) -> list[int]:
        """Who counts and has said something."""
        return sorted({reply.rater for reply in self.counted})


def outcome_of(job: Job, database: Database) -> Outcome:
    people, own = database.raters(), database.on_own_texts()
    return Outcome(
        job=job,
        cards=database.cards(),
        replies=[reply for reply in database.replies() if (reply.card, reply.rater) not in own],
        decisions=database.decisions(),
        names=database.pseudonyms(),
        aside=frozenset(rater.id for rater in people if rater.aside),
    )


JUDGING = ("rate", "validate", "review")


def read_judged(path: Path, kinds: Sequence[str] = JUDGING) -> Outcome:
    """A job in which people judge, as it stands; also while it is served."""
    job = read_job(path)
    if job.kind not in kinds:
        hint = f"name a job with kind = {' or '.join(kinds)}"
        raise DataError(f"this job has the kind {job.kind}", file=path, hint=hint)
    if not job.database.exists():
        raise DataError("this job has not been started", file=path, hint=f"unwaver annotate {path} starts it")
    database = Database(job.database, read_only=True)
    try:
        return outcome_of(job, database)
    finally:
        database.close()


# --- verdicts on variants -----------------------------------------------------------------------------------


def verdicts(found: Outcome, rule: str = "") -> dict[str, bool]:
    """Which variants stay, by the rule of the job or another; those that nobody judged are left out."""
    said = said_of(found.cards, found.replies, sorted(found.aside))
    kept: dict[str, bool] = {}
    for card in found.cards:
        if card.id not in said:
            continue
        own = rule or found.job.rule_for(card.shown.get("about", {}))
        decision = found.decisions.get(card.id)
        stays = of_one(own, str(decision["value"])) if decision else verdict(own, said[card.id])
        if stays is not None:
            kept[card.id] = stays
    return kept


def label_verdicts(found: Outcome, groups: Sequence[Group]) -> dict[str, bool]:
    """Of an `answer` job: which variants stay because enough people give them a right answer, such as two of three
    (BECEL, transitive sets of SNLI). Variants without a known answer, and those nobody answered, have none."""
    accepted = {item.id: item.accepted for group in groups for item in variants_of(group) if item.accepted}
    said: dict[str, list[str]] = {}
    for person in found.people:
        for item, one in answers(found, person).items():
            if item in accepted and "label" in one:
                said.setdefault(item, []).append("yes" if one["label"] in accepted[item] else "no")
    kinds = {
        item.id: {"kind": f"{group.suite}/{group.task}/{group.kind}"} for group in groups for item in group.items
    }
    told = {item: verdict(found.job.rule_for(kinds[item]), values) for item, values in said.items()}
    return {item: stays for item, stays in told.items() if stays is not None}


def rules_in_words(found: Outcome) -> str:
    """ "mean>=4", or, where kinds have rules of their own, "semantic mean>=4, negational mean<=2"."""
    rules: dict[str, str] = {}
    for card in found.cards:
        if card.known is None:
            about = card.shown.get("about", {})
            rules.setdefault(str(about.get("kind", "")).rpartition("/")[2], found.job.rule_for(about))
    if len(set(rules.values())) < 2:
        return next(iter(rules.values()), found.job.rule_for({}))
    return ", ".join(f"{kind} {rule}" for kind, rule in rules.items())


def certified_groups(found: Outcome, groups: Sequence[Group], rule: str = "") -> str:
    """groups.jsonl with what people say of the variants: wrong ones do not count in a run, and groups that have no
    other are left out."""
    kept = label_verdicts(found, groups) if found.job.kind == "answer" else verdicts(found, rule)
    made = [group for group in reviewed(groups, kept) if variants_of(group)]
    return "".join(json.dumps(group_to_json(group), ensure_ascii=False) + "\n" for group in made)


def review_sheet(found: Outcome, rater: int, rule: str = "") -> str:
    """What one person said, as a sheet for --review: grades and criteria become ok or wrong by the rule."""
    cards = {card.id: card for card in found.cards}
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    for reply in found.replies:
        card = cards.get(reply.card)
        if reply.rater != rater or card is None or card.known is not None or "value" not in reply.value:
            continue
        stays = of_one(rule or found.job.rule_for(card.shown.get("about", {})), str(reply.value["value"]))
        texts = [str(card.shown.get(name, "")) for name in ("original", "variant", "expected", "label")]
        row = (card.id, *texts, "" if stays is None else "ok" if stays else "wrong", reply.value.get("reason", ""))
        writer.writerow([spreadsheet.written(str(cell)) for cell in row])
    return out.getvalue()


# --- texts, labels, answers ---------------------------------------------------------------------------------


def bank(found: Outcome) -> str:
    """The paraphrases of all people as a bank (see unwaver.variants.bank), those of one text together."""
    lines: dict[str, list[str]] = {}
    texts = {card.id: card for card in found.cards}
    for reply in found.counted:
        own = lines.setdefault(reply.card, [])
        own.extend(text for text in map(str, reply.value.get("texts", ())) if text not in own)
    records = (
        {
            **texts[card].shown["context"],
            texts[card].shown["field"]: texts[card].shown["text"],
            "variants": written,
        }
        for card, written in lines.items()
        if written
    )
    return _lines(records)


def audit(found: Outcome) -> str:
    """Who wrote what, and when: one line for each paraphrase. Nobody has validated them: see people.chain."""
    texts = {card.id: card for card in found.cards}
    return _lines(
        {
            "original": texts[reply.card].shown["text"],
            "id": reply.card,
            "written": text,
            "by": found.names[reply.rater],
            "aside": reply.rater in found.aside,
            "validated": False,
            "saved": reply.saved,
        }
        for reply in found.replies
        for text in reply.value.get("texts", ())
    )


def pair_labels(found: Outcome) -> str:
    """For `unwaver agreement validate --pairs`: a column for each person, yes and no as 1 and 0, grades as they
    are; empty where somebody did not judge the pair, or is not sure."""
    return _lines(pair_records(found))


def pair_records(found: Outcome) -> list[dict[str, Any]]:
    """The lines of `pair_labels`."""
    said = {(reply.card, reply.rater): reply.value.get("value") for reply in found.counted}
    records = []
    for card in found.cards:
        if card.known is not None or not any((card.id, rater) in said for rater in found.people):
            continue
        labels = {found.names[rater]: _label(said.get((card.id, rater))) for rater in found.people}
        texts = {"question": card.shown["question"], "a": card.shown["one"], "b": card.shown["other"]}
        records.append({"id": card.id, **texts, **labels})
    return records


def _label(value: Any) -> float | None:
    if value is None or value == "unsure":
        return None
    text = str(value)
    return float(text) if text.isdigit() else float(text in YES)


def answers(found: Outcome, rater: int | None = None) -> dict[str, dict[str, str]]:
    """By item: {"label": "yes"} or {"text": "…"}, of one person, or of the majority of all, in whose place stands
    what the owner decided. Without a majority there is a text that is no label. Free text has no majority: those
    items are left out."""
    said: dict[str, list[Mapping[str, Any]]] = {}
    for reply in found.counted if rater is None else found.replies:
        if rater in (None, reply.rater) and "skip" not in reply.value:
            said.setdefault(reply.card, []).append(reply.value)
    made: dict[str, dict[str, str]] = {}
    for card in found.cards:
        of_card = said.get(card.id, [])
        if rater is None and card.id in found.decisions:
            of_card = [found.decisions[card.id]]
        one = _majority(of_card) if rater is None else _plain(of_card[0]) if of_card else None
        if one is not None and "label" in one and "labels" in card.shown:
            one = {"label": card.shown["labels"][card.shown["choices"].index(one["label"])]}
        if one is not None and card.known is None:
            made |= dict.fromkeys(card.shown.get("items", (card.id,)), one)
    return made


NO_MAJORITY = "(?)"  # no words: "no" is a label of many tasks


def _plain(value: Mapping[str, Any]) -> dict[str, str]:
    return {"label": str(value["value"])} if "value" in value else {"text": str(value.get("text", ""))}


def _majority(values: Sequence[Mapping[str, Any]]) -> dict[str, str] | None:
    labels = Counter(str(value["value"]) for value in values if "value" in value)
    if not labels:
        return None
    (first, most), *others = labels.most_common(2)
    return {"text": NO_MAJORITY} if others and others[0][1] == most else {"label": first}


# --- everything ---------------------------------------------------------------------------------------------


def all_replies(found: Outcome) -> str:
    """A table of every reply, safe to open in a spreadsheet."""
    cards = {card.id: card for card in found.cards}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("card", "rater", "set_aside", "check", "reply", "reason", "flag", "seconds", "changes"))
    for reply in found.replies:
        value = reply.value
        said = {n: v for n, v in value.items() if n not in ("reason", "flag")}
        text = str(said.get("value", "")) if set(said) <= {"value"} else json.dumps(said, ensure_ascii=False)
        checked = cards[reply.card].known is not None
        seconds = "" if reply.seconds is None else f"{reply.seconds:.1f}"
        who = (found.names.get(reply.rater, ""), int(reply.rater in found.aside))
        remarks = (value.get("reason", ""), value.get("flag", ""))
        row = (reply.card, *who, int(checked), text, *remarks, seconds, reply.times - 1)
        writer.writerow([spreadsheet.written(str(cell)) for cell in row])
    return out.getvalue()


def _lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
