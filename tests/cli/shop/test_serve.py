"""`aes serve` as a user starts, stops and mistypes it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Aes

Refused = Callable[..., str]
SMALL = ("--port", 0, "--products", 20)


@contextmanager
def served(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """The process, its address, and what it has said."""
    command = [sys.executable, "-c", "from cli.aes_app import main; main()", "serve", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            said: list[str] = []
            for line in process.stdout:
                said.append(line.rstrip())
                if line.startswith("Ctrl-C"):
                    break
            address = next((line.split()[1] for line in said if line.startswith("shop:")), "")
            yield process, address, said
        finally:
            process.kill()


def fetch(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=10) as response:
        return bytes(response.read())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serving_until_told_to_stop(number: signal.Signals) -> None:
    with served(*SMALL, "--catalog-seed", 3) as (process, address, said):
        assert said[0] == "loading the catalogue"
        assert said[1].startswith("20 products, ")
        assert b"Start shopping" in fetch(address)
        health = json.loads(fetch(f"{address}api/v1/health"))
        assert (health["products"], health["goal_kind"]) == (20, "synthetic")
        # A browser keeps its connection open; that must not hold up the end.
        with socket.create_connection(("127.0.0.1", int(address.rstrip("/").rpartition(":")[2]))) as idle:
            idle.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert idle.recv(15) == b"HTTP/1.1 200 OK"
            with socket.create_connection(idle.getpeername()) as rude:
                rude.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: \0\r\n\r\n")
                assert rude.recv(12) == b"HTTP/1.0 400"
            process.send_signal(number)
            out, err = process.communicate(timeout=10)
    assert process.returncode == 0
    assert out.splitlines()[-1] == "stopped"
    assert err == ""


def test_other_hosts_are_warned_of() -> None:
    with served(*SMALL, "--host", "0.0.0.0") as (process, _, _):
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    assert err == "warning: --host 0.0.0.0: whoever reaches this machine can use the shop; there is no login\n"


def test_a_port_that_is_taken(refused: Refused) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        line = refused("serve", "--port", taken.getsockname()[1])
    assert "Address already in use (--port 0 takes any free port)" in line


@pytest.mark.parametrize("port", [-1, 65536, "http"])
def test_a_port_that_is_none(port: object, refused: Refused) -> None:
    assert "--port" in refused("serve", "--port", port)


@pytest.mark.parametrize("host", ["", "x" * 300, "203.0.113.7"])
def test_a_host_that_is_none(host: str, refused: Refused) -> None:
    assert refused("serve", "--port", 0, "--host", host).startswith(f"--host {host}")


def test_data_that_is_not_there(refused: Refused, tmp_path: Path) -> None:
    assert "no folder" in refused("serve", "--port", 0, "--data", tmp_path / "nowhere")
    assert "items_shuffle.json" in refused("serve", "--port", 0, "--data", tmp_path)


def test_goals_that_are_not_there(refused: Refused) -> None:
    assert "no human goals" in refused("serve", *SMALL, "--goal-kind", "human")


def test_help(aes: Aes) -> None:
    code, out, _ = aes("serve", "--help")
    assert code == 0
    assert "this machine alone" in " ".join(out.replace("│", " ").split())
