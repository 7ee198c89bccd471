from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from cli.view.chart import bar, curve

numbers = st.floats(-9, 9) | st.just(math.nan)


def text(*args: object, **kwargs: object) -> list[str]:
    return [line.plain for line in curve(*args, **kwargs)]  # type: ignore[arg-type]


def test_bars_fill_from_the_left_and_dots_stand_at_their_steps() -> None:
    assert text([0.0, 0.5, 1.0], {0: 0.0, 4: 1.0}, 4, 5, 2) == [
        " 1.00 ┤  █ ●",
        " 0.00 ┤●██  ",
    ]


def test_an_empty_chart_has_its_axis() -> None:
    assert text([], {}, 10, 4, 2) == [" 1.00 ┤    ", " 0.00 ┤    "]


@given(st.lists(numbers, max_size=30), st.dictionaries(st.integers(0, 30), numbers), st.integers(1, 30))
def test_any_numbers_give_a_chart_of_its_size(bars: list[float], dots: dict[int, float], length: int) -> None:
    lines = text(bars, dots, length, 20, 4)
    assert [len(line) for line in lines] == [27] * 4


def test_a_bar_is_as_wide_as_asked() -> None:
    assert all(len(bar(share, 10).plain) == 10 for share in (-1, 0, 0.5, 1, 2))
