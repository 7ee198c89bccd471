"""aes: asynchronous, bounded-staleness evolution strategies for LLM agents, in one asyncio process."""

from aes.agent import AgentTask
from aes.asktell import AskTell
from aes.chat import ChatTask
from aes.config import Config, Lora
from aes.errors import AesError
from aes.protocols import AsyncEnvironment, Engine, Environment, Policy, Task
from aes.runtime import Run
from aes.structured import Choice, JsonSchema, Regex
from aes.types import Completion, Episode, Failure, Message

__all__ = [
    "AesError",
    "AgentTask",
    "AskTell",
    "AsyncEnvironment",
    "ChatTask",
    "Choice",
    "Completion",
    "Config",
    "Engine",
    "Environment",
    "Episode",
    "Failure",
    "JsonSchema",
    "Lora",
    "Message",
    "Policy",
    "Regex",
    "Run",
    "Task",
]
