"""One episode's way in through the endpoint: whoever knows its token talks to its member, until it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from aes.endpoint.refusal import Refusal
from aes.errors import AesError
from aes.protocols import Policy
from aes.types import Completion, Message

OVER = Refusal(404, "no_such_episode", "there is no such episode: it is over, or the address is another's")


class Door:
    """What the endpoint knows of one episode.

    Attributes:
        token: what proves that a request is the episode's.
        url: where an OpenAI client finds it.
        failed: why the last request came to nothing, if it did.
    """

    def __init__(self, policy: Policy, token: str, port: int) -> None:
        self.token = token
        self.url = f"http://127.0.0.1:{port}/{token}/v1"
        self.failed: AesError | None = None
        self._policy: Policy | None = policy
        self._waiting: set[asyncio.Timeout] = set()

    @property
    def closed(self) -> bool:
        """Whether the episode is over."""
        return self._policy is None

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        """The member's reply. Raises Refusal when the episode is over or ends meanwhile; cancelling aborts it."""
        if self._policy is None:
            raise OVER
        self.failed = None
        try:
            async with asyncio.timeout(None) as scope:
                self._waiting.add(scope)
                try:
                    return await self._policy.complete(messages, **options)
                finally:
                    self._waiting.discard(scope)
        except TimeoutError:
            if scope.expired():
                raise OVER from None
            raise
        except AesError as error:
            self.failed = error
            raise

    def close(self) -> None:
        """Let nobody in any more, and give up what is being waited for."""
        self._policy = None
        for scope in self._waiting:
            scope.reschedule(asyncio.get_running_loop().time())
