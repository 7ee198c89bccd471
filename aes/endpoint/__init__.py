"""The OpenAI-compatible endpoint: agents written against that client play as members of a run, unchanged."""

from aes.endpoint.door import Door
from aes.endpoint.endpoint import Endpoint

__all__ = ["Door", "Endpoint"]
