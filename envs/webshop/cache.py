"""Where made things are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """The folder that aes keeps made things in: $AES_CACHE, else ~/.cache/aes."""
    return Path(os.environ.get("AES_CACHE") or Path.home() / ".cache" / "aes")
