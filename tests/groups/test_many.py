"""What all sequences of groups have in common, few or many."""

from __future__ import annotations

import gc

import pytest

from unwaver.groups.many import NEW_OBJECTS, rarely_collected


def test_garbage_is_looked_for_less_often_and_then_as_before() -> None:
    before = gc.get_threshold()
    with rarely_collected():
        assert gc.isenabled()
        assert gc.get_threshold() == (NEW_OBJECTS, *before[1:])
        with rarely_collected():
            assert gc.get_threshold()[0] == NEW_OBJECTS
    assert gc.get_threshold() == before
    with pytest.raises(ValueError, match="stopped"), rarely_collected():
        raise ValueError("stopped")
    assert gc.get_threshold() == before
