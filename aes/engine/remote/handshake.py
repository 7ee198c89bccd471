"""The handshake: a server must be what the run needs, to the bit where answers depend on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from aes.engine.model import BaseModel, fused_path
from aes.engine.remote import wire
from aes.engine.remote.wire import Hello
from aes.errors import EngineUnfit
from aes.lora import LoraSpace

_AGAIN = "start it again with the line that `aes engine` prints for these settings"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a run needs of a server.

    `dtype` is a torch dtype's name, or "auto" for vLLM's choice; `observes` is whether module inputs are recorded.
    """

    model: BaseModel
    dtype: str
    space: LoraSpace
    context: int | None
    observes: bool


def read(data: bytes, url: str) -> Hello:
    """What a server says that it is. Raises EngineUnfit where it speaks another version, or of something else."""
    try:
        version = json.loads(data)["wire"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise EngineUnfit(f"engine {url}: no engine of aes there ({_AGAIN})") from None
    if version != wire.WIRE:
        raise EngineUnfit(
            f"engine {url}: it speaks version {version!r:.20} of the wire, we {wire.WIRE} (install one aes on both)"
        )
    try:
        return Hello.model_validate_json(data)
    except ValidationError as error:
        where = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
        raise EngineUnfit(f"engine {url}: it says nothing of use about itself ({where}; {_AGAIN})") from None


def check(hello: Hello, wanted: Wanted, url: str) -> None:
    """Refuse a server that is not what is wanted. Raises EngineUnfit with all that speaks against it, in one line."""
    if complaints := list(_complaints(hello, wanted)):
        raise EngineUnfit(f"engine {url}: {'; '.join(complaints)}")


def _complaints(hello: Hello, wanted: Wanted) -> Iterator[str]:
    if hello.extension != wire.extension():
        yield f"its aes has other sources ({hello.extension}) than ours ({wire.extension()}): install one on both"
    if hello.problem:
        yield hello.problem
    model, space = wanted.model, wanted.space
    if (hello.model_digest or hello.model) != (model.digest or model.name):
        yield (
            f"it serves another model, {hello.model} ({hello.model_digest or 'of its cache'}), than {model.name}"
            f" ({model.digest or 'of the cache'}): give both the same"
        )
    if (hello.asked if wanted.dtype == "auto" else hello.dtype) != wanted.dtype:
        yield f"it computes with {hello.dtype}, the run has --dtype {wanted.dtype} (start both with the same --dtype)"
    if hello.rank < space.rank:
        yield f"its adapters have rank {hello.rank} at most, not {space.rank} ({_AGAIN})"
    if missing := sorted({m.path for m in space.modules if not _adapts(hello, fused_path(m.path))}):
        yield f"it adapts no {', '.join(missing[:3])}{' and more' if missing[3:] else ''} ({_AGAIN})"
    if wanted.context is not None and wanted.context > hello.context:
        yield f"its context is {hello.context} tokens, not {wanted.context} (lower --context, or {_AGAIN})"
    if wanted.observes and not hello.eager:
        yield f"it was started without --enforce-eager, which --basis activations needs ({_AGAIN})"


def _adapts(hello: Hello, path: str) -> bool:
    return hello.modules is None or any(f".{path}".endswith(f".{end}") for end in hello.modules)
