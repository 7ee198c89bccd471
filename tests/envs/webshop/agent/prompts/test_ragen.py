import pytest

from envs.webshop.agent.prompts.ragen import Ragen
from envs.webshop.agent.task import WebShop
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal
from envs.webshop.shop.shop import TextShop
from tests.envs.webshop.agent.conftest import Script, finish

TASK = "Find me rubber sole running shoes with color: red | blue, and size: 8, and price lower than 60.00 dollars"

FIRST = f"""\
You are shopping on a web site. Each turn you get a page and the actions that are possible there, and you choose one \
of them.
Hints:
- The instruction on the page says what to buy.
- Begin with a search, in a few words that name the product and what matters most about it.
- search[...] works only where the possible actions list it.
- Click a product id to see the product, its options and its price.
- Compare the price with the limit in the instruction before you decide.
- Click one value of every option that the instruction asks for; a later click in the same group replaces the first.
- Description and features tell more; come back from them with click[< prev].
- If nothing fits, go back and search in other words.
- Buy within 10 actions: without click[buy now] nothing is earned.
Answer in this form and no other: <think>your thoughts</think><answer>one action</answer>

Turn 1, 10 actions left
WebShop [SEP] Instruction: [SEP] {TASK} [SEP] Search
Possible actions: search[<words>]"""

SECOND = f"""\
Turn 2, 9 actions left
Instruction: [SEP] {TASK} [SEP] Back to Search [SEP] Page 1 (Total results: 2) [SEP] Next > [SEP] B000000001 [SEP] \
Acme Red Running Shoes [SEP] $20.0 to $30.0 [SEP] B000000002 [SEP] Acme Blue Shoes [SEP] $100.0
Possible actions: click[back to search], click[next >], click[b000000001], click[b000000002]"""

EMPTY = f"""\
Turn 3, 8 actions left
Instruction: [SEP] {TASK} [SEP] Back to Search [SEP] Page 2 (Total results: 2) [SEP] < Prev [SEP] Next >
Possible actions: click[back to search], click[< prev]"""


def form(action: str) -> str:
    return f"<think>hm</think>\n<answer> {action} </answer>"


def test_the_chat_is_appended_to_with_the_rules_at_its_start(catalog: Catalog, shoes: Goal) -> None:
    replies = (form("search[running shoes]"), form("click[next >]"), form("click[< prev]"))
    script = Script(*replies)
    finish(WebShop(catalog, prompt="ragen").play(script, shoes, 0))
    assert script.asked[2] == [
        {"role": "user", "content": FIRST},
        {"role": "assistant", "content": replies[0]},
        {"role": "user", "content": SECOND},
        {"role": "assistant", "content": replies[1]},
        {"role": "user", "content": EMPTY},
    ]
    for turn, asked in enumerate(script.asked):
        assert asked == script.asked[-1][: 2 * turn + 1]


def test_an_episode_ends_with_a_purchase(catalog: Catalog, shoes: Goal) -> None:
    way = ("search[shoes]", "click[b000000001]", "click[8]", "click[red | blue]", "click[buy now]")
    episode = finish(WebShop(catalog, prompt="ragen").play(Script(*map(form, way)), shoes, 0))
    assert (episode.fitness, episode.success, episode.turns) == (1.0, True, 5)
    assert (episode.info["invalid_actions"], episode.info["malformed_replies"]) == (0, 0)


def test_there_are_nine_turns_and_a_malformed_reply_spends_one(catalog: Catalog, shoes: Goal) -> None:
    script = Script("search[shoes]", form("click[nothing]"), "click[buy now]")
    episode = finish(WebShop(catalog, prompt="ragen").play(script, shoes, 0))
    assert (episode.fitness, episode.success, episode.turns) == (0.0, False, 9)
    assert (episode.info["invalid_actions"], episode.info["malformed_replies"]) == (9, 8)
    assert all("WebShop [SEP]" in asked[-1]["content"] for asked in script.asked)


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("<think>a</think><answer>search[b]</answer>", "search[b]"),
        ("<think>a\nb</think>\n\n<answer>\nclick[c]\n</answer> done", "click[c]"),
        ("well, <think></think><answer>click[c]</answer><answer>click[d]</answer>", "click[c]"),
        ("<think>a</think> so <answer>click[c]</answer>", None),
        ("<answer>click[c]</answer>", None),
        ("<answer>click[c]</answer><think>a</think>", None),
        ("<think>a</think><answer>click[c]", None),
        ("<think>a<answer>click[c]</answer>", None),
        ("click[c]", None),
        ("", None),
    ],
)
def test_only_a_thought_with_an_answer_is_read(catalog: Catalog, reply: str, action: str | None) -> None:
    move = Ragen().read(TextShop(catalog), reply)
    assert (move.action, move.malformed, move.answer) == (action or "", action is None, None)
