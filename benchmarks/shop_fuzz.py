"""Throw hostile actions at the shop, in every form and mode, many episodes at once, until time or actions run out.

python benchmarks/shop_fuzz.py [--seconds S] [--actions N] [--seed SEED] [--progress FILE] [--data DIR] [--episode N]

Every episode follows from the seed and its number, whatever plays beside it: one in fifty is played again alone and
must give the same transcript. A failure names its episode, which `--episode` then plays alone.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.hostile import any_action, any_shop, check, check_offers, hostile_catalog
from envs.webshop.catalog.catalog import Catalog

AT_ONCE = 200
STEPS = 60
REPLAYED = 50
REPORT_S = 10.0


def episode(catalogs: list[Catalog], seed: int, number: int) -> Iterator[str]:
    """Play one episode, checking every step; yield a digest of its transcript so far after each action."""
    rng = random.Random(f"{seed} {number}")
    shop = any_shop(rng.choice(catalogs), rng)
    digest = hashlib.blake2b(digest_size=8)
    for _ in range(rng.choice((1, 1, 2))):
        observation, info = shop.reset(seed=rng.randrange(1 << 30))
        for _ in range(rng.randint(1, STEPS)):
            text, before = any_action(shop, rng), shop.state
            step = shop.step(text)
            check(shop, before, step)
            if not shop.compat and shop.max_steps is None and rng.random() < 0.02:
                check_offers(shop)
            observation, reward, terminated, truncated, info = step
            seen = (observation, reward, terminated, truncated, info["error"], shop.available_actions)
            digest.update(repr(seen).encode(errors="surrogatepass"))
            yield digest.hexdigest()
            if (terminated or truncated) and rng.random() < 0.3:
                break


def play(catalogs: list[Catalog], seed: int, number: int) -> tuple[int, str]:
    """Play one episode alone; return its actions and the digest of its transcript."""
    digests = list(episode(catalogs, seed, number))
    return len(digests), digests[-1]


def run(catalogs: list[Catalog], seed: int, seconds: float, actions: int, progress: Path | None) -> tuple[int, int]:
    """Play until the time or the actions are used up; return actions and episodes. Raises what an episode raises."""
    began = reported = time.monotonic()
    done = number = 0
    running: dict[int, tuple[Iterator[str], str]] = {}
    while done < actions and time.monotonic() - began < seconds:
        while len(running) < AT_ONCE:
            running[number] = (episode(catalogs, seed, number), "")
            number += 1
        for at, (steps, digest) in list(running.items()):
            try:
                running[at] = (steps, next(steps))
                done += 1
            except StopIteration:
                del running[at]
                if at % REPLAYED == 0:
                    again, alone = play(catalogs, seed, at)
                    done += again
                    assert alone == digest, f"episode {at} plays otherwise alone"
            except Exception as error:
                error.add_note(f"in episode {at}; again with --seed {seed} --episode {at}")
                raise
        if progress and time.monotonic() - reported > REPORT_S:
            reported = time.monotonic()
            progress.write_text(f"{done} actions, {number} episodes, {reported - began:.0f} s\n")
    return done, number


def main() -> None:
    parser = argparse.ArgumentParser(description="fuzz the WebShop state machine")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--actions", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--progress", type=Path, help="a file that is rewritten every ten seconds")
    parser.add_argument("--data", type=Path, help="a folder with the original's files, played as well")
    parser.add_argument("--episode", type=int, help="play this one alone")
    given = parser.parse_args()
    catalogs = [hostile_catalog(), Catalog.generate(200)]
    catalogs += [Catalog.load(given.data, limit=1000)] if given.data else []
    if given.episode is not None:
        print("{} actions, transcript {}".format(*play(catalogs, given.seed, given.episode)))
        return
    began = time.monotonic()
    done, episodes = run(catalogs, given.seed, given.seconds, given.actions, given.progress)
    line = f"{done} actions in {episodes} episodes, seed {given.seed}, {time.monotonic() - began:.0f} s: no law broken"
    if given.progress:
        given.progress.write_text(line + "\n")
    print(line)


if __name__ == "__main__":
    main()
