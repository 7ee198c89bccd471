"""A vLLM engine as long as it lives: calls to its worker, replies, and what its errors mean."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import count
from typing import Any

from aes.engine.life import Life
from aes.errors import EngineError, GenerationFailed


class LiveLLM:
    """An AsyncLLM that somebody has started. Its life ends once; whoever asks anything later gets EngineLost."""

    def __init__(self, llm: Any, device: str, names: Iterator[int] | None = None) -> None:
        """`names` gives every request a name of its own; they must be unlike those of other users of the same vLLM."""
        self._llm = llm
        self._device = device
        self._names = names or count()
        self._life = Life(device)

    async def lost(self) -> str:
        """Wait for the end of its life; the reason."""
        return await self._life.ended()

    async def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the worker between two decoding steps. Raises EngineLost, EngineError."""
        return (await self._ask(lambda: self._llm.collective_rpc(method, args=arguments), method))[0]

    async def forget(self, adapter: int) -> None:
        """Forget an adapter and every prompt that has been seen. Raises EngineLost, EngineError."""
        await self._ask(self._llm.reset_prefix_cache, "reset_prefix_cache")
        await self._ask(lambda: self._llm.remove_lora(adapter), "remove_lora")

    async def generate(self, prompt: Sequence[int], params: Any, request: Any) -> Any:
        """What vLLM makes of token ids. Cancelling aborts the request. Raises EngineLost, GenerationFailed."""
        # A finished input, as vLLM's renderer gives it: a mere prompt is sent through a thread first, for a tokenizer.
        name, tokens = str(next(self._names)), {"type": "token", "prompt_token_ids": list(prompt)}
        async with self._life.living():
            try:
                outputs = [out async for out in self._llm.generate(tokens, params, name, lora_request=request)]
            except Exception as error:
                from vllm.exceptions import VLLMClientError
                from vllm.v1.engine.exceptions import EngineGenerateError

                self._unless_lost(error)
                if not isinstance(error, ValueError | VLLMClientError | EngineGenerateError):
                    raise
                reason = error.__cause__ or error
                raise GenerationFailed(f"engine {self._device} refused a request: {reason}") from error
        if not outputs:
            raise GenerationFailed(f"engine {self._device} answered nothing")
        return outputs[-1].outputs[0]

    async def close(self) -> None:
        """End its life here. What was started by somebody else goes on."""
        self._life.end("it is closed")

    async def _ask(self, call: Callable[[], Awaitable[Any]], what: str) -> Any:
        """Wait for an answer, which vLLM itself would do for ever where the process has died."""
        async with self._life.living():
            try:
                return await call()
            except Exception as error:
                self._unless_lost(error)
                raise EngineError(f"engine {self._device}: {what} failed ({error})") from error

    def _unless_lost(self, error: Exception) -> None:
        """Raise EngineLost where an error comes of the engine's death, in whatever way that makes itself felt."""
        from vllm.v1.engine.exceptions import EngineDeadError

        if isinstance(error, EngineDeadError):
            self._life.end(self._how())
        self._life.check()

    def _how(self) -> str:
        """How vLLM has ended, in words."""
        return "vLLM met an error that it could not go on from"
