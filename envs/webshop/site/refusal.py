"""What the server says no to: a status, a code for programs, a sentence for people."""

from __future__ import annotations

from aes.errors import UsageError


class Refusal(UsageError):
    """A request that cannot be answered as asked; becomes a page or `{"error": {"code", "message"}}`."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status = status
        self.code = code
        super().__init__(message)
