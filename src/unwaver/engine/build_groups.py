"""`unwaver build`: makes groups from a user's items and writes them to a file. It may ask certifiers and a writer,
but no model under test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unwaver.answers.shared_store import open_store
from unwaver.answers.store import Store
from unwaver.asking.ask import Asker
from unwaver.asking.failures import in_words
from unwaver.asking.rounds import reads
from unwaver.asking.services import STOPPED
from unwaver.asking.sharing import sharing
from unwaver.config import Config
from unwaver.console import Console
from unwaver.engine import folder
from unwaver.engine.asked import Asked, ask, failures
from unwaver.engine.certification import certification
from unwaver.engine.consent import agree_to_cost
from unwaver.engine.forecast import check_costs
from unwaver.engine.prepare import Prepared, prepare_asking, settle
from unwaver.engine.reached import reach
from unwaver.errors import Stopped, UsageError
from unwaver.groups import WRITER, has_candidates
from unwaver.groups.certify import Read, standings
from unwaver.tasks import Task
from unwaver.types import Group, replace
from unwaver.variants.certifiers import SELF, certifiers_for


@dataclass(frozen=True, repr=False)
class Built:
    """`kept` are the ids of the variants that count, by group; `tasks` are those that are not built in; `path` is
    the file with the groups, which unwaver.run takes."""

    groups: Sequence[Group]
    notes: Mapping[str, list[str]]
    certification: list[dict[str, Any]]
    kept: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tasks: Mapping[str, Task] = field(default_factory=dict)
    path: Path | None = None

    @property
    def kinds(self) -> dict[str, int]:
        """How many groups there are of each kind."""
        return dict(Counter(group.kind for group in self.groups))

    def lines(self, notes: bool = True) -> list[str]:
        """What `unwaver build` prints."""
        from unwaver.asking.audit import as_text

        said = dict.fromkeys(line for told in self.notes.values() for line in told) if notes else {}
        return [
            *(f"{kind:<22}{count:>8,} groups" for kind, count in self.kinds.items()),
            *said,
            *map(as_text, self.certification),
            f"written: {self.path}",
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


def build(config: Config, out: Path, console: Console | None = None) -> Built:
    """Make the groups, have their variants judged, and write both: groups at `out`, an audit beside it."""
    config = settle(config, (), console)
    prepared = prepare_asking(config, console, ())
    with closing(prepared), ExitStack() as opened:
        _check_certifiers(prepared)
        asks = bool(prepared.panel.certifiers or prepared.writer)
        place = config.store or out.with_suffix(".sqlite")
        store = opened.enter_context(closing(open_store(place) if asks else Store(Path(":memory:"))))
        asked = _ask(prepared, store) if asks else Asked(prepared.groups)
        certified = any(has_candidates(group) for group in asked.groups)
        records, summaries = certification(prepared, asked, store) if certified else ([], [])
        read = reads(prepared.panel, None, store, prepared.words(asked.groups))[0]
        groups = [_with_verdicts(group, read) for group in asked.groups]
        kept = {group.id: _kept(group, read) for group in asked.groups if has_candidates(group)}
    if certified:
        folder.write_audit(out.parent, records)
    folder.write_whole(out, folder.groups_text(groups, prepared.renderer.own_tasks))
    return Built(groups, prepared.chosen.selection.notes, summaries, kept, prepared.renderer.own_tasks, out)


def _kept(group: Group, read: Read) -> list[str]:
    return [name for name, standing in standings(group, read).items() if standing == "kept"]


def _with_verdicts(group: Group, read: Read) -> Group:
    """The group with the verdicts of a writer on its own variants in place of its questions: nobody who runs the
    file has to have that model. They stay marked as self-certified."""
    if all(item.judge != WRITER for item in group.items):
        return group
    found = standings(group, read)
    judged = {item.about for item in group.items if item.judge == WRITER}
    items = []
    for item in group.items:
        if item.judge == WRITER:
            continue
        if item.id in judged and item.certified is None and found.get(item.id) != "spare":
            item = replace(item, certified=found.get(item.id) == "kept", certified_by=WRITER)
        items.append(item)
    return replace(group, items=tuple(items))


def _check_certifiers(prepared: Prepared) -> None:
    groups, judges = prepared.groups, prepared.config.judges
    asked = {item.judge for group in groups for item in group.items}
    asked |= {
        judge.model for group in groups for judge in certifiers_for(group.kind, judges, prepared.config.writer)
    }
    if SELF in asked:
        raise UsageError(
            "entail=self needs a model under test, which unwaver build does not have",
            hint="use --judge entail=hf/PATH, or make the variants in unwaver run",
        )


def _ask(prepared: Prepared, store: Store) -> Asked:
    if prepared.config.max_cost is not None:
        check_costs(prepared)
    if "auto" in prepared.config.variants:
        agree_to_cost(prepared)
    if prepared.writer and not store.rows("SELECT 1 FROM answers LIMIT 1"):
        reach(prepared)
    say, waiting = prepared.console.say, prepared.console.waiting
    with sharing(Asker(store, prepared.budget, say=say, waiting=waiting)) as asker:
        asked = ask(prepared, asker)
    if asked.full:
        raise asked.full
    for line in in_words(failures(prepared, store)):
        prepared.console.say(line)
    if asker.spent.stopped:
        again = "with a higher limit" if asker.spent.stopped.startswith(STOPPED) else "again"
        hint = f"answers so far are saved: run the same command {again} to continue"
        raise Stopped(f"unwaver stopped before all candidates were certified: {asker.spent.stopped}", hint=hint)
    return asked


def check_output(config: Config, out: Path, inputs: Iterable[Path], force: bool) -> None:
    """An error unless the groups, their audit and the store of answers may be written there."""
    from unwaver import outputs
    from unwaver.paths import is_stream

    given = list(inputs)
    outputs.check_output(out, "groups", inputs=given, force=force)
    asks = config.writer or config.judges or "paraphrase" in config.variants
    if not asks:
        return
    if is_stream(out):
        raise UsageError(
            "--out must be a file: unwaver writes the audit and the answer store next to it",
            hint="--out groups.jsonl",
        )
    if Path(config.store or out.with_suffix(".sqlite")).resolve() == out.resolve():
        raise UsageError("--out is also the path of the answer store", file=out, hint="use --out groups.jsonl")
    outputs.check_output(out.parent / "audit.jsonl", "audit", inputs=given, force=force, option="audit.jsonl")
