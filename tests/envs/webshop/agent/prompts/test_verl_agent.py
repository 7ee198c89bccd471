import pytest

from envs.webshop.agent.prompts.prompt import Turn
from envs.webshop.agent.prompts.verl_agent import MAX_CHARACTERS, VerlAgent, quoted
from envs.webshop.agent.task import WebShop
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal
from envs.webshop.shop.shop import TextShop
from tests.envs.webshop.agent.conftest import Script, finish

FIRST = """\
You shop on the web site WebShop on somebody's behalf.

The task: Find me rubber sole running shoes with color: red | blue, and size: 8, and price lower than 60.00 dollars

You see now: 'Search'

Actions that are admissible here:
'search[<your query>]'
'click[search]'

Think before you act: write your reasoning, step by step, between <think> and </think>. Then write the one admissible \
action that you take between <action> and </action>."""

FOURTH = """\
You shop on the web site WebShop on somebody's behalf.

The task: Find me rubber sole running shoes with color: red | blue, and size: 8, and price lower than 60.00 dollars

Steps taken so far: 3. The last 2, what you saw and what you did:
[Observation 2: ''Back to Search' [SEP] 'Page 1 (Total results: 2)' [SEP] 'Next >' [SEP] 'B000000001' [SEP] \
'Acme Red Running Shoes' [SEP] '$20.0 to $30.0' [SEP] 'B000000002' [SEP] 'Acme Blue Shoes' [SEP] '$100.0'', \
Action 2: 'click[b000000001]']
[Observation 3: ''Back to Search' [SEP] '< Prev' [SEP] 'size' [SEP] '8' [SEP] '9 [wide]' [SEP] 'color' [SEP] \
'red | blue' [SEP] 'the "dark" one' [SEP] 'Acme Red Running Shoes' [SEP] 'Price: $20.0 to $30.0' [SEP] 'Rating: N.A.' \
[SEP] 'Description' [SEP] 'Features' [SEP] 'Reviews' [SEP] 'Buy Now'', Action 3: 'click[features]']

This is step 4.

You see now: 'Back to Search' [SEP] '< Prev' [SEP] 'Rubber sole' [SEP] 'Mesh upper'

Actions that are admissible here:
'click[back to search]'
'click[< prev]'

Think before you act: write your reasoning, step by step, between <think> and </think>. Then write the one admissible \
action that you take between <action> and </action>."""

THOUGHT = "<think>so</think>"


def act(*actions: str) -> Script:
    return Script(*(f"{THOUGHT}<action>{action}</action>" for action in actions))


def test_each_turn_is_one_message_that_says_everything(catalog: Catalog, shoes: Goal) -> None:
    script = act("search[Running shoes]", "click[B000000001]", "click[features]", "wait")
    finish(WebShop(catalog, prompt="verl-agent").play(script, shoes, 0))
    assert script.asked[0] == [{"role": "user", "content": FIRST}]
    assert script.asked[3] == [{"role": "user", "content": FOURTH}]


def test_an_episode_ends_with_a_purchase(catalog: Catalog, shoes: Goal) -> None:
    way = ("search[shoes]", "click[b000000001]", "click[8]", "click[red | blue]", "click[description]", "click[< prev]")
    episode = finish(WebShop(catalog, prompt="verl-agent").play(act(*way, "click[buy now]"), shoes, 0))
    assert (episode.fitness, episode.success, episode.turns) == (1.0, True, 7)
    assert (episode.info["invalid_actions"], episode.info["malformed_replies"]) == (0, 0)


def test_there_are_fifteen_turns_and_no_purchase_is_worth_nothing(catalog: Catalog, shoes: Goal) -> None:
    episode = finish(WebShop(catalog, prompt="verl-agent").play(act("click[search]"), shoes, 0))
    assert (episode.fitness, episode.success, episode.turns) == (0.0, False, 15)
    # A button that does nothing keeps the form.
    assert (episode.info["invalid_actions"], episode.info["malformed_replies"]) == (15, 0)


@pytest.mark.parametrize(
    ("reply", "action", "malformed"),
    [
        (f"{THOUGHT}<action>search[red]</action>", "search[red]", False),
        (f"{THOUGHT}<action> Click[Buy Now]\n</action>", "click[buy now]", False),
        ("<THINK>a</THINK><ACTION>Search[X]</ACTION>", "search[x]", False),
        (f"{THOUGHT}<action>a</action><action>b</action>", "a", False),
        ("<action>a</action><think>late</think>", "a", False),
        ("<action>search[red]</action>", "search[red]", True),
        ("<think>open<action>search[red]</action>", "search[red]", True),
        ("<think>想</think><action>search[red]</action>", "search[red]", True),
        (f"{THOUGHT}<action>search[红]</action>", "search[红]", True),
        (f"{THOUGHT}<action>search[café Ω かな]</action>", "search[café ω かな]", False),
        (f"{THOUGHT}</action><action>a", "", False),
        (f"{THOUGHT} I take <action>search[red shoes]", "on>search[red shoes]", True),
        ("I would like to BUY the red shoes now", "uy the red shoes now", True),
        ("click[buy now]", "click[buy now]", True),
        ("", "", True),
    ],
)
def test_replies_are_read_between_the_tags(catalog: Catalog, reply: str, action: str, malformed: bool) -> None:
    move = VerlAgent().read(TextShop(catalog), reply)
    assert (move.action, move.malformed, move.answer) == (action, malformed, None)


def test_a_malformed_reply_is_carried_out_where_it_can_be_and_counted(catalog: Catalog, shoes: Goal) -> None:
    script = Script("<action>search[shoes]</action>", f"{THOUGHT}<action>click[b000000001]</action>", "click[buy now]")
    episode = finish(WebShop(catalog, prompt="verl-agent").play(script, shoes, 0))
    assert episode.turns == 3
    assert 0 < episode.fitness < 1
    assert (episode.info["invalid_actions"], episode.info["malformed_replies"]) == (2, 2)


def test_a_message_that_would_be_too_long_loses_its_history(catalog: Catalog, shoes: Goal) -> None:
    shop = TextShop(catalog, compat=True)
    shop.reset(shoes)
    long = Turn("x" * 6000, "", "a")

    def said(*turns: Turn) -> str:
        return VerlAgent().messages(shop, turns, "'Search'")[0]["content"]

    assert "[Observation 1: 'xxx" in said(long)
    assert len(said(long, long)) <= MAX_CHARACTERS
    assert said(long, Turn("x" * 7000, "", "a")) == FIRST


@pytest.mark.parametrize("history", [0, 1, 4])
def test_the_history_is_as_long_as_wished(catalog: Catalog, shoes: Goal, history: int) -> None:
    script = act("click[search]")
    prompt = VerlAgent(history=history, max_turns=7)
    assert finish(WebShop(catalog, prompt=prompt).play(script, shoes, 0)).turns == 7
    assert [asked[0]["content"].count("[Observation") for asked in script.asked[:6]] == [
        min(history, step) for step in range(6)
    ]
    assert prompt.version != VerlAgent().version


def test_every_part_after_the_task_is_quoted() -> None:
    assert quoted("WebShop [SEP] Instruction: [SEP] a lamp [SEP] Search", " a lamp") == "'Search'"
    assert quoted("Instruction: [SEP] a [SEP] b's [SEP] ", "a") == "'b's' [SEP] ''"
    assert quoted("Thank you [SEP] Reward", "a lamp") == "'Thank you' [SEP] 'Reward'"
