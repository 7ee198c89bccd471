import pytest

from aes.types import Completion, Message
from envs.webshop.agent.episode import ShopEpisode
from envs.webshop.agent.prompts import PROMPTS, PromptName
from envs.webshop.agent.prompts.own import Own
from envs.webshop.agent.task import WebShop
from envs.webshop.agent.view import View
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal
from envs.webshop.pocket.shopper import Shopper
from envs.webshop.shop.shop import TextShop
from tests.envs.webshop.agent.conftest import Script, finish


class Library(Catalog):
    """Keeps account of what was fetched ahead and what was then searched for."""

    def watch(self) -> None:
        self.fetched: list[str] = []
        self.searched: list[str] = []

    async def prefetch(self, query: str) -> None:
        self.fetched.append(query)

    def search(self, query: str, limit: int = 50) -> list[str]:
        self.searched.append(query)
        return super().search(query, limit)


@pytest.mark.parametrize(
    ("prompt", "form"),
    [
        ("aes", "Search [ {} ]"),
        ("react", "search[ {} ]"),
        ("verl-agent", "<think></think><action>search[{}]</action>"),
        ("ragen", "<think></think><answer>search[{}]</answer>"),
    ],
)
def test_a_search_is_fetched_ahead_in_the_words_it_is_asked_in(
    catalog: Catalog, shoes: Goal, prompt: PromptName, form: str
) -> None:
    watched = Library.__new__(Library)
    watched.__dict__.update(catalog.__dict__)
    watched.watch()
    finish(
        WebShop(watched, prompt=prompt).play(Script(form.format("Red  SHOES "), "no search[]", "click[x]"), shoes, 0)
    )
    assert watched.fetched == watched.searched
    assert len(watched.fetched) == 1


def test_nothing_is_fetched_for_what_the_prompt_answers(catalog: Catalog, shoes: Goal) -> None:
    watched = Library.__new__(Library)
    watched.__dict__.update(catalog.__dict__)
    watched.watch()
    finish(WebShop(watched, prompt="react").play(Script("think[search[red]]"), shoes, 0))
    assert watched.fetched == []


async def test_replies_that_come_to_nothing_are_counted(catalog: Catalog, shoes: Goal) -> None:
    episode = ShopEpisode(Own(), TextShop(catalog), shoes, 0)
    for text in ("hello", "click[buy now]", "search[shoes]"):
        await episode.take(episode.messages, Completion(text, (1,), 1, "stop"))
    assert episode.turns == 3
    assert not episode.over
    assert episode.result().info == {"invalid_actions": 2, "malformed_replies": 1}


async def test_the_shopper_plays_through_the_pages(catalog: Catalog, shoes: Goal) -> None:
    shop = TextShop(catalog)
    episode = ShopEpisode(Own(View()), shop, shoes, 0)
    while not episode.over:
        reply = Shopper(shoes).reply(shop.state, catalog.products.__getitem__)
        await episode.take(episode.messages, Completion(reply, (1,), 1, "stop"))
    assert episode.result().info["invalid_actions"] == 0
    assert episode.result().success


def test_a_transcript_repeats_nothing_that_only_grew(catalog: Catalog, shoes: Goal) -> None:
    script = Script("<think></think><answer>search[shoes]</answer>")
    episode = finish(WebShop(catalog, prompt="ragen").play(script, shoes, 0))
    last: Message = {"role": "assistant", "content": script.replies[-1]}
    assert list(episode.transcript) == [*script.asked[-1], last]


def test_a_transcript_holds_every_message_of_its_own(catalog: Catalog, shoes: Goal) -> None:
    script = Script("<think></think><action>search[shoes]</action>")
    episode = finish(WebShop(catalog, prompt="verl-agent").play(script, shoes, 0))
    asked = [message for message in episode.transcript if message["role"] == "user"]
    assert asked == [messages[0] for messages in script.asked]
    assert len(episode.transcript) == 2 * PROMPTS["verl-agent"].max_turns
