"""Everything aes raises on purpose.

    AesError
    |- UsageError (ValueError)        the user can cure it: a flag, a field, a file
    |  |- ConfigError                 settings that contradict each other or a limit
    |  `- DataError                   a file that is missing, broken or not what it should be
    |- EngineError (RuntimeError)     the engine cannot go on
    |  |- EngineLost                  it died or hangs; opened anew it can do everything again
    |  |- EngineMissing (UsageError)  the library behind it is not installed
    |  |- EngineUnfit (UsageError)    a server elsewhere that is not there, or not what the run needs
    |  |- CanaryFailed                adapters are not applied as they should be
    |  `- DigestMismatch              engines disagree about the centre
    |- RunFailed                      the run cannot go on: too much of it failed
    `- EpisodeError                   one episode cannot go on: typed into data, never the end of a run
       |- ContextOverflow             the conversation has outgrown the model's context
       `- GenerationFailed            the engine refused or lost one request

A message says what is wrong, shows the value, and names the cure.
"""

from __future__ import annotations

from typing import NoReturn


class AesError(Exception):
    """Root of every error that aes raises on purpose."""


class UsageError(AesError, ValueError):
    """Something the user can cure; the command line prints it as one line and exits with code 2."""


class ConfigError(UsageError):
    """Settings that contradict each other or exceed a limit."""


class DataError(UsageError):
    """A file that is missing, broken, or not what it should be."""


class EngineError(AesError, RuntimeError):
    """An engine that cannot go on."""


class EngineLost(EngineError):
    """An engine that died or no longer answers. What it was doing is lost; a run opens it anew and does that again."""


class EngineMissing(EngineError, UsageError):
    """The library behind an engine is not installed."""


class EngineUnfit(EngineError, UsageError):
    """A server elsewhere that is not there, refuses this driver, or is not what the run needs."""


class CanaryFailed(EngineError):
    """The start-up canary saw that adapters are not applied as they should be."""


class DigestMismatch(EngineError):
    """Engines that applied the same updates hold different centres."""


class RunFailed(AesError):
    """A run that cannot go on because too many of its episodes fail."""


class EpisodeError(AesError):
    """One episode that cannot go on; the runtime turns it into a failed Episode."""


class ContextOverflow(EpisodeError):
    """A conversation that has outgrown the model's context."""


class GenerationFailed(EpisodeError):
    """A request that the engine refused or lost."""


def bare(error: BaseException) -> BaseException:
    """The first error of a group that is not a group itself: what really happened."""
    return bare(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def raise_bare(error: BaseException) -> NoReturn:
    """Raise an error out of its groups, with its own cause and context and not those of the handling."""
    single = bare(error)
    context = single.__context__
    try:
        raise single
    finally:
        single.__context__ = context
