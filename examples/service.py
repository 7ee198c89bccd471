"""A run beside a running service: started, watched, and its best adapter fetched over HTTP, all in one event loop.

python examples/service.py          (a short visit by a client of its own)
python examples/service.py serve    (until Ctrl-C; then: curl http://127.0.0.1:8080/)
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from aiohttp import ClientSession, web

from aes import AgentTask, Config, Policy, Run
from aes.engine.fake import FakeEngine

ROOMS = ["red", "green", "blue"]
CONFIG = Config(updates=40, pairs=8, goals=4, sigma=1.0, lr=1.0, eval_every=2, eval_goals=30, max_tokens=64)
RUN = web.AppKey("run", Run)


async def play(policy: Policy, goal: int, seed: int) -> float:
    room = ROOMS[goal % 3]
    said = f"The {room} door, please.\n{' '.join(f'open[{other}]' for other in ROOMS)}"
    reply = await policy.complete([{"role": "user", "content": said}])
    return float(reply.text == f"open[{room}]")


TASK = AgentTask("doors", play, train_goals=range(60), eval_goals=range(60, 90))


async def training(app: web.Application) -> AsyncIterator[None]:
    """Train for as long as the service runs; leaving the block cancels the run and leaves nothing behind."""
    async with FakeEngine(latency=lambda member, length: 0.001) as engine, Run(TASK, engine, CONFIG) as run:
        app[RUN] = run
        yield


async def status(request: web.Request) -> web.Response:
    run = request.app[RUN]
    best = run.best._asdict() if run.best else None
    return web.json_response({"version": run.metrics.version, "best": best, "finished": run.finished})


async def best(request: web.Request) -> web.Response:
    """The best adapter so far, while training goes on."""
    run = request.app[RUN]
    if run.best is None:
        raise web.HTTPServiceUnavailable(text="nothing is evaluated yet")
    with tempfile.TemporaryDirectory() as folder:
        await run.export(run.best.version, Path(folder))
        name, content = await asyncio.to_thread(_only_file, Path(folder))
    return web.Response(body=content, headers={"Content-Disposition": f"attachment; filename={name}"})


def _only_file(folder: Path) -> tuple[str, bytes]:
    (file,) = folder.glob("*.safetensors")
    return file.name, file.read_bytes()


def make_app() -> web.Application:
    app = web.Application()
    app.cleanup_ctx.append(training)
    app.add_routes([web.get("/", status), web.get("/best", best)])
    return app


async def visit() -> None:
    runner = web.AppRunner(make_app())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    seen = -1
    async with ClientSession(f"http://{host}:{port}") as client:
        while seen < 4:
            told = await (await client.get("/")).json()
            if told["best"] and told["best"]["version"] > seen:
                seen = told["best"]["version"]
                adapter = await (await client.get("/best")).read()
                print(f"version {seen}: score {told['best']['score']:.2f}, {len(adapter)} bytes")
            if told["finished"]:
                break
            await asyncio.sleep(0.01)
    await runner.cleanup()


if __name__ == "__main__":
    web.run_app(make_app(), host="127.0.0.1") if sys.argv[1:] == ["serve"] else asyncio.run(visit())
