"""What the endpoint says no to, in the shape of OpenAI's errors."""

from __future__ import annotations

from typing import Any

from aes.errors import AesError, ContextOverflow, EngineError


class Refusal(AesError):
    """A request that can't be answered as asked: a status, a code for programs, a sentence for people."""

    def __init__(self, status: int, code: str, message: str, param: str | None = None) -> None:
        self.status = status
        self.code = code
        self.param = param
        super().__init__(message)

    @property
    def body(self) -> dict[str, Any]:
        """The answer's JSON."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


def refusal_of(error: AesError) -> Refusal:
    """What kept a member from answering, as a refusal.

    A client tries a lost engine again by itself, nothing else: that is a matter of the run.
    """
    if isinstance(error, Refusal):
        return error
    if isinstance(error, ContextOverflow):
        return Refusal(400, "context_length_exceeded", str(error), "messages")
    if isinstance(error, EngineError):
        return Refusal(503, "engine_lost", str(error))
    return Refusal(400, "generation_failed", str(error))
