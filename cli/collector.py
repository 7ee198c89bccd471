"""Python's search for garbage in cycles, for a program that runs long beside a large heap.

What is imported and loaded by the time a run begins (vLLM, torch, the catalogue: 670,000 objects) stays, and a run
itself makes next to no cycles. As it comes, the search goes through all of it again and again, a quarter of the
driver's time, and stands still for 0.4 s each time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

NEW_OBJECTS = 50_000
"""Objects made and not freed before the youngest are searched; Python's own figure is 700."""


@contextmanager
def sparing() -> Iterator[None]:
    """While inside, leave out what is there now, and search the rest less often."""
    before = gc.get_threshold()
    gc.freeze()  # without a search first: that too would take 0.4 s
    gc.set_threshold(NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
