"""The pages for people who rate, write and answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from statistics import median
from typing import Any

from starlette.responses import RedirectResponse, Response

from unwaver.people.cards import texts_of_known
from unwaver.people.forms import Invalid, is_right, read_form
from unwaver.people.job import Job
from unwaver.people.queue import Gone, drawn, left, next_card, others_are_busy, save
from unwaver.people.store import Card
from unwaver.web.desk import Visit
from unwaver.web.pages import page

LONGEST_PAUSE = 3600.0  # seconds; a page that was open longer says nothing of how long a card takes
SHOWN = 100  # characters of a text in a list


def home(visit: Visit) -> Response:
    """The next card; before the first one the instructions, after the last one thanks."""
    if visit.rater.aside:
        return _nothing_left()
    if not visit.rater.practised:
        return _first(visit)
    card = next_card(visit.desk.database, visit.desk.job, visit.rater.id, visit.desk.clock())
    if card is None:
        text = "Every card that is yours is done. You can still look at your replies and change them."
        if others_are_busy(visit.desk.database, visit.rater.id):
            text += " Others still work on some cards. If they leave one, you can get it: look here again later."
        return page("done.html", job=visit.desk.job, here="card", text=text, **_progress(visit))
    return _card_page(visit, card)


def _nothing_left(status: int = 200, title: str = "Thank you") -> Response:
    text = "There is nothing left for you here. Everything that you have saved is kept."
    return page("message.html", status, title=title, text=text, link=None)


def _first(visit: Visit) -> Response:
    practice = visit.desk.job.practice
    if practice:
        return instructions(visit, start="/practice/1", start_text="Practise")
    visit.desk.database.has_practised(visit.rater.id)
    return instructions(visit, start="/", start_text="Begin")


def instructions(visit: Visit, start: str = "", start_text: str = "") -> Response:
    job = visit.desk.job
    paragraphs = [part.strip() for part in job.instructions.split("\n\n") if part.strip()]
    return page("help.html", job=job, here="help", paragraphs=paragraphs, start=start, start_text=start_text)


# --- cards --------------------------------------------------------------------------------------------------


def card(visit: Visit) -> Response:
    """A card that this person has answered, to look at it and change the reply."""
    found = visit.desk.database.card_at(visit.request.path_params["number"])
    if found is None or visit.desk.database.reply(found.id, visit.rater.id) is None:
        return _no_such_card()
    return _card_page(visit, found)


def send(visit: Visit) -> Response:
    """A reply. A page that was sent before, or whose card somebody else has by now, is refused and said so."""
    desk, given = visit.desk, _given(visit)
    if given is None:
        return _no_such_card()
    if visit.rater.aside:
        return _nothing_left(409, "Not saved")
    found, times, opened = given
    now = desk.clock()
    try:
        value = read_form(desk.job, found, visit.form)
    except Invalid as e:
        return _card_page(visit, found, problem=str(e), reply=_as_sent(desk.job, visit.form), opened=opened)
    seconds = now - opened if 0 <= now - opened <= LONGEST_PAUSE else None
    try:
        who = visit.rater.id
        save(desk.database, desk.job, who, found, value, times=times, seconds=seconds, now=now, was_given=True)
    except Gone as e:
        text = f"Nothing was saved: {e}."
        return page("message.html", 409, title="Not saved", text=text, link="/", link_text="Next card")
    return RedirectResponse("/" if times == 0 else "/mine", status_code=303)


def draft(visit: Visit) -> Response:
    """What is typed and not sent: kept for this person alone."""
    desk, given = visit.desk, _given(visit)
    if given is None:
        return _no_such_card()
    found, times, _ = given
    desk.database.keep_draft(found.id, visit.rater.id, _as_sent(desk.job, visit.form), desk.clock(), times)
    return Response(status_code=204)


def _given(visit: Visit) -> tuple[Card, int, float] | None:
    """The card of a form, how often its reply had been saved when the page was made, and when that was; None where
    this person never got the card."""
    found = visit.desk.database.card_at(visit.request.path_params["number"])
    ticket = visit.desk.sessions.read_ticket(visit.form.get("ticket", [""])[0])
    if found is None or ticket is None or ticket[:2] != [visit.rater.id, found.number]:
        return None
    return found, ticket[2], ticket[3]


def _card_page(
    visit: Visit,
    card: Card,
    *,
    problem: str = "",
    reply: Mapping[str, Any] | None = None,
    opened: float | None = None,
) -> Response:
    desk, rater = visit.desk, visit.rater
    kept = desk.database.reply(card.id, rater.id)
    times = kept.times if kept else 0
    if reply is None:
        reply = desk.database.draft(card.id, rater.id) or (kept.value if kept else {})
    opened = desk.clock() if opened is None else opened
    progress = _progress(visit, card)
    return page(
        "card.html",
        422 if problem else 200,
        here="card",
        heading=f"Card {kept.number}: your reply" if kept else f"Card {progress['done'] + 1}",
        action=f"/card/{card.number}",
        next="/mine" if kept else "/",
        draft_url=f"/draft/{card.number}",
        csrf=visit.csrf,
        ticket=desk.sessions.ticket(rater.id, card.number, times, opened),
        shown=as_shown(desk.job, card, rater.id),
        reply=reply,
        problem=problem,
        can_skip=True,
        job=desk.job,
        questions=_questions(desk.job),
        **progress,
    )


_QUESTIONS = {
    "meaning": "Does the variant keep the meaning?",
    "label": "Is the right answer still the same?",
    "grammar": "Is the variant grammatical?",
}


def _questions(job: Job) -> dict[str, str]:
    """How each criterion is asked about: {"meaning": "Does the variant keep the meaning?"}."""
    return {name: _QUESTIONS.get(name, f"Does the variant keep the {name}?") for name in job.criteria}


def as_shown(job: Job, card: Card, rater: int) -> dict[str, Any]:
    """The texts of a card as this person sees them: sides are drawn where a card has two alike, and nothing is
    there that no page shows."""
    found = {name: value for name, value in card.shown.items() if name not in ("about", "items")}
    if job.kind == "rate":
        found["one"], found["other"] = found.pop("original"), found.pop("variant")
    if job.kind in ("rate", "pairs") and drawn(job.seed, rater, f"side {card.id}")[0] & 1:
        found["one"], found["other"] = found["other"], found["one"]
    return found


def _as_sent(job: Job, form: Mapping[str, list[str]]) -> dict[str, Any]:
    """A form that is no reply yet, to fill in the page again."""
    found: dict[str, Any] = {n: form[n][0][:10_000] for n in ("value", "text", "reason", "flag") if form.get(n)}
    if job.kind == "validate":
        names = enumerate(job.criteria)
        found["criteria"] = {name: form.get(f"criterion-{n}", [""])[0] for n, name in names}
    if job.kind == "write":
        texts = [text[:10_000] for text in form.get("texts", ())][: job.most]
        while texts and not texts[-1].strip():  # boxes that were not opened
            texts.pop()
        found["texts"] = texts
    return found


def _progress(visit: Visit, card: Card | None = None) -> dict[str, Any]:
    """How far this person is, and the address of the card before this one."""
    database, job = visit.desk.database, visit.desk.job
    replies = database.replies(visit.rater.id)
    rest = left(database, job, visit.rater.id)
    known = [reply.seconds for reply in replies if reply.seconds is not None]
    typical = median(known) if known else None
    before = replies
    if card is not None and any(reply.card == card.id for reply in replies):
        before = replies[: [reply.card for reply in replies].index(card.id)]
    last = database.card(before[-1].card) if before else None
    return {
        "done": len(replies),
        "left": rest,
        "seconds": typical,
        "minutes": round(rest * typical / 60) if typical else 0,
        "back": f"/card/{last.number}" if last else "",
    }


def _no_such_card() -> Response:
    text = "This card is not yours."
    return page("message.html", 404, title="No such card", text=text, link="/", link_text="Next card")


# --- what was said ------------------------------------------------------------------------------------------


def mine(visit: Visit) -> Response:
    """All replies of this person, the last one first."""
    database = visit.desk.database
    rows, cards = [], {card.id: card for card in database.cards()}
    common = common_lines(cards.values())
    for reply in reversed(database.replies(visit.rater.id)):
        found = cards.get(reply.card)
        if found is not None:
            text, said = _summary(as_shown(visit.desk.job, found, visit.rater.id), common), in_words(reply.value)
            rows.append({"number": reply.number, "text": text, "said": said, "url": f"/card/{found.number}"})
    return page("mine.html", job=visit.desk.job, here="mine", rows=rows, **_progress(visit))


def _summary(shown: Mapping[str, Any], common: Set[str]) -> str:
    names = ("question", "variant", "prompt", "text", "one")
    return short(next((str(shown[name]) for name in names if shown.get(name)), ""), common)


def common_lines(cards: Iterable[Card]) -> frozenset[str]:
    """The lines that the prompts of all cards have, such as instructions and examples."""
    prompts = [
        str(card.shown["prompt"]).split("\n") for card in cards if card.known is None and "prompt" in card.shown
    ]
    return frozenset.intersection(*map(frozenset, prompts)) if len(prompts) > 1 else frozenset()


def short(text: str, common: Set[str] = frozenset()) -> str:
    """In one line, without its middle where it is long: two wordings may differ at the end alone."""
    own = " ".join(" ".join(line for line in text.split("\n") if line not in common).split())
    text = own or " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2].rstrip()} … {text[-SHOWN // 2 :].lstrip()}"


def in_words(value: Mapping[str, Any]) -> str:
    """{"value": "4"} -> "4"; {"criteria": {"label": "no"}} -> "label: no"; {"texts": [a, b]} -> "2 texts"."""
    if "skip" in value:
        return "skipped"
    if "criteria" in value:
        return ", ".join(f"{name}: {said}" for name, said in value["criteria"].items())
    if "texts" in value:
        return f"{len(value['texts'])} texts"
    return str(value.get("value", value.get("text", "")))


# --- practice -----------------------------------------------------------------------------------------------


def practice(visit: Visit) -> Response:
    """A card with a known answer, before the first real one; its reply is not kept."""
    job, number = visit.desk.job, visit.request.path_params["number"]
    if not 1 <= number <= len(job.practice):
        return _no_such_card()
    known = job.practice[number - 1]
    made = Card(f"practice/{number}", "", texts_of_known(job, known), known=known.answer)
    if visit.request.method == "GET":
        return _practice_page(visit, made, number)
    try:
        value = read_form(job, made, visit.form)
    except Invalid as e:
        return _practice_page(visit, made, number, problem=str(e), reply=_as_sent(job, visit.form))
    if number == len(job.practice):
        visit.desk.database.has_practised(visit.rater.id)
    return page(
        "practised.html",
        job=job,
        here="help",
        right=bool(is_right(made, value)),
        answer=known.answer,
        said=in_words(value) if "texts" not in value else "",
        because=known.because,
        next="/" if number == len(job.practice) else f"/practice/{number + 1}",
    )


def _practice_page(
    visit: Visit, card: Card, number: int, problem: str = "", reply: Mapping[str, Any] | None = None
) -> Response:
    job = visit.desk.job
    return page(
        "card.html",
        422 if problem else 200,
        here="help",
        heading=f"Practice {number} of {len(job.practice)}: this does not count",
        action=f"/practice/{number}",
        next="",
        back="",
        draft_url="",
        csrf=visit.csrf,
        ticket="",
        shown=as_shown(job, card, visit.rater.id),
        reply=reply or {},
        problem=problem,
        can_skip=False,
        job=job,
        questions=_questions(job),
    )
