"""The token that a driver and its servers share: read from a file or the environment, and never written anywhere."""

from __future__ import annotations

import os
from pathlib import Path

from aes.errors import ConfigError

TOKEN = "AES_TOKEN"
TOKEN_FILE = "AES_TOKEN_FILE"
SHORTEST = 16

CURE = "python -c 'import secrets; print(secrets.token_urlsafe(32))' > FILE makes one"


def read(file: Path | None = None) -> str:
    """The token in a file; without one, that of the environment (AES_TOKEN_FILE, or AES_TOKEN). Raises ConfigError."""
    named = os.environ.get(TOKEN_FILE)
    where = f"--token-file {file}" if file else f"{TOKEN_FILE} {named}"
    path = file or (Path(named) if named else None)
    if path is None:
        token, where = os.environ.get(TOKEN, ""), TOKEN
        if not token:
            raise ConfigError(f"no token for servers elsewhere (give --token-file FILE, or set {TOKEN}; {CURE})")
    else:
        try:
            token = path.expanduser().read_text(encoding="ascii")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not ASCII"
            raise ConfigError(f"{where}: cannot be read ({reason}); {CURE}") from None
    token = token.strip()
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(f"{where}: a token is one word of {SHORTEST} ASCII characters or more ({CURE})")
    return token
