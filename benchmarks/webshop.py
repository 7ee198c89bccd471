"""WebShop's own cost: milliseconds a step against the original's, search by size of the catalogue, memory.

The original's figures (1,000 products, one core) were measured on a machine of the same kind, not in the same run:
search 14.5 ms, item page 19.7 ms, purchase 25.7 ms. Steps are of the real catalogue where AES_WEBSHOP_DATA names its
folder, else of a generated one, whose texts are shorter.
"""

from __future__ import annotations

import os
import random
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Effort, Figure
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.shop.shop import TextShop

ORIGINAL_MS = {"search": 14.5, "item": 19.7, "buy": 25.7}
EPISODES = 500
QUERIES = 300


def figures(effort: Effort) -> list[Figure]:
    """Steps at 1,000 products, memory of an episode, search at 1,000 and 100,000 products."""
    repetitions = effort.repetitions
    folder = os.environ.get("AES_WEBSHOP_DATA")
    catalog = Catalog.load(folder, limit=1000) if folder else Catalog.generate(1000)
    steps = [_steps(catalog, seed) for seed in range(repetitions)]
    found = [
        Figure(
            f"WebShop {name}: original / aes",
            "x",
            [ORIGINAL_MS[name] / float(np.median(step[name])) for step in steps],
            {
                f"p{p} us": float(np.percentile([v for step in steps for v in step[name]], p)) * 1e3
                for p in (50, 95, 99)
            },
            better="higher",
        )
        for name in ORIGINAL_MS
    ]
    rates = [sum(map(len, step.values())) / (sum(map(sum, step.values())) / 1e3) for step in steps]
    found.append(Figure("WebShop steps a second, one core", "", rates, better="higher"))
    found.append(Figure("memory an open episode", "KiB", [_episode_kib(catalog) for _ in range(repetitions)]))
    found.append(_search(1000, repetitions))
    return found if effort.quick else [*found, _search(100_000, repetitions)]


def million(effort: Effort) -> list[Figure]:
    """Search and memory at a million products; making them takes two minutes."""
    return [_search(1_000_000, effort.repetitions)]


def _steps(catalog: Catalog, seed: int) -> dict[str, list[float]]:
    """Milliseconds of the steps of whole episodes; every query is new, so none is answered from the cache."""
    rng = random.Random(seed)
    shop = TextShop(catalog)
    spent: dict[str, list[float]] = {name: [] for name in ORIGINAL_MS}
    for _ in range(EPISODES):
        shop.reset(rng.randrange(len(shop.goals)))
        _timed(shop, f"search[{shop.goal.instruction} {rng.random()}]", spent["search"])
        _timed(shop, f"click[{rng.choice(shop.state.shown)}]", spent["item"])
        _timed(shop, "click[buy now]", spent["buy"])
    return spent


def _timed(shop: TextShop, action: str, spent: list[float]) -> None:
    began = time.perf_counter()
    shop.step(action)
    spent.append((time.perf_counter() - began) * 1e3)


def _episode_kib(catalog: Catalog, episodes: int = 1000) -> float:
    """What an episode holds on its item page, the shared catalogue apart."""
    for goal in catalog.goals("synthetic", "all")[:episodes]:
        catalog.search(goal.instruction)
        catalog.item(goal.asin)
    tracemalloc.start()
    shops = []
    for number in range(episodes):
        shop = TextShop(catalog)
        shop.reset(number)
        shop.step(f"search[{shop.goal.instruction}]")
        shop.step(f"click[{shop.state.shown[0]}]")
        shops.append(shop)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / len(shops) / 1024


def _search(products: int, repetitions: int) -> Figure:
    """Milliseconds a query (the words of a goal) straight from the index, and what the catalogue took."""
    before, began = _resident_gib(), time.perf_counter()
    catalog = Catalog.generate(products)
    made = time.perf_counter()
    catalog.index.search("shoes")
    detail = {
        "catalogue s": made - began,
        "index s": time.perf_counter() - made,
        "GiB": _resident_gib() - before,
    }
    queries = list(_queries(catalog))
    spent = []
    for _ in range(repetitions):
        times = []
        for query in queries:
            began = time.perf_counter()
            catalog.index.search(query)
            times.append((time.perf_counter() - began) * 1e3)
        spent.append(times)
    detail |= {f"p{p} ms": float(np.percentile(np.concatenate(spent), p)) for p in (50, 95, 99)}
    return Figure(f"search, {products:,} products", "ms", [float(np.median(times)) for times in spent], detail)


def _queries(catalog: Catalog) -> Iterator[str]:
    goals, rng = catalog.goals("synthetic", "all"), random.Random(0)
    for _ in range(QUERIES):
        yield goals[rng.randrange(len(goals))].instruction.partition(", and price")[0]


def _resident_gib() -> float:
    """Resident memory of this process (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**30
