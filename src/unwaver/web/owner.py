"""The page of the owner: progress, agreement, disputes, exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from statistics import median
from typing import Any

from starlette.responses import RedirectResponse, Response

from unwaver.people import chain, outcome
from unwaver.people.agreement import Agreement, notes, value
from unwaver.people.figures import agreements, disputed, kept_by, progress, said_of
from unwaver.people.job import Job
from unwaver.people.queue import smallest_gap
from unwaver.people.rules import presets_for
from unwaver.people.store import Card, Reply
from unwaver.types import Group
from unwaver.web.annotate import common_lines, in_words, short
from unwaver.web.desk import Visit
from unwaver.web.pages import page

MOST_DISPUTED = 50  # on the page; those that are decided make room for others
PAGE = 50  # cards on a page of all cards
_TEXT, _JSONL, _CSV, _TSV = "text/plain", "application/jsonl", "text/csv", "text/tab-separated-values"


def overview(visit: Visit) -> Response:
    desk = visit.desk
    job, found = desk.job, outcome.outcome_of(desk.job, desk.database)
    said = said_of(found.cards, found.replies, sorted(found.aside))
    rows = agreements(job, found.cards, found.replies, sorted(found.aside))
    open_cards = [id for id in disputed(said) if id not in found.decisions]
    decided = [id for id in disputed(said) if id in found.decisions]
    cards = {card.id: card for card in found.cards}
    judges, common = job.kind in ("rate", "validate", "review"), common_lines(found.cards)
    return page(
        "owner.html",
        job=job,
        csrf=visit.csrf,
        people=progress(desk.database),
        agreement=[_agreement(row) for row in rows],
        notes=" ".join(notes(rows)),
        compares=bool(rows) or not _is_of_texts(job, found.cards),
        rules=_rules(found, said) if judges else {},
        own_rule=outcome.rules_in_words(found),
        disputed=[_dispute(found, cards[id], common) for id in [*open_cards, *decided][:MOST_DISPUTED]],
        more_disputed=max(0, len(open_cards) + len(decided) - MOST_DISPUTED),
        exports=[(name, about) for name, (about, _) in exports(visit).items()],
        gap=_gap(found),
        then=_then(found),
        **_counts(found),
    )


def _then(found: outcome.Outcome) -> str:
    """The command that reads the job as it is, without an export."""
    job = found.job
    if job.kind in outcome.JUDGING and not chain.is_of_texts(found):
        return f"unwaver run {job.source} --model NAME --review {job.path.name}"
    return {
        "answer": f"unwaver report {job.path.name} RUN --out beside.html",
        "pairs": f"unwaver agreement validate --pairs {job.path.name}",
    }.get(job.kind, "")


def _is_of_texts(job: Job, cards: Sequence[Card]) -> bool:
    """Whether people write: texts are not compared with one another."""
    own = [card for card in cards if card.known is None]
    return job.kind == "write" or (job.kind == "answer" and not any(card.shown.get("choices") for card in own))


def _rules(found: outcome.Outcome, said: Mapping[str, list[str]]) -> dict[str, tuple[int, int]]:
    """What each rule would keep, then what that of the job keeps, with what the owner decided."""
    kept = outcome.verdicts(found).values()
    return {**kept_by(said, presets_for(found.job.kind)), outcome.rules_in_words(found): (sum(kept), len(kept))}


def _gap(found: outcome.Outcome) -> int | None:
    if found.job.kind != "answer":
        return None
    return smallest_gap(found.replies, {card.id: card.unit for card in found.cards})


def _counts(found: outcome.Outcome) -> dict[str, Any]:
    own = [card for card in found.cards if card.known is None and not card.withdrawn]
    of_card = Counter(reply.card for reply in _said(found.counted))
    seconds = [reply.seconds for reply in found.counted if reply.seconds is not None]
    given = sum(min(of_card[card.id], found.job.raters) for card in own)
    typical = median(seconds) if seconds else None
    left = len(own) * found.job.raters - given
    return {
        "units": len(own),
        "unit_name": "cards" if len(own) != 1 else "card",
        "whole": sum(of_card[card.id] >= found.job.raters for card in own),
        "given": given,
        "median_seconds": typical,
        "flags": sum("flag" in reply.value for reply in found.counted),
        "hours": _duration(left * typical) if typical else "",
    }


def _said(replies: Iterable[Reply]) -> list[Reply]:
    """Without those that skip a card."""
    return [reply for reply in replies if "skip" not in reply.value]


def _duration(seconds: float) -> str:
    """90 -> "2 min"; 9000 -> "2.5 h"."""
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _agreement(row: Agreement) -> dict[str, str]:
    name = row.criterion or "replies"
    agree = row.fleiss.agreement
    return {
        "name": f"{name}, {row.kind}" if row.kind else name,
        "cards": f"{row.fleiss.items:,}",
        "agree": "–" if agree is None else f"{100 * agree:.1f} %",
        "cohen": value(row.cohen),
        "fleiss": value(row.fleiss),
        "alpha": value(row.alpha),
    }


def _dispute(found: outcome.Outcome, card: Card, common: Set[str]) -> dict[str, Any]:
    replies = [reply for reply in found.counted if reply.card == card.id]
    hidden = ("about", "items", "choices", "field")
    texts = [(name, value) for name, value in card.shown.items() if name not in hidden and isinstance(value, str)]
    texts += list(card.shown.get("context", {}).items())
    decision = found.decisions.get(card.id)
    return {
        "number": card.number,
        "summary": summary(card, common),
        "said": ", ".join(str(reply.value["value"]) for reply in replies if "value" in reply.value),
        "decided": in_words(decision) if decision else "",
        "texts": texts,
        "replies": [_remark(found, reply) for reply in replies],
        "choices": list(found.job.choices or card.shown.get("choices", ())),
    }


def summary(card: Card, common: Set[str] = frozenset()) -> str:
    """A card in a line: what tells it from the others. `common` are lines that all prompts have."""
    names = ("variant", "question", "prompt", "text")
    return short(next((str(card.shown[name]) for name in names if card.shown.get(name)), card.id), common)


def _remark(found: outcome.Outcome, reply: Reply) -> dict[str, str]:
    value = reply.value
    said = " · ".join(map(str, value["texts"])) if "texts" in value else in_words(value)
    reason, flag = str(value.get("reason", "")), str(value.get("flag", ""))
    if value.get("skip") not in (None, "skipped"):
        reason = str(value["skip"])
    return {"who": found.names.get(reply.rater, ""), "said": said, "reason": reason, "flag": flag}


# --- all cards ----------------------------------------------------------------------------------------------


def cards(visit: Visit) -> Response:
    """Progress by card, a page of them at a time; all, those with a note, or those that lack replies."""
    found = outcome.outcome_of(visit.desk.job, visit.desk.database)
    asked = visit.request.query_params
    only = asked.get("only", "") if asked.get("only", "") in _FILTERS else ""
    replies: dict[str, list[Reply]] = {}
    for reply in found.counted:
        replies.setdefault(reply.card, []).append(reply)
    own = [card for card in found.cards if card.known is None and not card.withdrawn]
    chosen = [card for card in own if _FILTERS[only](replies.get(card.id, []), found.job.raters)]
    pages, common = max(1, -(-len(chosen) // PAGE)), common_lines(found.cards)
    number = min(max(1, _number({"page": [asked.get("page", "1")]}, "page")), pages)
    rows = [
        {
            "number": card.number,
            "summary": summary(card, common),
            "count": len(_said(replies.get(card.id, []))),
            "decided": in_words(found.decisions[card.id]) if card.id in found.decisions else "",
            "replies": [_remark(found, reply) for reply in replies.get(card.id, [])],
        }
        for card in chosen[(number - 1) * PAGE : number * PAGE]
    ]
    most = found.job.raters
    counts = {name: sum(fits(replies.get(c.id, []), most) for c in own) for name, fits in _FILTERS.items()}
    return page("cards.html", job=found.job, rows=rows, only=only, number=number, pages=pages, counts=counts)


_FILTERS: Mapping[str, Callable[[Sequence[Reply], int], bool]] = {
    "": lambda _, __: True,
    "open": lambda replies, most: len(_said(replies)) < most,
    "flagged": lambda replies, _: any(reply.value.get("flag") for reply in replies),
    "skipped": lambda replies, _: any("skip" in reply.value for reply in replies),
}


# --- what the owner does ------------------------------------------------------------------------------------


def set_aside(visit: Visit) -> Response:
    rater = visit.desk.database.rater(_number(visit.form, "rater"))
    if rater is not None and not rater.owner:
        visit.desk.database.set_aside(rater.id, visit.form.get("aside") == ["1"])
    return RedirectResponse("/owner#progress", status_code=303)


def forget(visit: Visit) -> Response:
    rater = visit.desk.database.rater(visit.request.path_params["rater"])
    if rater is None or rater.owner:
        return page("message.html", 404, title="No such rater", text="", link="/owner", link_text="Back")
    if visit.request.method == "GET":
        return page("forget.html", rater=rater, csrf=visit.csrf)
    visit.desk.database.forget(rater.id)
    return RedirectResponse("/owner#progress", status_code=303)


def decide(visit: Visit) -> Response:
    desk, card = visit.desk, visit.desk.database.card_at(_number(visit.form, "card"))
    said = visit.form.get("value", [""])[0]
    if card is None or said not in (desk.job.choices or card.shown.get("choices", ())):
        return page("message.html", 404, title="No such card", text="", link="/owner", link_text="Back")
    desk.database.decide(card.id, {"value": said}, desk.clock())
    return RedirectResponse("/owner#disputed", status_code=303)


def _number(form: Mapping[str, list[str]], name: str) -> int:
    text = form.get(name, [""])[0]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


# --- exports ------------------------------------------------------------------------------------------------

Export = tuple[str, Callable[[], str]]


def exports(visit: Visit) -> dict[str, Export]:
    """What can be taken out of this job, by file name."""
    job, groups = visit.desk.job, visit.desk.groups
    found = outcome.outcome_of(job, visit.desk.database)
    made: dict[str, Export] = {}
    if chain.is_of_texts(found):
        about = f"paraphrases that {outcome.rules_in_words(found)} keeps, for --writer bank/bank.jsonl"
        made["bank.jsonl"] = (about, lambda: chain.validated_bank(found))
        made["audit.jsonl"] = ("who wrote what, and what others said of it", lambda: chain.validated_audit(found))
    elif job.kind in ("rate", "validate", "review"):
        made |= _of_variants(found, groups)
    if job.kind == "answer" and job.rule:
        about = f"groups with the variants whose answer {outcome.rules_in_words(found)} of the people give"
        made["groups.jsonl"] = (about, lambda: outcome.certified_groups(found, groups))
    if job.kind == "write":
        made["bank.jsonl"] = (
            "paraphrases, not validated, for --writer bank/bank.jsonl",
            lambda: outcome.bank(found),
        )
        made["audit.jsonl"] = ("who wrote what, and when", lambda: outcome.audit(found))
    if job.kind == "pairs":
        about = "labels, for unwaver agreement validate --pairs pairs.jsonl"
        made["pairs.jsonl"] = (about, lambda: outcome.pair_labels(found))
    made["replies.csv"] = ("every reply, for a spreadsheet", lambda: outcome.all_replies(found))
    return made


def _of_variants(found: outcome.Outcome, groups: list[Group]) -> dict[str, Export]:
    made: dict[str, Export] = {
        "groups.jsonl": (
            f"groups with the variants that {outcome.rules_in_words(found)} keeps",
            lambda: outcome.certified_groups(found, groups),
        )
    }
    for rater in found.people:
        name = found.names[rater]
        about = f"what {name} says, for --review"
        made[f"review-{name}.tsv"] = (about, lambda r=rater: outcome.review_sheet(found, r))  # type: ignore[misc]
    return made


def export(visit: Visit) -> Response:
    name = visit.request.path_params["name"]
    found = exports(visit).get(name)
    if found is None:
        return page("message.html", 404, title="No such export", text="", link="/owner", link_text="Back")
    kinds = {"jsonl": _JSONL, "csv": _CSV, "tsv": _TSV}
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(found[1](), media_type=kinds.get(name.rpartition(".")[2], _TEXT), headers=headers)
