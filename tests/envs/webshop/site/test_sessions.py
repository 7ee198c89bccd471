from __future__ import annotations

import asyncio

import pytest

from aes.errors import DataError, UsageError
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.shop.state import Page
from envs.webshop.site.refusal import Refusal
from envs.webshop.site.sessions import Opening, Sessions
from tests.envs.webshop.conftest import ATTRIBUTES, ITEMS

ALL = Opening(split="all", goal=0)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_ids_cannot_be_guessed(catalog: Catalog) -> None:
    sessions = Sessions(catalog)
    ids = {(await sessions.open(ALL)).id for _ in range(100)}
    assert len(ids) == 100
    assert min(map(len, ids)) >= 24  # 18 random bytes


async def test_the_one_unused_for_longest_makes_room(catalog: Catalog) -> None:
    sessions = Sessions(catalog, capacity=2)
    first, second = await sessions.open(ALL), await sessions.open(ALL)
    sessions.get(first.id)
    third = await sessions.open(ALL)
    assert len(sessions) == 2
    assert sessions.get(first.id) is first
    assert sessions.get(third.id) is third
    with pytest.raises(Refusal, match="2 newer ones") as refused:
        sessions.get(second.id)
    assert refused.value.status == 404


async def test_an_idle_session_ends(catalog: Catalog) -> None:
    clock = Clock()
    sessions = Sessions(catalog, idle_s=60, clock=clock)
    idle, used = await sessions.open(ALL), await sessions.open(ALL)
    clock.now = 60
    assert sessions.get(used.id) is used
    clock.now = 61
    assert len(sessions) == 1
    with pytest.raises(Refusal, match="1 idle minutes"):
        sessions.get(idle.id)
    clock.now = 121
    with pytest.raises(Refusal):
        sessions.get(used.id)


async def test_a_closed_session_is_gone(catalog: Catalog) -> None:
    sessions = Sessions(catalog)
    session = await sessions.open(ALL)
    sessions.close(session.id)
    assert len(sessions) == 0
    with pytest.raises(Refusal):
        sessions.close(session.id)


async def test_a_goal_keeps_its_split(catalog: Catalog) -> None:
    sessions = Sessions(catalog)
    assert sum(len(sessions.goals[split]) for split in ("train", "dev", "test")) == len(sessions.goals["all"]) == 6
    opened = [await sessions.open(Opening(split="all", goal=number)) for number in range(6)]
    assert [sessions.split_of(session.shop.goal) for session in opened] == ["test", "dev", *["train"] * 4]
    assert (await sessions.open(Opening(split="dev", goal=0))).shop.goal == opened[1].shop.goal


async def test_a_seed_draws_the_same_goal_again(catalog: Catalog) -> None:
    sessions = Sessions(catalog)
    drawn = [[(await sessions.open(Opening(seed=seed))).shop.goal.id for seed in range(20)] for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) > 1


async def test_goals_that_are_not_there(catalog: Catalog) -> None:
    sessions = Sessions(catalog)
    with pytest.raises(Refusal, match="no goal 6; there are 6, counted from 0, in split 'all'"):
        await sessions.open(Opening(split="all", goal=6))
    single = Sessions(one_goal())
    with pytest.raises(Refusal, match="no goals in split 'train'; take one of test, all"):
        await single.open(Opening())
    with pytest.raises(DataError, match="no human goals"):
        Sessions(one_goal(), kind="human")


def one_goal() -> Catalog:
    return Catalog.from_records([ITEMS[1]], {"B000000002": ATTRIBUTES["B000000003"]})


def test_bounds_that_cannot_be(catalog: Catalog) -> None:
    with pytest.raises(UsageError, match="max_sessions 0"):
        Sessions(catalog, capacity=0)
    with pytest.raises(UsageError, match="idle_s nan"):
        Sessions(catalog, idle_s=float("nan"))


@pytest.mark.parametrize("compat", [False, True])
async def test_long_searches_leave_the_event_loop_free(
    compat: bool, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[str] = []

    async def prefetch(query: str) -> None:
        prepared.append(query)

    session = await Sessions(catalog).open(Opening(split="all", goal=0, compat=compat))
    monkeypatch.setattr(session.shop.catalog, "prefetch", prefetch)
    for action in ("search[shoes]", "click[back to search]", "search[lamp]", "click[b000000003]", "click[< prev]", "?"):
        await session.act(action)
    # The original searches anew for every page.
    assert prepared == (["shoes", "shoes", "lamp", "lamp", "lamp"] if compat else ["shoes", "lamp"])
    outcome = await session.act(f"search[{'lamp ' * 1000}]")
    assert "B000000003" in outcome.observation


async def test_actions_of_one_session_keep_their_order(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the first one waits for its search and the second would not."""
    may_search = asyncio.Event()

    async def prefetch(_: str) -> None:
        await may_search.wait()

    session = await Sessions(catalog).open(ALL)
    monkeypatch.setattr(session.shop.catalog, "prefetch", prefetch)
    async with asyncio.TaskGroup() as group:
        search = group.create_task(session.act("search[lamp]"))
        click = group.create_task(session.act("click[b000000003]"))
        await asyncio.sleep(0)
        may_search.set()
    assert search.result().action_valid
    assert click.result().action_valid
    assert session.shop.state.page is Page.ITEM


async def test_a_cancelled_action_has_not_happened(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    async def prefetch(_: str) -> None:
        await asyncio.Event().wait()

    session = await Sessions(catalog).open(ALL)
    monkeypatch.setattr(session.shop.catalog, "prefetch", prefetch)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await session.act("search[lamp]")
    assert session.shop.state.page is Page.INDEX
    assert session.pages == 0
    monkeypatch.undo()
    assert (await session.act("search[lamp]")).action_valid
