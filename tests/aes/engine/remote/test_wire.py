"""Records arrive as they were sent, and nothing else passes for one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aes.engine.remote import wire
from aes.structured import Choice, JsonSchema, Regex
from aes.types import Member, Sampling, Term, Update

SEEDS = st.integers(0, 2**63 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
MEMBERS = st.builds(Member, st.integers(0, 2**53 - 1), SEEDS, st.sampled_from([-1, 0, 1]), FLOATS)
FORMS = st.one_of(
    st.none(),
    st.builds(Regex, st.text(max_size=9)),
    st.builds(Choice, st.lists(st.text(max_size=9), min_size=1, max_size=3).map(tuple)),
    st.just(JsonSchema({"type": "object", "properties": {"a": {"type": "number"}}})),
)
SAMPLINGS = st.builds(
    Sampling, st.integers(1, 2**31 - 1), st.floats(0, 1e6), st.none() | SEEDS,
    st.lists(st.text(max_size=9), max_size=3).map(tuple), FORMS,
)  # fmt: skip
UPDATES = st.builds(Update, st.integers(0, 2**31), st.lists(st.builds(Term, SEEDS, FLOATS), max_size=5).map(tuple),
                    FLOATS, FLOATS)  # fmt: skip
PROMPTS = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=20).map(tuple)


@given(MEMBERS, PROMPTS, SAMPLINGS)
def test_a_request_arrives_as_it_was_sent(member: Member, prompt: tuple[int, ...], sampling: Sampling) -> None:
    sent = wire.Generate(member=member, prompt=prompt, sampling=sampling)
    got = wire.Generate.model_validate_json(sent.model_dump_json())
    assert got == sent
    assert got.member.name == member.name  # to the last bit of sigma


@given(UPDATES)
def test_an_update_arrives_to_the_bit(update: Update) -> None:
    sent = wire.Advance(update=update, keep=(1, 2), lags=(0,))
    assert wire.Advance.model_validate_json(sent.model_dump_json()).update == update


REQUEST = {
    "member": {"version": 1, "seed": 2, "sign": -1, "sigma": 0.5},
    "prompt": [1, 2],
    "sampling": {"max_tokens": 4, "temperature": 0.0, "seed": None, "stop": [], "structured": None},
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("member", "seed"), -1), (("member", "seed"), 2**63), (("member", "sign"), 2), (("member", "sigma"), "0.5"),
        (("member", "version"), -1), (("member", "version"), 1.5), (("member", "more"), 1), (("prompt",), []),
        (("prompt",), [-1]), (("prompt",), [2**31]), (("prompt",), "12"), (("prompt",), [True]), (("path",), "/etc"),
        (("sampling", "max_tokens"), 0), (("sampling", "temperature"), -1.0), (("sampling", "seed"), -1),
        (("sampling", "stop"), "a"), (("sampling", "structured"), {"options": []}),
        (("sampling", "structured"), {"pattern": "a", "path": "b"}),
    ],
)  # fmt: skip
def test_a_request_with_one_thing_wrong_is_refused(path: tuple[str, ...], value: Any) -> None:
    wire.Generate.model_validate_json(json.dumps(REQUEST))
    request = json.loads(json.dumps(REQUEST))
    inner = request
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(ValidationError):
        wire.Generate.model_validate_json(json.dumps(request))


def test_no_number_that_is_none() -> None:
    text = json.dumps(REQUEST)
    for none in ("NaN", "Infinity", "1e999"):
        with pytest.raises(ValidationError):
            wire.Generate.model_validate_json(text.replace("0.5", none))


def test_the_digest_of_the_sources_is_one_word() -> None:
    assert len(wire.extension()) == 16
    assert wire.extension() == wire.extension()
