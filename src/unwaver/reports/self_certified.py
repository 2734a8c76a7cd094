"""What must be said of variants that nobody but their writer has certified."""

from __future__ import annotations

from collections.abc import Iterable

from unwaver.groups import SELF_CERTIFIED
from unwaver.types import Score


def lines(scores: Iterable[Score]) -> list[str]:
    about = dict.fromkeys(f"{s.suite}/{s.task}/{s.kind}" for s in scores if SELF_CERTIFIED in s.flags)
    return [
        f"{name}: self-certified: the model that wrote these variants also said that they mean the same. "
        "No gate passes on them; name another judge (--judge) or have a person review them (unwaver review)"
        for name in about
    ]
