from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from aes.types import Completion, Episode, Message
from envs.webshop.agent.task import MAX_TURNS, ShopEpisode, WebShop, last_action
from envs.webshop.agent.view import View
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.pocket.shopper import Shopper


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.generate(1000, seed=0)


class Script:
    """A policy that says what it was told to, the last of it for ever."""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.heard: list[Message] = []

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        stop: Sequence[str] = (),
    ) -> Completion:
        self.heard = list(messages)
        text = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return Completion(text, (1, 2), 3, "stop")


def finish(play: Coroutine[Any, Any, Episode]) -> Episode:
    """Run an episode without an event loop: a script never waits, so the first step is the last."""
    with pytest.raises(StopIteration) as stop:
        play.send(None)
    episode = stop.value.value
    assert isinstance(episode, Episode)
    return episode


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("search[red shoes]", "search[red shoes]"),
        ("careful click[ red]", "click[ red]"),
        ("I could click[a]. No:\nsearch[b]", "search[b]"),
        ("Click[Buy Now].", "Click[Buy Now]."),
        ("no idea", "no idea"),
    ],
)
def test_the_last_action_of_a_reply_counts(reply: str, action: str) -> None:
    assert last_action(reply) == action


def test_a_careful_purchase_is_a_success(catalog: Catalog) -> None:
    task = WebShop(catalog)
    goal = next(g for g in task.train_goals if g.options and catalog.search(g.name)[0] == g.asin)
    clicks = [f"click[{value}]" for value in goal.option_values]
    script = Script(f"search[{goal.name}]", f"click[{goal.asin}]", *clicks, "click[buy now]")
    episode = finish(task.play(script, goal, 0))
    assert episode.fitness == pytest.approx(1.0)
    assert episode.success
    assert episode.turns == 3 + len(clicks)
    assert episode.info["invalid_actions"] == 0
    assert episode.info["r_option"] == 1


def test_no_purchase_in_fifteen_turns_is_worth_nothing(catalog: Catalog) -> None:
    task = WebShop(catalog)
    episode = finish(task.play(Script("hello"), task.train_goals[0], 0))
    assert (episode.fitness, episode.success, episode.turns) == (0.0, False, MAX_TURNS)
    assert episode.info["invalid_actions"] == MAX_TURNS


def test_what_is_wrong_is_explained_and_changes_nothing(catalog: Catalog) -> None:
    shop = ShopEpisode(catalog, catalog.goals("synthetic", "train")[0], View())
    shop.reset()
    page, reward, over, _, info = shop.step("click[buy now]")
    assert page.startswith("Invalid action: no button 'buy now'")
    assert (reward, over, info["invalid_actions"]) == (0.0, False, 1)
    page, *_ = shop.step("search[pillow]")
    assert page.startswith("Page 1")


def test_conversations_only_grow_and_start_with_the_rules(catalog: Catalog) -> None:
    task = WebShop(catalog)
    script = Script("search[pillow]", "click[back to search]", "search[lamp]")
    finish(task.play(script, task.train_goals[0], 0))
    assert script.heard[0]["role"] == "system"
    assert [message["role"] for message in script.heard[1:4]] == ["user", "assistant", "user"]


def test_training_and_held_out_goals_are_disjoint(catalog: Catalog) -> None:
    task = WebShop(catalog)
    assert len(task.eval_goals) >= 500
    assert not {goal.id for goal in task.train_goals} & {goal.id for goal in task.eval_goals}


def test_the_fingerprint_tells_catalogues_and_views_apart(catalog: Catalog) -> None:
    one = WebShop(catalog)
    assert one.fingerprint == WebShop(catalog).fingerprint
    assert one.fingerprint != WebShop(catalog, view=View(results=3)).fingerprint
    assert one.fingerprint != WebShop(Catalog.generate(1000, seed=1)).fingerprint


def test_the_shopper_plays_through_the_task_pages(catalog: Catalog) -> None:
    goal = catalog.goals("synthetic", "train")[1]
    shop = ShopEpisode(catalog, goal, View())
    shop.reset()
    reply = Shopper(goal).reply(shop._shop.state, catalog.products.__getitem__)
    assert shop.step(reply)[4]["invalid_actions"] == 0
