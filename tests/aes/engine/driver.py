"""A program with an engine, for the tests to kill: `python -m tests.aes.engine.driver MODEL`.

It says "open" when the engine answers, and "heard" when it still does after an interrupt.
"""

from __future__ import annotations

import asyncio
import signal
import sys

from aes import Lora
from aes.engine.model import BaseModel
from aes.engine.options import VllmOptions
from aes.engine.vllm import VllmEngine
from aes.types import Member, Sampling


async def main(model: str) -> None:
    """Generate for ever."""
    heard: list[int] = []
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, heard.append, 1)
    options = VllmOptions(slots=2, context=256, cache_gib=1, sequences=8)
    async with VllmEngine(BaseModel.inspect(model), Lora(rank=2, targets=("down_proj",)), options) as engine:
        await engine.observe(True)
        async with engine.seat(Member(0)) as seat:
            print("open", flush=True)
            while True:
                before = len(heard)
                await seat.generate([1, 2, 3], Sampling(max_tokens=64))
                if before:
                    print("heard", flush=True)
                    heard.clear()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
