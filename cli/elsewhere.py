"""Engines elsewhere, from `--devices http://host:port`: their addresses checked, the servers looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aes.errors import ConfigError, UsageError
from cli.errors import Refused
from cli.settings import TrainSettings

if TYPE_CHECKING:
    from aes.engine.model import BaseModel
    from aes.engine.remote.client import RemoteEngine
    from aes.protocols import Engine


def is_address(device: str) -> bool:
    """Whether a device is a server elsewhere."""
    return "://" in device


def here(settings: TrainSettings) -> list[str]:
    """The devices of this machine."""
    return [device for device in settings.devices if not is_address(device)]


def checks(settings: TrainSettings) -> Iterator[str]:
    """Everything that speaks against the addresses, without asking there."""
    for device in filter(is_address, settings.devices):
        if not _usable(device):
            yield f"--devices {shown(device)}: not an address (write http://HOST:PORT, or https; no user, no query)"
    if settings.engine == "fake" and any(map(is_address, settings.devices)):
        yield "--engine fake with servers elsewhere: a fake engine lives in this process (leave one out)"


def make(settings: TrainSettings, model: BaseModel, device: str) -> RemoteEngine:
    """The engine at an address, not looked at yet. Raises ConfigError (the token, adapters that do not fit)."""
    from aes.engine.remote import secret
    from aes.engine.remote.client import RemoteEngine

    if settings.kind == "pocket policy" and not model.digest:
        raise ConfigError("--model pocket with servers elsewhere: it is not made yet (make it with aes warmstart)")
    token = secret.read(settings.token_file)
    return RemoteEngine(device, model, settings.lora, token, settings.dtype, settings.context, settings.engine_seconds)


def look(engines: Sequence[Engine]) -> None:
    """See that every server is there and what the run needs, all at once. Raises Refused; not in an event loop."""
    from aes.engine.remote.client import RemoteEngine

    remote = [engine for engine in engines if isinstance(engine, RemoteEngine)]
    if not remote:
        return
    found = asyncio.run(_look(remote))
    if complaints := [str(error) for error in found if isinstance(error, UsageError)]:
        raise Refused(complaints)
    kinds = {engine.fingerprint["device"] for engine in remote} | _kinds(engines, remote)
    if len(kinds) > 1:
        raise Refused([f"--devices: engines on {' and '.join(sorted(kinds))} draw unlike noise (take one type)"])


async def _look(engines: Sequence[RemoteEngine]) -> list[BaseException | None]:
    found = await asyncio.gather(*(engine.look() for engine in engines), return_exceptions=True)
    for error in found:
        if isinstance(error, BaseException) and not isinstance(error, UsageError):
            raise error
    return found


def _kinds(engines: Sequence[Engine], remote: Sequence[Engine]) -> set[str]:
    return {engine.fingerprint["device"] for engine in engines if engine not in remote}


def _usable(device: str) -> bool:
    try:
        parts = urlsplit(device)
        port = parts.port
    except ValueError:
        return False
    plain = not (parts.username or parts.password or parts.query or parts.fragment)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0 and plain and device.isprintable()


def shown(device: str) -> str:
    """An address without what may be a password in it."""
    scheme, _, rest = device.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
