"""aes: asynchronous, bounded-staleness evolution strategies for LLM agents, in one asyncio process."""

from aes.chat import ChatTask
from aes.config import Config, Lora
from aes.errors import AesError
from aes.protocols import AsyncEnvironment, Engine, Environment, Policy, Task
from aes.runtime import Run
from aes.types import Completion, Episode, Failure, Message

__all__ = [
    "AesError",
    "AsyncEnvironment",
    "ChatTask",
    "Completion",
    "Config",
    "Engine",
    "Environment",
    "Episode",
    "Failure",
    "Lora",
    "Message",
    "Policy",
    "Run",
    "Task",
]
