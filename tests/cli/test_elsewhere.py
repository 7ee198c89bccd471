"""`--devices http://...` and `aes engine` at the command line: what is refused, and what is shown before a run."""

from __future__ import annotations

import asyncio
import shlex
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import pytest

from aes.engine.model import BaseModel
from tests.aes.engine.remote.serving import TOKEN, FakeHost, Serving
from tests.cli.conftest import Aes

Refused = Callable[..., str]

SMALL = ("--products", 60, "--eval-goals", 10, "--targets", "down_proj")


@contextmanager
def served(host: FakeHost) -> Iterator[str]:
    """The address of a server in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    stack = AsyncExitStack()
    try:
        serving = asyncio.run_coroutine_threadsafe(stack.enter_async_context(Serving(host)), loop).result(30)
        yield serving.url
    finally:
        asyncio.run_coroutine_threadsafe(stack.aclose(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def like(model: Path) -> FakeHost:
    """A server of this model."""
    return FakeHost(model_digest=BaseModel.inspect(str(model)).digest, context=512)


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AES_TOKEN", TOKEN)
    monkeypatch.delenv("AES_TOKEN_FILE", raising=False)


def test_a_dry_run_asks_the_servers(aes: Aes, token: None, tiny_model: Path) -> None:
    with served(like(tiny_model)) as one, served(like(tiny_model)) as two:
        flags = ("--devices", f"{one},{two}", "--model", tiny_model, "--rank", 8)
        code, out, err = aes("train", "--dry-run", *flags, *SMALL)
    words = " ".join(out.replace("│", " ").split())
    assert (code, err) == (0, "")
    assert "8 members in flight, 4 per engine at most" in words
    assert f"vllm on {one}, {two}" in words
    assert TOKEN not in out


def test_members_for_which_servers_have_no_slots(refused: Refused, token: None, tiny_model: Path) -> None:
    with served(like(tiny_model)) as url:
        flags = ("--devices", url, "--model", tiny_model, "--rank", 8, "--in-flight", 5)
        assert "--in-flight 5: the engines have 4 slots" in refused("train", *flags, *SMALL)


def test_every_server_that_is_not_there_is_one_line(aes: Aes, token: None, tiny_model: Path, tmp_path: Path) -> None:
    devices = "http://127.0.0.1:1,https://127.0.0.1:2/engine"
    code, _, err = aes("train", "--devices", devices, "--model", tiny_model, *SMALL)
    assert code == 2
    first, second = err.splitlines()
    assert first.startswith("aes: engine http://127.0.0.1:1: cannot be reached")
    assert second.startswith("aes: engine https://127.0.0.1:2/engine: cannot be reached")
    assert "aes engine" in first
    assert list(tmp_path.iterdir()) == []


def test_a_server_with_another_model(refused: Refused, token: None, tiny_model: Path) -> None:
    with served(FakeHost()) as url:
        assert "it serves another model" in refused("train", "--devices", url, "--model", tiny_model, *SMALL)


def test_a_server_with_another_token(
    refused: Refused, token: None, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AES_TOKEN", "another-token-of-length")
    with served(like(tiny_model)) as url:
        line = refused("train", "--devices", url, "--model", tiny_model, *SMALL)
    assert "it has another token" in line
    assert "another-token-of-length" not in line


def test_no_token(refused: Refused, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AES_TOKEN", "AES_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    flags = ("--devices", "http://127.0.0.1:1", "--model", tiny_model, *SMALL)
    assert "no token for servers elsewhere (give --token-file FILE" in refused("train", *flags)
    assert "--token-file nowhere: cannot be read" in refused("train", *flags, "--token-file", "nowhere")


@pytest.mark.parametrize(
    ("devices", "said"),
    [
        ("http://", "not an address"),
        ("ftp://somewhere:1", "not an address"),
        ("http://somewhere:99999", "not an address"),
        ("http://me:secret@somewhere:1", "--devices http://somewhere:1: not an address"),
        ("http://somewhere:1?token=1", "no user, no query"),
        ("http://somewhere:1,http://somewhere:1", "2 times"),
        ("http://somewhere:1,cpu:999", "no such device"),
    ],
)
def test_addresses_that_are_none(refused: Refused, token: None, devices: str, said: str) -> None:
    line = refused("train", "--devices", devices)
    assert said in line
    assert "secret" not in line


def test_a_fake_engine_is_not_elsewhere(refused: Refused, token: None) -> None:
    assert "leave one out" in refused("train", "--engine", "fake", "--devices", "http://somewhere:1")


def test_a_policy_that_is_not_made_yet_can_be_nowhere_else(refused: Refused, token: None) -> None:
    assert "aes warmstart" in refused("train", "--devices", "http://somewhere:1", "--products", 60)
    assert "aes warmstart" in refused("engine", "--products", 60)


def test_a_line_for_each_device(aes: Aes, token: None, tiny_model: Path) -> None:
    flags = ("--devices", "cuda:0,cuda:1", "--model", tiny_model, "--targets", "down_proj", "--slots", 6)
    code, out, err = aes("engine", *flags, "--port", 8001, "--host", "10.0.0.1")
    assert (code, err) == (0, "")
    lines = [shlex.split(line) for line in out.splitlines()]
    for number, words in enumerate(lines):
        assert f"CUDA_VISIBLE_DEVICES={number}" in words
        assert f"serve {tiny_model} --host 10.0.0.1 --port {8001 + number}" in " ".join(words)
        assert words[words.index("--max-loras") + 1] == "7"
    assert len(lines) == 2
    assert TOKEN not in out


def test_a_line_for_what_is_none(refused: Refused, tiny_model: Path) -> None:
    assert "name it as the machine does" in refused("engine", "--model", tiny_model, "--devices", "http://somewhere:1")
    assert "it needs no server" in refused("engine", "--engine", "fake")
    assert "there are no 2 ports" in refused("engine", "--devices", "cuda:0,cuda:1", "--port", 65535)
    assert "no such linear layers" in refused("engine", "--model", tiny_model, "--targets", "nothing")
