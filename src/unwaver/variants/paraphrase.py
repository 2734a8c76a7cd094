"""Paraphrases: a group for each item, with every candidate that the writer gives and what certifiers ask.

The writer is `rules` (no model), `bank/FILE`, or any model. What a model writes is not known yet: its groups
hold the original alone until it is asked (see unwaver.asking.paraphraser).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from unwaver.errors import UsageError
from unwaver.tasks import Task
from unwaver.text.refused import Refused
from unwaver.types import Group, replace
from unwaver.variants import measured
from unwaver.variants.bank import open_bank
from unwaver.variants.certifiers import BANK as BANK
from unwaver.variants.certifiers import RULES, Certifier, certifiers_for, with_candidates
from unwaver.variants.certifiers import is_model as is_model
from unwaver.variants.source import Build, Rewrite, Source, group_of, label_refused

K = 5  # variants that a model writes of an item, unless said otherwise


def paraphrase(
    *,
    kind: str = "semantic",
    writer: str | None = None,
    judges: Sequence[str] = (),
    k: int | None = None,
    encoder: str | None = None,
    lang: str = "en",
) -> Build:
    """`k` is how many certified variants of an item count; `encoder` measures the distance of each."""
    if writer is None:
        raise UsageError(
            "paraphrases need a writer", hint="--writer rules, --writer bank/FILE, or a model: --writer hf/PATH"
        )
    parsed = certifiers_for(kind, judges, writer)
    if writer == RULES:
        from unwaver.variants.rules import rules

        rewrite = rules(lang=lang)

        def by_rules(source: Source) -> Iterator[Group | Refused]:
            texts = [item.fields[source.task.modified] for item in source.items]
            yield from _groups(source, kind, rewrite(texts), parsed, k, encoder, measured.RULES)

        return by_rules

    def by_bank(source: Source) -> Iterator[Group | Refused]:
        bank = open_bank(writer.removeprefix(BANK), source.task)
        found = [[Rewrite(text) for text in bank.of(item)] for item in source.items]
        made = [texts or Refused("the bank has no variant of it") for texts in found]
        yield from _groups(source, kind, made, parsed, k, encoder, None)

    def by_model(source: Source) -> Iterator[Group | Refused]:
        yield from _groups(source, kind, [[] for _ in source.items], parsed, k or K, encoder, None)

    return by_model if is_model(writer) else by_bank


def _groups(
    source: Source,
    kind: str,
    made: Iterable[list[Rewrite] | Refused],
    certifiers: Sequence[Certifier],
    k: int | None,
    encoder: str | None,
    epsilon: float | None,
) -> Iterator[Group | Refused]:
    source.task.check_relation(kind)
    for item, texts in zip(source.items, made, strict=True):
        if reason := label_refused(source.task, kind, item):
            yield Refused(reason, item.id)
            continue
        if isinstance(texts, Refused):
            yield texts._replace(item=item.id)
            if kind != "fooling":
                continue
            texts = []
        tags = {rewrite.tag for rewrite in texts}
        group = group_of(source, kind, item.id, [(item.fields, item.accepted)], tag=" ".join(sorted(tags - {""})))
        group = replace(group, keep=k, epsilon=epsilon)
        group = with_candidates(group, texts, source.changed(group.items[0]), certifiers, encoder)
        if certifiers and k is None and kind != "fooling":
            # all count, but they are candidates: where none was rejected, nothing else would tell
            group = replace(group, keep=max(K, sum(item.role == "variant" for item in group.items)))
        if texts and len(group.items) == 1 and kind != "fooling":
            yield Refused("every variant equals the original", item.id)
        else:
            yield group


def shown_writer(writer: str, task: Task) -> str:
    """How a note names the writer; a bank with the hash of what it holds, since the file may change."""
    if not writer.startswith(BANK):
        return writer
    return f"{writer} ({open_bank(writer.removeprefix(BANK), task).hash})"
