"""One vLLM process and the way to it. It lives once: whoever needs it again starts another."""

from __future__ import annotations

import asyncio
import multiprocessing
import shutil
import tempfile
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from aes.engine.llm import LiveLLM
from aes.engine.options import VllmOptions, environment
from aes.engine.process import EngineProcess
from aes.errors import EngineError

PARTS = 10
"""Parts of the time after which an engine that does not answer is taken for dead."""


class Server(LiveLLM):
    """An AsyncLLM and its process; `start` makes one.

    A process that ends, or that leaves a call unanswered for `engine_seconds`, ends the server's life: whoever waits
    for an answer, or asks anything later, gets EngineLost.
    """

    def __init__(self, start: Start, options: VllmOptions) -> None:
        super().__init__(start.take(), options.device)
        self._limit = options.engine_seconds
        self._process = EngineProcess(process_of(self._llm), start.folder, self._life.end)
        self._beating = asyncio.create_task(self._beat(), name=f"heartbeat {options.device}")

    @classmethod
    async def start(cls, options: VllmOptions, arguments: dict[str, Any]) -> Server:
        """Start vLLM off the event loop; servers of one driver start one after the other.

        Raises EngineError. Cancelling kills what has been started.
        """
        start = Start(options, arguments)
        starting = asyncio.ensure_future(asyncio.to_thread(start.run))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            while not (await asyncio.wait([starting], timeout=0.1))[0]:
                start.abort()
            if starting.exception() is None:
                await cls(start, options).close()
            raise
        return cls(start, options)

    async def close(self) -> None:
        """End the process and remove what it leaves; a cancelled caller does not stop that."""
        self._life.end("it is closed")
        self._beating.cancel()
        self._process.forget()
        if self._llm.output_handler is not None:  # else it takes the end of the process for a crash and logs one
            self._llm.output_handler.cancel()
        await asyncio.to_thread(self._shut)
        await asyncio.wait([self._beating])

    def _shut(self) -> None:
        self._llm.shutdown()
        self._process.clean()
        self._llm = None  # its destructor must not be left to the end of the program

    def _how(self) -> str:
        return self._process.how()

    async def _beat(self) -> None:
        """Kill the process when it leaves calls unanswered for too long.

        Time is taken in parts, so that a long one in which our own event loop stood still counts no more than a short.
        """
        part, unanswered = self._limit / PARTS, 0
        why = f"no answer for {self._limit:g} s (engine_seconds)"
        while unanswered < PARTS:
            try:
                async with asyncio.timeout(part):
                    await self.call("aes_ping")
            except TimeoutError:
                unanswered += 1
            except EngineError as error:
                why = f"its heart has stopped ({error})"
                break
            else:
                unanswered = 0
                await asyncio.sleep(part)
        self._life.end(why)
        self._process.kill()


class Start:
    """The start of one server, in a thread of its own; `abort` may be called from another.

    Attributes:
        folder: where the engine makes its sockets; gone again when the start has failed.
    """

    def __init__(self, options: VllmOptions, arguments: dict[str, Any]) -> None:
        self.folder = Path()
        self._options = options
        self._arguments = arguments
        self._before: set[BaseProcess] | None = None
        self._aborted = False
        self._llm: Any = None

    def run(self) -> None:
        """Start vLLM; blocks for many seconds. Raises EngineError."""
        try:
            self.folder = Path(tempfile.mkdtemp(prefix="aes-"))
            with environment(self._options, self.folder):
                from vllm import AsyncEngineArgs
                from vllm.v1.engine.async_llm import AsyncLLM

                from aes.engine.executor import OneProcess

                self._before = set(multiprocessing.active_children())
                if self._aborted:
                    raise EngineError(f"engine {self._options.device}: its start was given up")
                executor = {"distributed_executor_backend": OneProcess}
                self._llm = AsyncLLM.from_engine_args(AsyncEngineArgs(**self._arguments, **executor))
        except Exception as error:
            if self.folder != Path():
                shutil.rmtree(self.folder, ignore_errors=True)
            reason = str(error).strip().partition("\n")[0]
            raise EngineError(f"engine {self._options.device}: vLLM did not start ({reason})") from error
        finally:
            self._before = None

    def take(self) -> Any:
        """The AsyncLLM that `run` has started, once: whoever has it closes it, and nothing else must hold it then."""
        llm, self._llm = self._llm, None
        return llm

    def abort(self) -> None:
        """Kill the process, if there is one yet. Only one start at a time is at this point."""
        self._aborted = True
        if self._before is not None:
            for process in set(multiprocessing.active_children()) - self._before:
                if process.name == "EngineCore":
                    process.kill()


def process_of(llm: Any) -> BaseProcess:
    """The process behind an AsyncLLM."""
    process: BaseProcess = llm.engine_core.resources.engine_manager.processes[0]
    return process
