"""The pages of the view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from unwaver.asking.prices import money
from unwaver.errors import UnwaverError
from unwaver.reports.kinds import WORDS
from unwaver.reports.markup import Html, tag
from unwaver.reports.page import policy
from unwaver.text.shown import interval, percent, safe
from unwaver.verdicts.paired_runs import Comparison
from unwaver.web import view_content, view_list, view_ranking
from unwaver.web.pages import page
from unwaver.web.view_runs import STATES, Run

if TYPE_CHECKING:
    from unwaver.web.view import Viewer

MOST_COMPARED, MOST_BESIDE, MOST_CHOICES = 8, 3, 200
MOST_ENTRIES = 10  # of a leaderboard, among others
FORMS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}
HELPERS = {"percent": percent, "interval": interval, "money": money, "words": WORDS}


def _page(name: str, status: int = 200, **values: object) -> HTMLResponse:
    return page(name, status, **HELPERS, **values)


def missing() -> Response:
    return _page("view_message.html", 404, title="There is no such page", text="", here="", links=())


def refused(
    text: str,
    hint: str,
    status: int,
    links: Sequence[tuple[str, str]] = (),
    title: str = "This cannot be shown",
) -> Response:
    return _page("view_message.html", status, title=title, text=text, hint=hint, here="", links=links)


def _no_run() -> Response:
    text = "It may have been moved, renamed or deleted since this address was made."
    return _page("view_message.html", 404, title="There is no such run", text=text, here="", links=())


# --- the list -----------------------------------------------------------------------------------------------


def runs(viewer: Viewer, request: Request) -> Response:
    found = viewer.runs.find()
    query = view_list.Query.from_params(request.query_params)
    every = list(found.runs.values())
    shown = view_list.page_of(viewer.runs, every, query)
    live = {
        run.id: viewer.speed.progress(run)
        for run in {r.run.id: r.run for r in shown.rows}.values()
        if _is_live(run)
    }
    return _page(
        "view_runs.html",
        here="runs",
        found=found,
        query=query,
        page=shown,
        live=live,
        states=STATES,
        verdicts=view_list.VERDICTS,
        models=_choices(model for run in every for model in run.models),
        suites=_choices(suite for run in every for suite in run.suites),
        folders=", ".join(map(str, viewer.folders)),
    )


def _choices(names: Iterable[str]) -> list[str]:
    """Names to choose from; one that cannot be shown as it is cannot be chosen either."""
    return [name for name in sorted(set(names)) if safe(name) == name and name.isprintable()][:MOST_CHOICES]


def _is_live(run: Run) -> bool:
    return run.state == "under way"


def progress(viewer: Viewer, request: Request) -> Response:
    """How far the runs have come that a page shows: ?run=ID&run=ID."""
    found = viewer.runs.find().runs
    wanted = request.query_params.getlist("run")[: view_list.PER_PAGE]
    return JSONResponse({id: viewer.speed.progress(found[id]).as_json() for id in wanted if id in found})


# --- one run ------------------------------------------------------------------------------------------------


def run(viewer: Viewer, request: Request) -> Response:
    found = viewer.runs.find().runs
    one = found.get(request.path_params["id"])
    if one is None:
        return _no_run()
    if _is_live(one):
        return _page("view_progress.html", here="", run=one, progress=viewer.speed.progress(one))
    if one.state == "unreadable":
        return refused(f"{one.name}: {one.reason}", f"unwaver score {one.path} may say more.", 422)
    beside = _beside(one, found.values())
    key = ("report", one.id, one.fingerprint, *(other.id for other in beside))
    try:
        text = viewer.kept.get(key, lambda: view_content.report(one, _above(one, beside)))
    except UnwaverError as e:
        links = [
            (f"/run/{one.id}/broken.csv", "Broken groups as csv"),
            (f"/run/{one.id}/broken.jsonl", "as jsonl"),
        ]
        return refused(f"{one.name}: {e.message}", e.hint or "", 422, links)
    headers = {"content-security-policy": f"{policy()}; frame-ancestors 'none'"}
    return HTMLResponse(text, headers=headers)


def _beside(one: Run, every: Iterable[Run]) -> list[Run]:
    """The latest other runs on the same groups."""
    same = [
        run for run in every if run.groups and run.groups == one.groups and run.has_scores and run.id != one.id
    ]
    return sorted(same, key=lambda run: run.date, reverse=True)[:MOST_BESIDE]


def _above(one: Run, beside: Sequence[Run]) -> Html:
    """What the view adds to a report: the ways to other pages."""
    links = [("/", "All runs"), ("/leaderboard", "Leaderboard")]
    links += [(f"/run/{one.id}/broken.{form}", f"Broken groups: {form}") for form in FORMS]
    links += [
        (compare_address(sorted((one, o), key=lambda r: r.date)), f"Compare with {safe(o.name)}") for o in beside
    ]
    state = [tag("p", f"This run is {one.state}: {one.reason}.", class_="note")] if one.state != "finished" else []
    return tag(
        "div",
        tag("nav", [tag("a", words, href=to) for to, words in links], aria_label="View"),
        state,
        class_="above",
    )


def broken(viewer: Viewer, request: Request) -> Response:
    one, form = viewer.runs.find().runs.get(request.path_params["id"]), request.path_params["form"]
    if one is None or form not in FORMS:
        return _no_run() if one is None else missing()
    if _is_live(one) or one.state == "unreadable":
        return refused(f"{one.name} is {one.state}: {one.reason}", "", 422)
    text = viewer.kept.get(("broken", one.id, one.fingerprint, form), lambda: view_content.broken(one, form))
    return _file(text, f"broken-{one.id}", form)


def _file(text: str, name: str, form: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}.{form}"'}
    return Response(text.encode("utf-8", "replace"), media_type=FORMS[form], headers=headers)


# --- several runs -------------------------------------------------------------------------------------------


def compare_address(chosen: Sequence[Run], **more: object) -> str:
    return f"/compare?{urlencode([('run', run.id) for run in chosen] + list(more.items()))}"


def compared(viewer: Viewer, request: Request) -> Response:
    chosen, trouble = _chosen(viewer, request)
    if trouble is not None:
        return trouble
    if request.query_params.get("pick"):  # from the list, the newest first: what is older is compared with
        return RedirectResponse(
            compare_address(sorted(chosen, key=lambda run: (run.date, run.name))), status_code=303
        )
    allowed = {name: 1 for name in ("common", "allow") if request.query_params.get(name)}
    try:
        found, shown = _comparisons(viewer, chosen, request)
    except UnwaverError as e:
        return _not_comparable(e, chosen, allowed)
    query = urlencode([("run", run.id) for run in chosen] + list(allowed.items()))
    first = [(run, compare_address([run, *(o for o in chosen if o is not run)], **allowed)) for run in chosen]
    about = view_content.about(found)
    return _page(
        "view_compare.html", here="", runs=first, found=shown, query=query, about=about, words_right=RIGHT
    )


RIGHT = {True: "✓ right", False: "✗ wrong", None: ""}


def _chosen(viewer: Viewer, request: Request) -> tuple[list[Run], Response | None]:
    """The runs of an address, or the page that says what is wrong with them."""
    found = viewer.runs.find().runs
    ids = list(dict.fromkeys(request.query_params.getlist("run")))
    if not ids:
        return [], refused("No run was chosen.", "Mark two or more runs in the list, then press Compare.", 422)
    if len(ids) > MOST_COMPARED:
        return [], refused(f"{len(ids)} runs were chosen.", f"Choose up to {MOST_COMPARED} of them.", 422)
    if any(id not in found for id in ids):
        return [], _no_run()
    chosen = [found[id] for id in ids]
    for run in chosen:
        if _is_live(run) or run.state == "unreadable":
            return [], refused(f"{run.name} is {run.state}: {run.reason}", "Choose another run.", 422)
    return chosen, None


def _comparisons(
    viewer: Viewer, chosen: Sequence[Run], request: Request
) -> tuple[list[Comparison], list[view_content.Compared]]:
    common, allow = (bool(request.query_params.get(name)) for name in ("common", "allow"))

    def make() -> tuple[list[Comparison], list[view_content.Compared]]:
        found = view_content.comparisons(chosen, common=common, allow_different=allow)
        return found, view_content.shown(found)

    return viewer.kept.get(("compare", common, allow, *((run.id, run.fingerprint) for run in chosen)), make)


def _not_comparable(e: UnwaverError, chosen: Sequence[Run], allowed: dict[str, int]) -> Response:
    """In words, with the ways that are open."""
    hint, links = e.hint or "", []
    if "--common" in hint:
        links.append((compare_address(chosen, **allowed, common=1), "Compare the groups that all have"))
    if "--allow-different" in hint:
        links.append(
            (compare_address(chosen, **allowed, allow=1), "Compare them anyway, and list the differences")
        )
    if "unwaver compare" in hint:
        hint = "Mark two or more runs in the list, then press Compare."
    return refused(e.message, "" if links else hint, 422, links, "These runs cannot be compared")


def newly_broken(viewer: Viewer, request: Request) -> Response:
    form = request.path_params["form"]
    if form not in FORMS:
        return missing()
    chosen, trouble = _chosen(viewer, request)
    if trouble is not None:
        return trouble
    found, _ = _comparisons(viewer, chosen, request)
    return _file(view_content.newly_broken(found, form), "newly-broken", form)


# --- the leaderboard ----------------------------------------------------------------------------------------


def leaderboard(viewer: Viewer, request: Request) -> Response:
    found = [run for run in viewer.runs.find().runs.values() if run.has_scores and run.groups]
    key = request.query_params.get("groups", "")
    if key:
        found = [run for run in found if run.groups == key]
    viewer.runs.read(found, view_list.PATIENCE)
    pending = sum(not viewer.runs.is_read(run) for run in found)
    boards = view_ranking.boards(viewer.runs, found)
    if key and not boards and not pending:
        return _no_run()
    several = [board for board in boards if len(board.entries) > 1 or key]
    return _page(
        "view_leaderboard.html",
        here="leaderboard",
        boards=several,
        single=len(boards) - len(several),
        pending=pending,
        relations=[one for board in boards for one in view_ranking.by_relation(board)] if key else [],
        most=max((len(board.entries) for board in boards), default=0) if key else MOST_ENTRIES,
        key=key,
    )
