"""By which notion of agreement groups of free text are broken, and who compared them, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from unwaver.metrics import missing
from unwaver.metrics.agreed import WORDING, is_field, notions_of
from unwaver.metrics.meanings.pairwise import means_of
from unwaver.result import Result
from unwaver.text.shown import percent
from unwaver.types import Score


def lines(result: Result) -> list[str]:
    """One line for each notion, in general one."""
    return list(dict.fromkeys(line for block in result.blocks() for line in _of_block(block)))


def _of_block(block: Sequence[Score]) -> Iterator[str]:
    means = means_of(block)
    if not means or block[0].kind.partition("_")[0] in ("transitive", "additive"):  # right or wrong decides there
        return
    shares = (s.metric for s in block if s.metric.startswith(f"{means[0].metric}@"))
    threshold = float(next(shares).rpartition("@")[2])
    yield _line([s.metric.removeprefix("Cons_") for s in means], threshold, low=means[0].better == "low")


def lines_of_frames(frames: Sequence[pl.DataFrame]) -> list[str]:
    """The same for tables of answers."""
    found = []
    for frame in (frame.filter(pl.col("expect") != "implied") for frame in frames):
        columns = [n for n in frame.columns if frame[n].null_count() < frame.height]  # of labels it is empty
        if notions := notions_of(columns):
            leading = next(iter(notions.values()))
            found.append(_line(list(notions), leading.threshold, low=leading.low))
    return list(dict.fromkeys(found))


def _line(agreements: Sequence[str], threshold: float, *, low: bool) -> str:
    """_line(["normalised", "exact"], …): different wording counts. Of two others, the first decides."""
    if not set(agreements) <= set(WORDING):
        way = f"less than {threshold:g}" if low else f"{threshold:g} or more"
        return f"tau: two answers agree if the value of {agreements[0]} (the first --agree) is {way}"
    return (
        f"tau counts differently worded answers as different: they are compared by {agreements[0]}. To compare "
        "their meaning, name a judge or an NLI model: --agree judge=openai/NAME or --agree entail=hf/PATH"
    )


def about_agreements(result: Result) -> list[str]:
    """What was not compared, and how sure those are of themselves who were asked in words."""
    lines = []
    for told in result.run.get("agreements", ()):
        name = f"{told['name']} ({told['model']})" if told["model"] else told["name"]
        if lost := sum(told.get(why, 0) for why in ("failed", "refused", "cut")):
            lines.append(
                f"{name}: {lost:,} of {told['pairs']:,} pairs were not compared ({missing.in_words(told)})"
            )
        if is_field(told["name"]):
            if told["answers"] and told["unread"] == told["answers"]:
                lines.append(f"{name}: no answer has this field")
            continue
        if told.get("unread"):
            count = told["unread"]
            said = "answer is not JSON and agrees" if count == 1 else "answers are not JSON and agree"
            lines.append(f"{name}: {count:,} {said} with nothing")
        if told["not_told"]:
            lines.append(f"{name}: no value for {told['not_told']:,} of {told['answer_pairs']:,} pairs of answers")
        if told["name"] == "judge" and told["own_consistency"] is not None:
            low, high = told["own_interval"]
            lines.append(
                f"{name} gives the same verdict in both orders for {percent(told['own_consistency'])} % "
                f"[{percent(low)} – {percent(high)}] of {told['own_pairs']:,} pairs of answers"
            )
    for told in result.run.get("scorers", ()):
        if lost := sum(told[why] for why in ("failed", "refused", "cut")):
            why = missing.in_words(told)
            lines.append(
                f"{told['name']} ({told['model']}): no verdict in {lost:,} of {told['asked']:,} cases ({why})"
            )
    return lines
