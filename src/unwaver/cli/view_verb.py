"""unwaver view."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from unwaver.cli.options import PATH
from unwaver.cli.sections import option, section, verb
from unwaver.errors import UsageError, missing_extra

RUNS = Path("runs")


@verb("view", examples=("unwaver view", "unwaver view runs other/runs", "unwaver view --port 8800 --open"))
@click.argument("folders", nargs=-1, type=PATH, metavar="[FOLDER]…")
@section(
    "Server",
    option("--port", type=int, metavar="N", help="Port. [default: the first free one from 8765]"),
    option("--open", "opens", is_flag=True, help="Open the page in a browser."),
)
def command(folders: tuple[Path, ...], port: int | None, opens: bool) -> None:
    """Look at all runs in a browser: a list, reports, comparisons, a leaderboard.

    FOLDER is a folder above run folders, or a run folder; runs/ if none is given. Only this machine can open the
    page, with the link that is printed. Nothing is written and nothing is sent. Ctrl-C stops the server.
    """
    _check_extra()
    if port is not None and not 0 <= port <= 65535:
        raise UsageError(f"--port is {port}, expected 0 to 65535", hint="leave --port out for a free one")
    _serve(list(dict.fromkeys(folders or (RUNS,))), port, opens)


def _check_extra() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("starlette", "uvicorn", "jinja2", "itsdangerous") if find_spec(name) is None]
    if missing:
        raise missing_extra(missing[0], "web")


def _serve(folders: list[Path], port: int | None, opens: bool) -> None:
    from unwaver.text.shown import safe
    from unwaver.web.serving import bound, serve
    from unwaver.web.view import Viewer, view_app
    from unwaver.web.view_runs import checked_root

    for folder in folders:
        checked_root(folder)  # before a port is taken
    listening = bound("127.0.0.1", port)
    viewer = Viewer(folders, listening.getsockname()[1])

    def ready(address: str) -> None:
        link = f"{address}/in/{viewer.token}"
        count = len(viewer.runs.find().runs)
        named = ", ".join(safe(str(folder)) for folder in folders)
        click.echo(f"{count:,} {'run' if count == 1 else 'runs'} in {named}: {link}")
        click.echo("Only this machine can open it. Ctrl-C stops the server.")
        viewer.runs.read_in_background()
        if opens:
            _open(link)

    with suppress(KeyboardInterrupt):  # uvicorn has closed everything by then
        serve(view_app(viewer), listening, ready)
    click.echo("Stopped.")


def _open(link: str) -> None:
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
