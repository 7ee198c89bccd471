"""Ask and tell: any order, the bound kept, the same answers give the same updates, and what came too late is said."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aes import AskTell, Config
from aes.centre import Centre
from aes.engine.fake import FakeEngine
from aes.errors import UsageError
from aes.types import Proposal
from tests.aes.runs import config as settings_of
from tests.aes.runs import digests, of, played

Pick = Callable[[int], int]


def luck(proposal: Proposal) -> list[float]:
    """A fitness that hangs on the proposal alone."""
    return [zlib.crc32(f"{proposal.seed} {sign}".encode()) / 2**32 for sign in proposal.signs]


def searched(config: Config, pick: Pick, give_up: Pick = lambda choices: 0) -> AskTell:
    """Ask whenever there is something to ask, and tell of one that `pick` chooses."""
    search, out = AskTell(config), list[Proposal]()
    while not search.done:
        while (proposal := search.ask()) is not None:
            out.append(proposal)
        assert out, "nothing to ask and nothing to tell: it would wait for ever"
        proposal = out.pop(pick(len(out)))
        if give_up(4) == 3:
            search.give_up(proposal)
        else:
            assert search.tell(proposal, luck(proposal)) in ("accepted", "too old")
    return search


schedules = st.sampled_from(
    [{"max_lag": 0}, {"max_lag": 2}, {"max_lag": 3, "on_stale": "drop"}, {"max_lag": 2, "stale_frac": 0.5}]
)


@given(
    order=st.randoms(use_true_random=False), schedule=schedules, estimator=st.sampled_from(["pairs", "zscore", "ranks"])
)
def test_it_gets_done_in_any_order(order: Random, schedule: dict[str, Any], estimator: Any) -> None:
    config = Config(updates=6, pairs=3, estimator=estimator, **schedule)
    search = searched(config, order.randrange, order.randrange)
    assert search.version == len(search.updates) == 6
    assert [update.version for update in search.updates] == list(range(6))
    assert all(len(update.terms) in (0, config.per_update) for update in search.updates)
    assert search.ask() is None


@given(order=st.randoms(use_true_random=False), max_lag=st.integers(0, 3), drop=st.booleans())
def test_nothing_older_than_the_bound_is_ever_consumed(order: Random, max_lag: int, drop: bool) -> None:
    config = Config(updates=5, pairs=2, max_lag=max_lag, on_stale="drop" if drop else "wait")
    search, out, born = AskTell(config), list[Proposal](), dict[int, int]()
    while not search.done:
        while (proposal := search.ask()) is not None:
            assert proposal.version == search.version
            born[proposal.seed] = proposal.version
            out.append(proposal)
        proposal, before = out.pop(order.randrange(len(out))), search.version
        assert (search.tell(proposal, luck(proposal)) == "too old") == (before - proposal.version > max_lag)
        for update in search.updates[before:]:
            assert all(0 <= update.version - born[term.seed] <= max_lag for term in update.terms)


@given(order=st.randoms(use_true_random=False))
def test_under_a_controlled_schedule_the_order_changes_nothing(order: Random) -> None:
    config = Config(updates=6, pairs=3, max_lag=2, stale_frac=0.5)
    assert searched(config, order.randrange).updates == searched(config, lambda choices: 0).updates


def test_what_came_too_late_and_what_nobody_waits_for() -> None:
    search = AskTell(Config(updates=3, pairs=2, max_lag=0, on_stale="drop"))
    first, second = search.ask(), search.ask()
    assert search.ask() is None
    assert first is not None
    assert second is not None
    assert search.tell(first, [1.0, 0.0]) == "accepted"
    assert search.tell(first, [1.0, 0.0]) == "unknown"
    assert search.give_up(second) == "accepted"
    assert search.tell(second, [0.0, 1.0]) == "unknown"
    third = search.ask()
    assert third is not None
    assert search.tell(third, [0.5, 0.0]) == "accepted"
    assert search.version == 1
    assert AskTell(Config(pairs=2)).tell(third, [1.0, 0.0]) == "unknown"

    # A straggler at the bound, which the update goes on without; with a bound of 1 there is room for that.
    search = AskTell(Config(updates=4, pairs=2, max_lag=1, on_stale="drop"))
    straggler, *others = [search.ask() for _ in range(4)]
    for other in others[:2]:
        assert other is not None
        search.tell(other, luck(other))
    assert search.version == 1
    for _ in range(2):
        other = search.ask()
        assert other is not None
        search.tell(other, luck(other))
    assert search.version == 2
    assert straggler is not None
    assert search.tell(straggler, [1.0, 1.0]) == "too old"


@pytest.mark.parametrize("fitness", [[1.0], [1.0, 2.0, 3.0], [math.nan, 1.0], [1.0, math.inf]])
def test_no_number_for_each_member_is_refused_and_changes_nothing(fitness: list[float]) -> None:
    search = AskTell(Config(updates=1, pairs=2))
    proposal = search.ask()
    assert proposal is not None
    with pytest.raises(UsageError):
        search.tell(proposal, fitness)
    assert search.tell(proposal, [1.0, 0.0]) == "accepted"


def test_it_makes_the_updates_of_a_run_that_measures_the_same(shelf: Any, virtual: Any) -> None:
    """A whole run on the fake engine, and the same search by hand, told what the run has measured."""
    from aes.events import Measured, Updated

    config = settings_of(max_lag=2, stale_frac=0.5)
    events = virtual(played(shelf, FakeEngine(), config))
    told = {e.measurement.proposal.index: e.measurement for e in of(Measured, events)}
    search = AskTell(config, goals=len(shelf.train_goals))
    centre, seen = Centre(torch.zeros(256)), [digests(events)[0]]
    while not search.done:
        proposal = search.ask()
        assert proposal is not None
        assert proposal == told[proposal.index].proposal
        search.tell(proposal, told[proposal.index].fitness)
        seen += [centre.advance(update, search.keep).digest for update in search.updates[centre.newest :]]
    assert list(search.updates) == [event.update for event in of(Updated, events)]
    assert seen == digests(events)


def test_it_climbs() -> None:
    target = torch.linspace(-1, 1, 5)
    centre, search = Centre(torch.zeros(5)), AskTell(Config(updates=150, pairs=8, sigma=0.1, lr=0.1, max_lag=1))
    while (pair := search.ask()) is not None:
        assert pair.version in (*search.keep, search.version)
        search.tell(pair, [-float((centre.member(member) - target).square().sum()) for member in pair.members])
        for update in search.updates[centre.newest :]:
            centre.advance(update, search.keep)
    assert float((centre.vector(150) - target).norm()) < 0.2
