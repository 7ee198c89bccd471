import pytest

from envs.webshop.agent.prompts.prompt import Turn
from envs.webshop.agent.prompts.react import EXAMPLE, WINDOW, React
from envs.webshop.agent.task import WebShop
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal
from envs.webshop.shop.shop import TextShop
from tests.envs.webshop.agent.conftest import Script, finish

FIRST = f"""{EXAMPLE}WebShop
Instruction:
Find me rubber sole running shoes with color: red | blue, and size: 8, and price lower than 60.00 dollars
[Search]

Action:"""

LATER = f"""{FIRST} think[shoes first]
Observation: OK.

Action: search[running shoes]
Observation:
[Back to Search]
Page 1 (Total results: 2)
[B000000001]
Acme Red Running Shoes
$20.0 to $30.0
[B000000002]
Acme Blue Shoes
$100.0

Action: click[B000000001]
Observation:
[Back to Search]
[< Prev]
size [8][9 [wide]]
color [red | blue][the "dark" one]
Acme Red Running Shoes
Price: $20.0 to $30.0
Rating: N.A.
[Description]
[Features]
[Reviews]
[Buy Now]

Action: click[9 [wide]]
Observation: You have clicked 9 [wide].

Action: click[Features]
Observation:
[Back to Search]
[< Prev]
Rubber sole
Mesh upper

Action: click[< Prev]
Observation:
[Back to Search]
[< Prev]
size [8][[9 [wide]]]
color [red | blue][the "dark" one]
Acme Red Running Shoes
Price: $20.0 to $30.0
Rating: N.A.
[Description]
[Features]
[Reviews]
[Buy Now]

Action: click[Add to Cart]
Observation: Invalid action!

Action:"""

WAY = (
    "think[shoes first]",
    "search[running shoes]",
    " Action: click[B000000001]\nObservation: I dream on",
    "click[9 [wide]]",
    "click[Features]",
    "click[< Prev]",
    "click[Add to Cart]",
)


@pytest.fixture(scope="module")
def generated() -> Catalog:
    return Catalog.generate(200, seed=3)


def test_one_message_holds_example_task_and_story(catalog: Catalog, shoes: Goal) -> None:
    script = Script(*WAY, "click[8]", "click[red | blue]", "click[Buy Now]")
    episode = finish(WebShop(catalog, prompt="react").play(script, shoes, 0))
    assert script.asked[0] == [{"role": "user", "content": FIRST}]
    assert script.asked[7] == [{"role": "user", "content": LATER}]
    assert set(script.stops) == {("\n",)}
    assert (episode.fitness, episode.success, episode.turns) == (1.0, True, 10)
    assert (episode.info["invalid_actions"], episode.info["malformed_replies"]) == (1, 0)


def test_fifteen_calls_with_the_reset_are_fourteen_replies(catalog: Catalog, shoes: Goal) -> None:
    episode = finish(WebShop(catalog, prompt="react").play(Script("think[on and on]"), shoes, 0))
    assert (episode.fitness, episode.success, episode.turns) == (0.0, False, 14)
    assert (episode.info["invalid_actions"], episode.info["malformed_replies"]) == (0, 0)


@pytest.mark.parametrize(
    ("reply", "action", "malformed", "answer"),
    [
        ("search[red shoes]", "search[red shoes]", False, None),
        ("  search[red]  \nObservation: done", "search[red]", False, None),
        ("Action: search[red]", "search[red]", False, None),
        ("think[a [b]", "think[a [b]", False, "OK."),
        ("think: a", "", True, None),
        ("I think search[red]", "", True, None),
        ("search[]", "", True, None),
        ("", "", True, None),
    ],
)
def test_the_first_line_is_read(
    catalog: Catalog, shoes: Goal, reply: str, action: str, malformed: bool, answer: str | None
) -> None:
    shop = TextShop(catalog)
    shop.reset(shoes)
    move = React().read(shop, reply)
    assert (move.action, move.malformed, move.answer) == (action, malformed, answer)


def test_what_is_not_shown_cannot_be_done(generated: Catalog) -> None:
    query = "search[pillow blanket free]"
    shown = TextShop(generated)
    shown.reset(0)
    shown.step(query)
    third, fourth = shown.state.shown[2:4]
    script = Script(query, f"click[{fourth}]", "click[Next >]", "click[< Prev]", query, f"click[{third}]", query)
    goal = generated.goals("synthetic", "train")[0]
    episode = finish(WebShop(generated, prompt="react").play(script, goal, 0))
    seen = [asked[0]["content"].rpartition("Observation:")[2] for asked in script.asked[1:8]]
    page, *refused, item, again = seen
    assert third in page
    assert fourth not in page
    assert "Next" not in page
    assert "Prev" not in page
    assert refused == [" Invalid action!\n\nAction:"] * 4
    assert "[Buy Now]" in item
    assert again == " Invalid action!\n\nAction:"
    assert (episode.info["invalid_actions"], episode.info["malformed_replies"]) == (4 + 8, 0)


@pytest.mark.parametrize("characters", [10, 3_000, 4_000, 50_000])
def test_a_long_story_loses_its_beginning_and_never_the_task(catalog: Catalog, shoes: Goal, characters: int) -> None:
    shop = TextShop(catalog)
    shop.reset(shoes)
    turns = [Turn(React().first(shop, ""), "click[a]", "click[a]"), Turn("x" * characters, "click[b]", "click[b]")]
    [message] = React().messages(shop, turns, "You have clicked b.")
    text = message["content"]
    assert text.startswith(FIRST.removesuffix("\n\nAction:"))
    assert text.endswith("\n\nAction: click[b]\nObservation: You have clicked b.\n\nAction:")
    assert len(text) <= WINDOW
    assert len(text) == WINDOW or "click[a]" in text


def test_a_task_longer_than_the_window_stays_whole(catalog: Catalog, shoes: Goal) -> None:
    turns = [Turn("t" * WINDOW, "click[a]", "click[a]")]
    [message] = React().messages(TextShop(catalog), turns, "seen")
    assert message["content"] == f"{EXAMPLE}{'t' * WINDOW}\n\nAction:"
