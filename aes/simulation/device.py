"""A device in virtual time: sequences that are decoded together share it, as customers of a processor-sharing queue.

With b sequences in the batch, a step takes s(b) seconds and gives each of them one token. So the *work clock* W, steps
done so far, runs at speed 1 / s(b), and a request of n tokens that joins at W is done when the clock shows W + n: one
heap of these readings and one timer for the least of them are all there is to it, whatever the number of tokens.
What keeps the device busy otherwise, such as a prefill, stops the work clock for its duration.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from dataclasses import dataclass

from aes.simulation.speed import Speed


@dataclass(slots=True, eq=False)
class Request:
    """One reply in the making; `decoding` once it is in the batch."""

    prompt: int
    tokens: int
    done: asyncio.Future[None]
    decoding: bool = False


class Device:
    """Decodes up to `sequences` requests at once; more wait in line, first come first served.

    Attributes:
        tokens: tokens decoded so far, also for requests that were given up.
        busy: seconds in which it had something to do.
        most: the largest batch so far.
    """

    def __init__(self, speed: Speed, sequences: int) -> None:
        self.tokens = 0.0
        self.busy = 0.0
        self.most = 0
        self._speed = speed
        self._sequences = sequences
        self._loop = asyncio.get_running_loop()
        self._steps = [0.0, *(speed.curve.seconds(batch) for batch in range(1, sequences + 1))]
        self._work = 0.0
        self._settled = self._stalled = self._loop.time()
        self._batch = 0
        self._heap: list[tuple[float, int, Request]] = []  # the reading at which each is done, in order
        self._line: deque[Request] = deque()
        self._number = 0
        self._timer: asyncio.TimerHandle | None = None
        self._arming = False

    async def decode(self, prompt: int, tokens: int) -> None:
        """Read `prompt` new tokens and write `tokens`; returns when they are written. Cancelling gives the place up."""
        request = Request(prompt, tokens, self._loop.create_future())
        self._settle()
        self._line.append(request)
        self._admit()
        try:
            await request.done
        except asyncio.CancelledError:
            self._give_up(request)
            raise

    async def stall(self, seconds: float) -> None:
        """Do nothing else for so long, after what it is being held up by already."""
        if seconds:
            self._settle()
            self._stop_for(seconds)
            self._arm_soon()
            await asyncio.sleep(self._stalled - self._loop.time())

    def _settle(self) -> None:
        """Bring the work clock to the present."""
        now = self._loop.time()
        if self._batch:
            self.busy += now - self._settled
            if now > self._stalled:
                steps = (now - max(self._settled, self._stalled)) / self._steps[self._batch]
                self._work += steps
                self.tokens += steps * self._batch
        else:
            self.busy += max(0.0, min(now, self._stalled) - self._settled)
        self._settled = now

    def _stop_for(self, seconds: float) -> None:
        self._stalled = max(self._stalled, self._settled) + seconds

    def _admit(self) -> None:
        """Let in who waits while there is room."""
        while self._line and self._batch < self._sequences:
            request = self._line.popleft()
            request.decoding = True
            heapq.heappush(self._heap, (self._work + request.tokens, self._number, request))
            self._number += 1
            self._batch += 1
            self._stop_for(self._speed.prefill * request.prompt)
        self.most = max(self.most, self._batch)
        self._arm_soon()

    def _give_up(self, request: Request) -> None:
        """Forget a request that is no longer waited for; in the heap it stays until it comes up."""
        if not request.done.cancelled():  # it was served at this very moment
            return
        self._settle()
        if request.decoding:
            self._batch -= 1
            self._admit()
        else:
            self._line.remove(request)

    def _arm_soon(self) -> None:
        """Set the timer once everything that happens at this moment has happened."""
        if not self._arming:
            self._arming = True
            self._loop.call_soon(self._arm)

    def _arm(self) -> None:
        self._arming = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._heap and self._heap[0][2].done.cancelled():
            heapq.heappop(self._heap)
        if self._heap:
            left = (self._heap[0][0] - self._work) * self._steps[self._batch]
            self._timer = self._loop.call_at(max(self._settled, self._stalled) + left, self._complete)

    def _complete(self) -> None:
        """Hand out what is done."""
        self._timer = None
        self._settle()
        self._work = max(self._work, self._heap[0][0])  # exact, whatever the timer's rounding
        while self._heap and self._heap[0][0] <= self._work:
            done = heapq.heappop(self._heap)[2].done
            if not done.cancelled():
                done.set_result(None)
                self._batch -= 1
        self._admit()
