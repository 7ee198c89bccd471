"""The tree of errors is the one that is drawn, and a group never hides what happened."""

from __future__ import annotations

import traceback

import pytest

from aes import errors


def drawn() -> dict[str, str]:
    """Child -> parent, read from the drawing in the module's docstring."""
    tree, path = {}, [(0, "")]
    lines = [line for line in (errors.__doc__ or "").splitlines() if line.startswith("    ")]
    for line in lines:
        name = next(word for word in line.replace("|-", "").replace("`-", "").replace("|", "").split())
        depth = line.index(name)
        path = [(d, parent) for d, parent in path if d < depth]
        tree[name] = path[-1][1] if path else ""
        path.append((depth, name))
    return tree


def test_the_tree_is_as_drawn() -> None:
    tree = drawn()
    defined = {n for n, e in vars(errors).items() if isinstance(e, type) and issubclass(e, errors.AesError)}
    assert set(tree) == defined
    for name, parent in tree.items():
        assert not parent or issubclass(getattr(errors, name), getattr(errors, parent)), name


def test_the_parents_that_callers_expect() -> None:
    assert issubclass(errors.UsageError, ValueError)
    assert issubclass(errors.EngineError, RuntimeError)
    assert issubclass(errors.EngineMissing, errors.UsageError)
    assert not issubclass(errors.EpisodeError, (errors.EngineError, errors.UsageError))


def test_bare_finds_what_really_happened() -> None:
    inner = errors.EngineError("x")
    group = ExceptionGroup("outer", [ExceptionGroup("inner", [inner]), ValueError("y")])
    assert errors.bare(group) is inner
    assert errors.bare(inner) is inner


def test_an_error_leaves_its_group_with_its_own_story() -> None:
    def crash() -> None:
        try:
            raise OSError("the cause")
        except OSError as error:
            raise errors.EngineError("what happened") from error

    def grouped() -> None:
        try:
            crash()
        except errors.EngineError as error:
            raise ExceptionGroup("noise", [error]) from None

    def unwrapped() -> None:
        try:
            grouped()
        except ExceptionGroup as group:
            errors.raise_bare(group)

    with pytest.raises(errors.EngineError) as caught:
        unwrapped()
    story = "".join(traceback.format_exception(caught.value))
    assert "the cause" in story
    assert "noise" not in story
