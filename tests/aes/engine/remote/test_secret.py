"""Where the token is looked for, and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from aes.engine.remote import secret
from aes.errors import ConfigError

TOKEN = "0123456789abcdef"


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AES_TOKEN", raising=False)
    monkeypatch.delenv("AES_TOKEN_FILE", raising=False)


def test_a_file_wins_over_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"no token .*--token-file FILE, or set AES_TOKEN"):
        secret.read()
    monkeypatch.setenv("AES_TOKEN", TOKEN)
    assert secret.read() == TOKEN
    (tmp_path / "one").write_text(TOKEN + "1\n")
    (tmp_path / "two").write_text(TOKEN + "2")
    monkeypatch.setenv("AES_TOKEN_FILE", str(tmp_path / "one"))
    assert secret.read() == TOKEN + "1"
    assert secret.read(tmp_path / "two") == TOKEN + "2"


@pytest.mark.parametrize("text", ["", "too-few", f"{TOKEN} {TOKEN}", f"{TOKEN}\nmore", f"{TOKEN}\0", "ä" * 20])
def test_what_is_no_token(tmp_path: Path, text: str) -> None:
    (tmp_path / "token").write_text(text)
    with pytest.raises(ConfigError, match="--token-file") as refused:
        secret.read(tmp_path / "token")
    assert "secrets.token_urlsafe" in str(refused.value)
    assert not text or text not in str(refused.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        secret.read(tmp_path / "nothing")
