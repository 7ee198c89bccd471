from __future__ import annotations

import json
from typing import Any

import pytest

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.shop.shop import TextShop
from envs.webshop.site.requests import MAX_BODY
from tests.envs.webshop.site.conftest import Api, Client

PURCHASE = ("search[red running shoes]", "click[b000000001]", "click[9 [wide]]", "click[red | blue]", "click[buy now]")


async def opened(api: Api, **body: Any) -> str:
    answer = await api("POST", "/sessions", {"split": "all", "goal": 0, **body})
    assert answer.status == 201
    name: str = answer.body["session"]
    return name


async def act(api: Api, session: str, action: str) -> Any:
    answer = await api("POST", f"/sessions/{session}/actions", {"action": action})
    assert answer.status == 200
    return answer.body


async def test_health(api: Api, catalog: Catalog) -> None:
    body = (await api("GET", "/health")).body
    assert body["catalog"] == catalog.fingerprint
    assert body["products"] == 3
    assert body["goals"] == {"train": 4, "dev": 1, "test": 1, "all": 6}
    assert (body["sessions"], body["max_sessions"], body["idle_s"]) == (0, 4096, 3600)


@pytest.mark.parametrize("compat", [False, True])
async def test_an_episode_is_the_text_shops(compat: bool, api: Api, catalog: Catalog) -> None:
    shop = TextShop(catalog, compat, goals=catalog.goals("synthetic", "all"))
    observation, _ = shop.reset(goal=3)
    answer = await api("POST", "/sessions", {"split": "all", "goal": 3, "compat": compat})
    assert answer.body["observation"] == observation
    assert answer.body["goal"] == {
        "id": shop.goal.id,
        "index": 3,
        "split": "train",
        "instruction": shop.goal.instruction,
    }
    for action in (*PURCHASE, "search[after the end]", "click[nothing]", "", "no action"):
        observation, reward, terminated, truncated, info = shop.step(action)
        body = await act(api, answer.body["session"], action)
        assert body["observation"] == observation
        assert (body["reward"], body["terminated"], body["truncated"]) == (reward, terminated, truncated)
        assert (body["action_valid"], body["error"]) == (info["action_valid"], info["error"])
        assert body["available_actions"]["clickables"] == list(shop.available_actions.clickables)
        assert body["available_actions"]["search"] == shop.available_actions.search


async def test_the_score_comes_with_the_purchase_and_stays_out_of_the_text(api: Api) -> None:
    session = await opened(api)
    for action in PURCHASE:
        body = await act(api, session, action)
        assert (body["score"] is not None) == (action == "click[buy now]")
    score = body["score"]
    whole = score["r_att"] * score["w_att"] + (score["r_option"] or 0) * (score["w_option"] or 0)
    assert body["reward"] == score["total"] > 0
    assert score["total"] == pytest.approx(score["r_type"] * (whole + score["r_price"] * score["w_price"]))
    assert str(score["total"]) not in body["observation"]
    assert body["reason"] == "bought"


async def test_observing_repeats_the_last_answer(api: Api) -> None:
    session = await opened(api)
    for action in (*PURCHASE, "click[buy now]"):
        body = await act(api, session, action)
        assert (await api("GET", f"/sessions/{session}")).body == body
    assert body["terminated"]
    assert not body["action_valid"]
    assert body["reward"] == 0


async def test_a_step_limit_truncates(api: Api) -> None:
    session = await opened(api, max_steps=2)
    assert not (await act(api, session, "search[shoes]"))["truncated"]
    body = await act(api, session, "anything")
    assert (body["truncated"], body["terminated"], body["reason"]) == (True, False, "step limit")
    assert body["available_actions"] == {"search": False, "clickables": []}


async def test_closing(api: Api) -> None:
    session = await opened(api)
    assert (await api("DELETE", f"/sessions/{session}")).status == 204
    for method, path, body in (("GET", "", None), ("DELETE", "", None), ("POST", "/actions", {"action": "search[a]"})):
        answer = await api(method, f"/sessions/{session}{path}", body)
        assert answer.status == 404
        assert answer.body["error"]["code"] == "no_such_session"


async def test_sessions_do_not_mix(api: Api) -> None:
    one, other = await opened(api), await opened(api, goal=1)
    first = (await act(api, one, "search[lamp]"))["observation"]
    second = (await act(api, other, "search[shoes]"))["observation"]
    assert (await api("GET", f"/sessions/{one}")).body["observation"] == first != second
    assert (await act(api, other, "click[b000000003]"))["action_valid"] is False
    assert (await act(api, one, "click[b000000003]"))["action_valid"] is True


