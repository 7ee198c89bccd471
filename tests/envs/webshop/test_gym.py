from __future__ import annotations

import copy
import importlib
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv
from hypothesis import given
from hypothesis import strategies as st

from aes.errors import DataError, UsageError
from envs.webshop.catalog import Catalog
from envs.webshop.gym import ENV_ID, AnyText, WebShopEnv, register
from envs.webshop.shop import TextShop


@pytest.fixture(autouse=True)
def registered() -> None:
    register()
    register()  # a second call neither warns nor fails


def buy(env: WebShopEnv, asin: str, *clicks: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
    """Find a product by its category, choose, and buy."""
    product = env._shop.catalog.products[asin]
    for action in (f"search[<q> {product.query}]", *(f"click[{click}]" for click in (asin, *clicks))):
        info = env.step(action)[4]
        assert info["action_valid"], info["error"]
    return env.step("click[buy now]")


def test_gymnasium_finds_nothing_wrong(catalog: Catalog) -> None:
    """Warnings are errors here: none has to be ignored, neither by the full check nor by that of `make`."""
    env = gymnasium.make(ENV_ID, catalog=catalog, split="all", render_mode="ansi")
    check_env(env.unwrapped)
    env.reset(seed=1)
    env.step("search[shoes]")
    assert "Total results" in str(env.render())


def test_making_one_copies_no_catalogue(catalog: Catalog) -> None:
    env = gymnasium.make(ENV_ID, catalog=catalog, split="all")
    assert env.spec is not None  # each wrapper copies the spec, and what it was made with
    assert env.spec.kwargs["catalog"] is catalog
    assert copy.deepcopy({"catalog": catalog})["catalog"] is catalog


def test_the_best_purchase_is_worth_one(catalog: Catalog) -> None:
    env = WebShopEnv(catalog, split="all")
    _, info = env.reset(options={"goal": 0})
    assert (info["success"], info["reason"], info["action_valid"], info["error"]) == (False, "", True, "")
    goal = catalog.goals("synthetic", "all")[0]
    assert info["goal_id"] == goal.id
    page, reward, terminated, truncated, info = buy(env, goal.asin, *goal.option_values)
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert (info["success"], info["reason"]) == (True, "bought")
    assert info["score"]["total"] == reward
    assert info["score"].keys() >= {"r_type", "r_att", "r_option", "r_price", "nouns"}
    assert info["available_actions"] == {"search": False, "clickables": ()}
    assert "1.0" not in page  # an observation never tells the reward


def test_what_cannot_be_done_is_explained(catalog: Catalog) -> None:
    env = WebShopEnv(catalog, split="all")
    page, _ = env.reset(options={"goal": 0})
    again, reward, terminated, truncated, info = env.step("click[add to cart]")
    assert (again, reward, terminated, truncated) == (page, 0.0, False, False)
    assert not info["action_valid"]
    assert "add to cart" in info["error"]


def test_the_step_limit_truncates_and_ends(catalog: Catalog) -> None:
    env = WebShopEnv(catalog, split="all", max_steps=3)
    env.reset(seed=1)
    ends = [env.step(action)[2:4] for action in ("search[shoes]", "nonsense", "search[lamp]")]
    assert ends == [(False, False), (False, False), (False, True)]
    with pytest.raises(UsageError, match=r"step limit.*reset"):
        env.step("search[shoes]")


def test_a_purchase_with_the_last_step_is_no_truncation(catalog: Catalog) -> None:
    env = WebShopEnv(catalog, split="all", max_steps=3)
    env.reset(options={"goal": 0})
    assert buy(env, "B000000002")[2:4] == (True, False)
    with pytest.raises(UsageError, match=r"bought.*reset"):
        env.step("search[shoes]")


def test_no_limit(catalog: Catalog) -> None:
    env = WebShopEnv(catalog, split="all", max_steps=None)
    env.reset(seed=1)
    assert not any(env.step("search[shoes]")[3] for _ in range(50))


def test_goals_are_drawn_as_the_shop_draws_them(catalog: Catalog) -> None:
    env, shop = WebShopEnv(catalog, split="all"), TextShop(catalog)
    ids = [env.reset(seed=5 if at == 0 else None)[1]["goal_id"] for at in range(20)]
    assert ids == [shop.reset(seed=5 if at == 0 else None)[1]["goal_id"] for at in range(20)]
    assert len(set(ids)) > 3


def test_goals_by_position_and_by_themselves(catalog: Catalog) -> None:
    env = WebShopEnv(catalog, kind="human", split="all")
    (goal,) = catalog.goals("human", "all")
    for wanted in (0, np.int64(0), goal):
        assert env.reset(options={"goal": wanted})[1]["goal_id"] == goal.id


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"goal": 99}, "no goal 99"),
        ({"goal": -1}, "no goal -1"),
        ({"goal": "first"}, "'first'"),
        ({"gaol": 1}, "did you mean 'goal'"),
    ],
)
def test_goals_that_are_none(catalog: Catalog, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        WebShopEnv(catalog, split="all").reset(options=options)


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"max_steps": 0}, UsageError, "max_steps 0"),
        ({"render_mode": "human"}, UsageError, "'human'"),
        ({"split": "tset"}, UsageError, "'tset'"),
        ({"kind": "human", "split": "train"}, DataError, "train split"),
    ],
)
def test_environments_that_cannot_be(
    catalog: Catalog, arguments: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        WebShopEnv(catalog, **arguments)


def test_a_step_needs_a_text_and_an_episode(catalog: Catalog) -> None:
    env = WebShopEnv(catalog, split="all")
    with pytest.raises(UsageError, match="call reset"):
        env.step("search[shoes]")
    env.reset(seed=1)
    with pytest.raises(UsageError, match="not 3"):
        env.step(3)  # type: ignore[arg-type]


def test_it_renders_the_page(catalog: Catalog) -> None:
    env = WebShopEnv(catalog, split="all", render_mode="ansi")
    page, _ = env.reset(seed=1)
    assert env.render() == page
    assert WebShopEnv(catalog, split="all").render() is None


def test_many_at_once(catalog: Catalog) -> None:
    makers: list[Callable[[], WebShopEnv]] = [lambda: WebShopEnv(catalog, split="all", max_steps=2)] * 3
    many = SyncVectorEnv(makers)
    pages, infos = many.reset(seed=1)
    assert pages in many.observation_space
    alone = WebShopEnv(catalog, split="all")
    assert [alone.reset(seed=seed)[0] for seed in (1, 2, 3)] == list(pages)
    assert infos["action_valid"].all()
    for _ in range(2):
        pages, rewards, _, truncated, infos = many.step(("search[lamps]", "click[lamp]", "search[shoes]"))
        assert list(infos["action_valid"]) == [True, False, True]
        assert not rewards.any()
    assert truncated.all()
    assert list(infos["reason"]) == ["step limit"] * 3


@given(st.lists(st.text() | st.text().map("search[{}]".format) | st.text().map("click[{}]".format), max_size=15))
def test_any_text_leads_to_a_page(actions: list[str]) -> None:
    env = WebShopEnv(_SMALL, split="all")
    env.reset(seed=0)
    for action in actions:
        page, reward, terminated, _, info = env.step(action)
        assert page in env.observation_space
        assert 0 <= reward <= 1
        assert not terminated
        assert info["action_valid"] == (not info["error"])


@given(st.randoms(use_true_random=False))
def test_whatever_is_offered_can_be_done(rng: random.Random) -> None:
    env = WebShopEnv(_SMALL, split="all", max_steps=20)
    env.reset(seed=0)
    info, ended = env.step("search[<r>]")[4], False
    while not ended:
        offered = [f"click[{button}]" for button in info["available_actions"]["clickables"]]
        _, reward, terminated, truncated, info = env.step(rng.choice([*offered, "search[<r>]"]))
        ended = terminated or truncated
        assert info["action_valid"], info["error"]
        assert info["reason"] == ("bought" if terminated else "step limit" if truncated else "")
        assert (reward, "score" in info) == (info["score"]["total"], True) if terminated else (0.0, False)


def test_the_space_holds_texts_and_nothing_else() -> None:
    space = AnyText(seed=3)
    samples = [space.sample() for _ in range(50)]
    assert all(sample in space for sample in samples)
    assert len(set(samples)) > 30
    assert [AnyText(seed=3).sample()] == samples[:1]
    assert "\u202e\ud800\x00" in space
    assert 3 not in space
    assert space == AnyText()
    assert space != gymnasium.spaces.Text(3)
    with pytest.raises(UsageError, match="mask"):
        space.sample(mask=np.ones(3))  # type: ignore[arg-type]


def test_without_gymnasium_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "envs.webshop.gym")
    with pytest.raises(ImportError, match=r"pip install 'aes-runtime\[gymnasium\]'") as raised:
        importlib.import_module("envs.webshop.gym")
    assert isinstance(raised.value, UsageError)


def test_the_shop_does_without_it() -> None:
    code = "import sys, envs.webshop; print('gymnasium' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


_SMALL = Catalog.generate(20)
