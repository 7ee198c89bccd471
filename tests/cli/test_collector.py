"""The search for garbage while a run lasts."""

from __future__ import annotations

import gc
import weakref

import pytest

from cli import collector


class Knot:
    """An object in a cycle."""

    def __init__(self) -> None:
        self.itself = self


def test_what_is_there_is_left_out_and_new_garbage_found() -> None:
    old = Knot()
    seen = weakref.ref(old)
    with collector.sparing():
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold()[0] == collector.NEW_OBJECTS
        del old
        new = weakref.ref(Knot())
        gc.collect()
        assert seen() is not None
        assert new() is None
    gc.collect()
    assert seen() is None


def test_all_is_as_before_afterwards_even_after_an_error() -> None:
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), collector.sparing():
        raise ZeroDivisionError
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
