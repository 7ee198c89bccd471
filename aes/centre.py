"""The centre: the trained vector theta_v and the recent versions that members still refer to.

The same code runs inside every engine worker, in replay, in export and in tests; the same updates give the same bits on
one device type, which the digest proves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import torch

from aes import noise
from aes.errors import EngineError
from aes.types import Advanced, Member, Update


class Centre:
    """A ring of versions of theta, float32, on one device."""

    def __init__(self, start: torch.Tensor, version: int = 0) -> None:
        self._start = start
        self._versions = {version: start.clone()}
        self._velocity: torch.Tensor | None = None
        self.newest = version

    @property
    def held(self) -> tuple[int, ...]:
        """The versions still held, oldest first."""
        return tuple(sorted(self._versions))

    def advance(self, update: Update, keep: Collection[int] = (), lags: Collection[int] = ()) -> Advanced:
        """Apply one update to the newest version, then forget versions not in `keep`.

        velocity = momentum * velocity + sum_i coefficient_i * eps(seed_i)
        theta_{v+1} = theta_v + shrink * (theta_0 - theta_v) + velocity

        An update without terms leaves theta as it is. For every lag in `lags` the answer says how far theta_v is from
        theta_{v - lag}: what a measurement of that lag, consumed now, was away from the centre.
        Raises EngineError when the update does not follow the newest version.
        """
        if update.version != self.newest:
            raise EngineError(f"update of version {update.version} sent to a centre at version {self.newest}")
        moved = {lag: self._distance(self.newest - lag) for lag in lags}
        theta = self._versions[self.newest].clone()
        if update.terms:
            if update.shrink:
                theta.lerp_(self._start, update.shrink)
            theta.add_(self._step(update))
        self.newest += 1
        self._versions[self.newest] = theta
        self._versions = {v: held for v, held in self._versions.items() if v in keep or v == self.newest}
        return Advanced(self.digest(), moved)

    def vector(self, version: int) -> torch.Tensor:
        """theta_version [dim] itself, not a copy. Raises EngineError when it is no longer held."""
        if version not in self._versions:
            raise EngineError(f"version {version} is no longer held (held: {self.held})")
        return self._versions[version]

    def member(self, member: Member) -> torch.Tensor:
        """theta_version + sign * sigma * eps(seed) [dim], a new vector."""
        theta = self.vector(member.version).clone()
        if member.sign:
            noise.add_direction(theta, member.seed, member.sign * member.sigma)
        return theta

    def digest(self) -> str:
        """A hash of the newest version's bytes: equal exactly when the bits are."""
        return hashlib.blake2b(self._versions[self.newest].cpu().numpy().data, digest_size=16).hexdigest()

    def _distance(self, version: int) -> float:
        if version not in self._versions:
            return float("nan")
        return float(torch.linalg.vector_norm(self._versions[self.newest] - self._versions[version]))

    def _step(self, update: Update) -> torch.Tensor:
        if self._velocity is None or not update.momentum:
            step = torch.zeros_like(self._start)
        else:
            step = self._velocity.mul_(update.momentum)
        for term in update.terms:
            noise.add_direction(step, term.seed, term.coefficient)
        self._velocity = step if update.momentum else None
        return step