async def test_the_address_of_a_new_session(client: Client) -> None:
    response = await client.post("/api/v1/sessions", json={"split": "all"})
    assert response.headers["Location"] == f"/api/v1/sessions/{(await response.json())['session']}"


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ({"split": "all", "goal": 6}, "no_such_goal", "no goal 6; there are 6, counted from 0, in split 'all'"),
        ({"goals": 1}, "unknown_field", "unknown field 'goals'; did you mean 'goal'?"),
        ({"goal": "1"}, "bad_field", "field 'goal'"),
        ({"goal": True}, "bad_field", "field 'goal'"),
        ({"goal": 1.5}, "bad_field", "field 'goal'"),
        ({"goal": -1}, "bad_field", "greater than or equal to 0"),
        ({"goal": 2**60}, "bad_field", "less than"),
        ({"seed": 10**400}, "bad_field", "field 'seed'"),
        ({"split": "training"}, "bad_field", "'train', 'dev', 'test' or 'all', but is 'training'"),
        ({"compat": "yes"}, "bad_field", "field 'compat'"),
        ({"goal": float("nan")}, "bad_field", "field 'goal'"),
        ({"max_steps": 0}, "bad_field", "field 'max_steps'"),
        ([], "bad_field", "the body"),
        (None, "bad_field", "the body"),
        ("x" * 10_000, "bad_field", "the body"),
    ],
)
async def test_bodies_that_cannot_be(body: Any, code: str, said: str, api: Api) -> None:
    content = json.dumps(body).encode()
    answer = await api("POST", "/sessions", data=content, headers={"Content-Type": "application/json"})
    assert answer.status == 422
    assert answer.body["error"]["code"] == code
    assert said in answer.body["error"]["message"]
    assert len(answer.body["error"]["message"]) < 250


@pytest.mark.parametrize("action", [None, 1, ["search[a]"], {"search": "a"}, True])
async def test_actions_that_are_no_text(action: Any, api: Api) -> None:
    session = await opened(api)
    answer = await api("POST", f"/sessions/{session}/actions", {"action": action})
    assert (answer.status, answer.body["error"]["code"]) == (422, "bad_field")
    answer = await api("POST", f"/sessions/{session}/actions", {})
    assert (answer.status, answer.body["error"]["message"]) == (422, "field 'action': Field required")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"{'goal': 1}", b"\xff\xfe{}", b'{"action": "\\ud800"}', b"[" * 60_000, b"{}{}"],
)
async def test_bodies_that_are_no_json(content: bytes, api: Api) -> None:
    answer = await api("POST", "/sessions", data=content, headers={"Content-Type": "application/json"})
    assert (answer.status, answer.body["error"]["code"]) == (400, "bad_json")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "nonsense", "multipart/form-data"])
async def test_bodies_of_another_kind(kind: str, api: Api) -> None:
    answer = await api("POST", "/sessions", data=b"{}", headers={"Content-Type": kind})
    assert (answer.status, answer.body["error"]["code"]) == (415, "not_json")


async def test_a_body_that_is_too_large(api: Api) -> None:
    session = await opened(api)
    frame = len(json.dumps({"action": ""}))
    fits = await api("POST", f"/sessions/{session}/actions", {"action": "x" * (MAX_BODY - frame)})
    assert (fits.status, fits.body["action_valid"]) == (200, False)
    answer = await api("POST", f"/sessions/{session}/actions", {"action": "x" * (MAX_BODY - frame + 1)})
    assert (answer.status, answer.body["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "", 404, "not_found"),
        ("GET", "/", 404, "not_found"),
        ("GET", "/health/", 404, "not_found"),
        ("GET", "/sessions/a/b", 404, "not_found"),
        ("GET", "/sessions", 405, "method_not_allowed"),
        ("PUT", "/sessions/x", 405, "method_not_allowed"),
        ("GET", "/sessions/%00", 404, "no_such_session"),
        ("GET", "/sessions/%ff%fe", 404, "no_such_session"),
        ("GET", f"/sessions/{'x' * 4000}", 404, "no_such_session"),
    ],
)
async def test_addresses_that_are_not_there(method: str, path: str, status: int, code: str, client: Client) -> None:
    response = await client.request(method, f"/api/v1{path}")
    assert response.status == status
    assert (await response.json())["error"]["code"] == code
    assert ("Allow" in response.headers) == (status == 405)
