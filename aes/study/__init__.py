"""Studies: many runs that differ in one thing at a time, over the same goals, with statistics that can be believed."""

from aes.study.grid import Arm, Grid
from aes.study.plan import Plan
from aes.study.study import Study, Trial

__all__ = ["Arm", "Grid", "Plan", "Study", "Trial"]
