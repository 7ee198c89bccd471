"""The shop as a `gymnasium.Env`: text in, text out. Needs the extra `gymnasium`; nothing else of aes imports it.

Example:
    register()
    env = gymnasium.make("aes/WebShop-v0", catalog=Catalog.generate(1000), split="test")
    page, info = env.reset(seed=1)
    page, reward, terminated, truncated, info = env.step("search[red shoes]")
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from aes.config import nearest
from aes.errors import UsageError
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal, GoalKind
from envs.webshop.catalog.splits import Split
from envs.webshop.shop.shop import TextShop


class GymnasiumMissing(UsageError, ImportError):
    """The library behind this module is not installed."""


try:
    import gymnasium
except ImportError as error:
    raise GymnasiumMissing("envs.webshop.gym needs gymnasium; pip install 'aes-runtime[gymnasium]'") from error

ENV_ID = "aes/WebShop-v0"
MAX_STEPS = 15

_PRINTABLE = "".join(map(chr, range(32, 127)))
_SAMPLED = 40


class AnyText(gymnasium.Space[str]):
    """Every text, as product texts may hold any character; Gymnasium's own `Text` has to list those it allows.

    Samples are up to 40 printable ASCII characters: texts of the space, but hardly ever an action of the shop. To
    explore, choose among `info["available_actions"]`.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Text has no bound, so it fits no array."""
        return False

    def sample(self, mask: None = None, probability: None = None) -> str:
        """Draw a text. Raises UsageError for a mask or probabilities, which texts do not have."""
        if mask is not None or probability is not None:
            raise UsageError("a text cannot be sampled with a mask or with probabilities; leave them out")
        length = self.np_random.integers(_SAMPLED + 1)
        return "".join(_PRINTABLE[at] for at in self.np_random.integers(len(_PRINTABLE), size=length))

    def contains(self, x: Any) -> bool:
        """Whether this is a text."""
        return isinstance(x, str)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyText)

    __hash__ = None  # type: ignore[assignment]  # as all spaces: they carry a random state

    def __repr__(self) -> str:
        return "AnyText()"


class WebShopEnv(gymnasium.Env[str, str]):
    """Shopping for the goals of one split, in the shop's fixed form (see `TextShop`).

    An action is `search[words]` or `click[button]`; an observation is a page. The reward, in [0, 1], comes with the
    purchase, which terminates the episode; after `max_steps` actions, valid or not, it is truncated. Many environments
    share one catalogue, which is never copied. `SyncVectorEnv` takes them as they are, `AsyncVectorEnv` with
    `shared_memory=False`; observations then come as a tuple of texts.

    Every info has `goal_id`, `action_valid`, `error` (what was wrong with the action, or ""), `available_actions`
    (`search`: whether one may search, `clickables`: what one may click), `success` (a reward of 1) and `reason` (why
    the episode ended: "bought", "step limit", or "" while it goes on). After the purchase `score` holds the total
    and its parts.

    Args:
        catalog: what is sold.
        kind: goals made of attributes and options ("synthetic"), or crowd-written ("human").
        split: which goals `reset` draws from.
        max_steps: actions in an episode at most; None for no limit.
        render_mode: "ansi" to have `render` return the page.

    Raises DataError for a split without goals, UsageError for a limit or a mode that cannot be.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  # so typed by Gymnasium

    def __init__(
        self,
        catalog: Catalog,
        kind: GoalKind = "synthetic",
        split: Split = "train",
        max_steps: int | None = MAX_STEPS,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise UsageError(f"no render mode {render_mode!r}; take 'ansi' or None")
        self.observation_space = AnyText()
        self.action_space = AnyText()
        self.render_mode = render_mode
        self._shop = TextShop(catalog, goals=catalog.goals(kind, split), max_steps=max_steps)
        self._page = ""
        self._idle = "it has not begun"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode with a goal drawn by weight, or with `options={"goal": N}`, its position in the split.

        A `Goal` of this catalogue will do too. `seed` seeds all draws from here on. Raises UsageError for a goal
        that is not there and for an unknown option.
        """
        super().reset(seed=seed)
        goal = _wanted(options or {})
        self._page, info = self._shop.reset(goal, seed=seed)
        self._idle = ""
        return self._page, self._about(info)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take an action; one that cannot be done changes nothing, is explained in the info, and counts as a step.

        Raises UsageError for what is not a text, and when the episode has ended.
        """
        if not isinstance(action, str):
            raise UsageError(f"an action is a text, not {action!r}; write search[words] or click[button]")
        if self._idle:
            raise UsageError(f"there is no episode to act in ({self._idle}); call reset() first")
        self._page, reward, terminated, truncated, info = self._shop.step(action)
        self._idle = info["reason"]
        return self._page, reward, terminated, truncated, self._about(info)

    def render(self) -> str | None:
        """Return the page in render mode "ansi"."""
        return self._page if self.render_mode == "ansi" else None

    def _about(self, info: Mapping[str, Any]) -> dict[str, Any]:
        score = self._shop.score
        parts = {"total": score.total, **score.parts, "nouns": score.nouns} if score else None
        return {
            **{key: info[key] for key in ("goal_id", "action_valid", "error", "reason")},
            "available_actions": self._shop.available_actions._asdict(),
            "success": bool(score and score.success),
        } | ({"score": parts} if parts else {})


def register() -> None:
    """Make the environment known to `gymnasium.make` as `aes/WebShop-v0`; a second call changes nothing."""
    if ENV_ID not in gymnasium.registry:
        gymnasium.register(ENV_ID, entry_point="envs.webshop.gym:WebShopEnv")


def _wanted(options: Mapping[str, Any]) -> Goal | int | None:
    if unknown := [key for key in options if key != "goal"]:
        raise UsageError(f"no reset option {unknown[0]!r}{nearest(str(unknown[0]), ('goal',))}; there is 'goal'")
    goal = options.get("goal")
    if goal is None or isinstance(goal, Goal):
        return goal
    try:
        return operator.index(goal)
    except TypeError:
        raise UsageError(f"options['goal'] is {goal!r}; give a position in the split, counted from 0") from None
