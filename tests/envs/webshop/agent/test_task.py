import pytest

from aes.errors import UsageError
from aes.protocols import Task
from envs.webshop.agent.prompts import PROMPTS, PromptName
from envs.webshop.agent.prompts.own import Own
from envs.webshop.agent.task import WebShop
from envs.webshop.agent.view import View
from envs.webshop.catalog.catalog import Catalog
from tests.envs.webshop.agent.conftest import Script, finish


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.generate(1000, seed=0)


def test_it_is_a_task(catalog: Catalog) -> None:
    assert isinstance(WebShop(catalog), Task)


def test_a_careful_purchase_is_a_success(catalog: Catalog) -> None:
    task = WebShop(catalog)
    goal = next(g for g in task.train_goals if g.options and catalog.search(g.name)[0] == g.asin)
    clicks = [f"click[{value}]" for value in goal.option_values]
    script = Script(f"search[{goal.name}]", f"click[{goal.asin}]", *clicks, "click[buy now]")
    episode = finish(task.play(script, goal, 0))
    assert episode.fitness == pytest.approx(1.0)
    assert episode.success
    assert episode.turns == 3 + len(clicks)
    assert episode.tokens == 2 * episode.turns
    assert episode.info["r_option"] == 1


@pytest.mark.parametrize("prompt", PROMPTS)
def test_fitness_is_the_raw_reward_under_every_prompt(catalog: Catalog, prompt: PromptName) -> None:
    task = WebShop(catalog, prompt=prompt)
    goal = next(g for g in task.train_goals if g.options)
    form = {"verl-agent": "<think>a</think><action>{}</action>", "ragen": "<think>a</think><answer>{}</answer>"}
    way = (f"search[{goal.query}]", f"click[{catalog.search(goal.query)[0].lower()}]", "click[buy now]")
    episode = finish(task.play(Script(*(form.get(prompt, "{}").format(action) for action in way)), goal, 0))
    assert 0 < episode.fitness < 1
    assert not episode.success
    assert episode.info["r_option"] == 0


@pytest.mark.parametrize("prompt", PROMPTS)
def test_hostile_replies_end_every_episode_without_a_reward(catalog: Catalog, prompt: PromptName) -> None:
    task = WebShop(catalog, prompt=prompt)
    replies = ["", "[" * 5000, "<think>" * 2000, "search[\x00]", "click[\ud800]", "<action></action>", "think[", "\n\n"]
    episode = finish(task.play(Script(*replies), task.train_goals[0], 0))
    assert (episode.fitness, episode.success) == (0.0, False)
    assert episode.turns == PROMPTS[prompt].max_turns


def test_training_and_held_out_goals_are_disjoint(catalog: Catalog) -> None:
    task = WebShop(catalog)
    assert len(task.eval_goals) >= 500
    assert not {goal.id for goal in task.train_goals} & {goal.id for goal in task.eval_goals}


class Shouting:
    """Finds no nouns."""

    name = "shouting-3"

    def __call__(self, text: str) -> tuple[str, ...]:
        return ()


def test_the_fingerprint_holds_all_that_a_result_depends_on(catalog: Catalog) -> None:
    one = WebShop(catalog).fingerprint
    assert one == WebShop(catalog, prompt="aes").fingerprint == WebShop(catalog, prompt=Own()).fingerprint
    assert WebShop(catalog, nouns=Shouting()).fingerprint["nouns"] == "shouting-3"
    others = [
        WebShop(catalog, prompt=Own(View(results=3))),
        WebShop(Catalog.generate(60, seed=1)),
        WebShop(catalog, eval_split="dev"),
        WebShop(catalog, nouns=Shouting()),
        *(WebShop(catalog, prompt=prompt) for prompt in ("verl-agent", "ragen", "react")),
    ]
    prints = [one, *(other.fingerprint for other in others)]
    assert all(prints.count(print_) == 1 for print_ in prints)


def test_the_nouns_are_the_reward_s(catalog: Catalog) -> None:
    task = WebShop(catalog, nouns=Shouting())
    goal = task.train_goals[0]
    asin = catalog.search(goal.query)[0]
    script = Script(f"search[{goal.query}]", f"click[{asin}]", "click[buy now]")
    bought = finish(task.play(script, goal, 0))
    assert bought.info["r_type"] in (0.5, 1.0)  # without nouns the title says 0.2, and query or category decide


def test_a_prompt_that_is_not_there_is_refused_with_the_nearest(catalog: Catalog) -> None:
    with pytest.raises(UsageError, match="no prompt 'verl_agent'; did you mean 'verl-agent'"):
        WebShop(catalog, prompt="verl_agent")  # type: ignore[arg-type]
