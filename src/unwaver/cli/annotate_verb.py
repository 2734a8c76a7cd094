"""unwaver annotate."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import click

from unwaver.cli.options import PATH
from unwaver.cli.sections import option, section, verb
from unwaver.errors import DataError, UsageError, missing_extra

_KINDS = ("rate", "write", "validate", "answer", "pairs", "review")
_NAME = re.compile(r"[\w .@-]{1,60}")
_HOST = re.compile(r"[A-Za-z0-9.-]+(:\d{1,5})?")


@verb(
    "annotate",
    examples=(
        "unwaver annotate --new rate > job.toml",
        "unwaver annotate job.toml --raters 3",
        "unwaver annotate job.toml --new-link rater2",
    ),
)
@click.argument("job", type=PATH, required=False)
@section(
    "Job",
    option(
        "--new",
        type=click.Choice(_KINDS),
        metavar="KIND",
        help=f"Print a job to start from: {', '.join(_KINDS)}.",
    ),
)
@section(
    "People",
    option("--raters", type=int, metavar="N", help="Make links for rater1 to raterN."),
    option("--rater", "names", multiple=True, metavar="NAME", help="Make a link for somebody. Repeatable."),
    option("--new-link", metavar="NAME", help="Make a new link for somebody, in place of the old one, and stop."),
)
@section(
    "Server",
    option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen."),
    option(
        "--port",
        type=click.IntRange(0, 65535),
        metavar="N",
        help="Port. [default: that of the last time, or the first free one from 8765]",
    ),
    option("--proxy", metavar="HOST", help="Name under which a reverse proxy serves this with https."),
)
def command(
    job: Path | None,
    new: str | None,
    raters: int | None,
    names: tuple[str, ...],
    new_link: str | None,
    host: str,
    port: int | None,
    proxy: str | None,
) -> None:
    """Let people rate, write and answer in a browser, from this machine.

    JOB is a TOML file. Everybody gets a link of their own; the owner's shows progress, agreement and exports.
    Replies are kept in JOB.sqlite. Ctrl-C stops the server; start it again to go on.
    """
    if new is not None:
        from unwaver.people.templates import template

        click.echo(template(new), nl=False)
        return
    if job is None:
        hint = "unwaver annotate --new rate > job.toml, then: unwaver annotate job.toml --raters 3"
        raise UsageError("JOB is missing", hint=hint)
    _check_extra()
    people = [*(f"rater{n}" for n in range(1, _count(raters) + 1)), *names]
    for name in people:
        _check_name(name)
    if proxy is not None and not _HOST.fullmatch(proxy):
        raise UsageError(
            f"--proxy {proxy}: a host name is expected, without https://", hint="--proxy rate.example.org"
        )
    if new_link is not None:
        _print_new_link(job, new_link)
        return
    _serve(job, people, host, port, proxy)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or name != name.strip():
        what = f"--rater {name!r}: a name has up to 60 letters, digits, spaces, . @ _ or -"
        raise UsageError(what, hint="--rater ann")
    if name.casefold() == "owner":
        hint = "--rater ann; the owner's link is printed at the first start, --new-link owner makes a new one"
        raise UsageError(f"--rater {name}: this is the name of the person who runs the job", hint=hint)


def _count(raters: int | None) -> int:
    if raters is not None and not 1 <= raters <= 1000:
        raise UsageError(f"--raters is {raters}, expected 1 to 1000", hint="--raters 3")
    return raters or 0


def _check_extra() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("starlette", "uvicorn", "jinja2", "itsdangerous") if find_spec(name) is None]
    if missing:
        raise missing_extra(missing[0], "web")


def _print_new_link(path: Path, name: str) -> None:
    from unwaver.people.job import read_job
    from unwaver.web.opened import new_link

    job = read_job(path)
    if not job.database.exists():
        raise DataError("this job has not been started", file=path, hint=f"unwaver annotate {path} --raters 3")
    token, address = new_link(job, name)
    click.echo(f"{name}: {address or ''}/in/{token}")


def _serve(path: Path, people: list[str], host: str, port: int | None, proxy: str | None) -> None:
    from unwaver.cli.printing import console
    from unwaver.web.app import job_app
    from unwaver.web.desk import Desk
    from unwaver.web.opened import invite, invited, keep_address, last_port, open_job
    from unwaver.web.serving import bound, hosts_for, is_loopback, serve

    job, groups, count = open_job(path, console(False))
    listening = bound(host, port, last_port(job))
    tokens = invite(job, people)
    app = job_app(Desk(job, groups, secure=proxy is not None), hosts_for(host, proxy))

    def ready(address: str) -> None:
        address = f"https://{proxy}" if proxy else address
        keep_address(job, address)
        click.echo(f"{count:,} cards of {path}, for {job.raters} people each: {address}")
        for name, token in tokens.items():
            click.echo(f"  {name}: {address}/in/{token}")
        for name in dict.fromkeys(people):
            if name not in tokens:
                click.echo(f"  {name} has a link already")
        _tell_about_links(path, bool(tokens), len(invited(job)))
        if not is_loopback(host):
            click.echo(
                f"unwaver listens on {host}: everybody in your network who has a link can open it, and without "
                "https others can read along. Use a reverse proxy with https (--proxy HOST).",
                err=True,
            )
        click.echo("Ctrl-C stops the server. Everything that was saved is kept.")

    with suppress(KeyboardInterrupt):  # uvicorn has closed everything by then
        serve(app, listening, ready, proxied=proxy is not None)
    click.echo(f"Stopped. unwaver annotate {path} goes on.")


def _tell_about_links(path: Path, made: bool, raters: int) -> None:
    if made:
        click.echo(f"Links are shown once; unwaver annotate {path} --new-link NAME makes a new one.")
    if not raters:
        click.echo(f"Nobody can rate yet: unwaver annotate {path} --raters 3 makes links.")
    elif not made:
        people = "1 person has" if raters == 1 else f"{raters} people have"
        click.echo(f"{people} a link; unwaver annotate {path} --new-link NAME makes a new one.")
