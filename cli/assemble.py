"""From settings to a task, a model and engines. What is slow to import is imported here, when it is needed."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from aes.config import nearest
from aes.errors import ConfigError
from cli import elsewhere, tasks, vision
from cli.settings import TrainSettings

if TYPE_CHECKING:
    from aes.engine.model import BaseModel
    from aes.engine.pool import Pool
    from aes.protocols import Engine, Task
    from envs.webshop.agent.task import WebShop
    from envs.webshop.catalog.catalog import Catalog
    from envs.webshop.catalog.splits import Split
    from envs.webshop.pocket import Progress
    from envs.webshop.reward.nouns import NounFinder

GENERATED = 1000


def open_ground(settings: TrainSettings) -> tuple[Catalog | None, Task]:
    """The task, and the catalogue where it is WebShop. Raises ConfigError, DataError, UsageError."""
    if settings.task == tasks.WEBSHOP:
        catalog = open_catalog(settings)
        return catalog, open_task(settings, catalog)
    if tasks.is_own(settings.task):
        return None, tasks.load(settings.task)
    raise ConfigError(
        f"--task {settings.task}: no such task{nearest(settings.task, [tasks.WEBSHOP])}"
        " (there is webshop, and your own as package.module:factory)"
    )


def other_goals(settings: TrainSettings, catalog: Catalog | None, task: Task, split: Split) -> Task:
    """The task with the held-out goals of a split. Raises ConfigError where it has no such split."""
    if catalog is not None:
        return open_task(settings, catalog, split)
    if split == "dev":
        raise ConfigError(f"--split dev: task {task.name} has training and held-out goals only (take train or test)")
    return tasks.OnGoals(task, task.train_goals, split) if split == "train" else task


def open_catalog(settings: TrainSettings) -> Catalog:
    """Load or generate the catalogue; a large one with its search index, kept on disk.

    Raises ConfigError, DataError.
    """
    from envs.webshop.cache import cache_root
    from envs.webshop.catalog.catalog import LARGE, Catalog

    kept = cache_root() / "search"
    if settings.data is None:
        catalog = Catalog.generate(settings.products or GENERATED, settings.catalog_seed, index_cache=kept)
    else:
        catalog = Catalog.load(settings.data, seed=settings.catalog_seed, limit=settings.products, index_cache=kept)
    if len(catalog.products) >= LARGE:
        try:
            _ = catalog.index  # now, not at the first search of a run
        except OSError as error:
            raise ConfigError(f"{kept}: cannot be written to ({error.strerror}); set AES_CACHE to a folder") from None
    return catalog


def open_task(settings: TrainSettings, catalog: Catalog, eval_split: Split | None = None) -> WebShop:
    """The task on a catalogue; held-out goals are of `eval_split`, or as the settings say.

    Raises DataError, UsageError where a noun finder is not installed.
    """
    from envs.webshop.agent.task import WebShop

    return WebShop(
        catalog,
        kind=settings.goal_kind,
        eval_split=eval_split or settings.eval_split,
        prompt=settings.prompt,
        nouns=open_nouns(settings),
    )


def open_nouns(settings: TrainSettings) -> NounFinder:
    """What finds nouns for the reward. Raises UsageError where it is not installed."""
    if settings.nouns == "spacy":
        from envs.webshop.reward.spacy_nouns import SpacyNouns

        return SpacyNouns()
    from envs.webshop.reward.nouns import RULE

    return RULE


def describe_model(settings: TrainSettings, catalog: Catalog | None) -> BaseModel | None:
    """The model's layout, without making or loading it; None for the fake engine, or where it hangs on a catalogue.

    Raises DataError, UsageError where a library that vLLM brought is in the way.
    """
    from aes.engine.model import BaseModel

    if settings.kind == "fake engine":
        return None
    vision.check()
    if settings.kind == "other models":
        return BaseModel.inspect(settings.model)
    if catalog is None:
        return None
    if (folder := cached_pocket(school(settings, catalog))) is not None:
        return BaseModel.inspect(str(folder))
    from envs.webshop.pocket.cache import Recipe
    from envs.webshop.pocket.model import build_model
    from envs.webshop.pocket.tokenizer import build_tokenizer

    recipe = Recipe()
    return BaseModel.of("pocket", build_model(build_tokenizer(), recipe.seed, recipe.layers, recipe.width))


def cached_pocket(catalog: Catalog) -> Path | None:
    """The folder of the pocket policy of a catalogue, if it has been made."""
    from envs.webshop.cache import cache_root
    from envs.webshop.pocket.cache import Recipe

    folder = cache_root() / "pocket" / Recipe().fingerprint(catalog)
    return folder if (folder / "config.json").is_file() else None


def pocket_made(settings: TrainSettings, catalog: Catalog) -> bool:
    """Whether the pocket policy of these settings is cached."""
    return cached_pocket(school(settings, catalog)) is not None


def school(settings: TrainSettings, catalog: Catalog) -> Catalog:
    """The catalogue whose shoppers the pocket policy imitates: a generated one, whose words are its vocabulary."""
    from envs.webshop.catalog.catalog import Catalog

    return catalog if settings.data is None else Catalog.generate(GENERATED)


def open_model(settings: TrainSettings, catalog: Catalog | None, progress: Progress) -> BaseModel | None:
    """The model, made first where it is a pocket policy that is not cached. Raises DataError."""
    if settings.kind != "pocket policy" or catalog is None:
        return describe_model(settings, catalog)
    from aes.engine.model import BaseModel
    from envs.webshop.pocket import ensure

    return BaseModel.inspect(str(ensure(school(settings, catalog), progress)))


def open_engine(settings: TrainSettings, model: BaseModel | None) -> Pool:
    """One engine per device behind one front, not started yet; servers elsewhere are looked at.

    Raises ConfigError, EngineMissing, Refused where servers are not there or not what the run needs.
    """
    from aes.engine.pool import Pool

    if model is None:
        from aes.engine.fake import FakeEngine

        return Pool([FakeEngine(slots=settings.slots) for _ in settings.devices], settings.restarts)
    from aes.engine.options import VllmOptions
    from aes.engine.vllm import VllmEngine

    shared = {field.name: getattr(settings, field.name) for field in fields(VllmOptions) if field.name != "device"}
    engines: list[Engine] = [
        elsewhere.make(settings, model, device)
        if elsewhere.is_address(device)
        else VllmEngine(model, settings.lora, VllmOptions(device=device, **shared))
        for device in settings.devices
    ]
    elsewhere.look(engines)
    return Pool(engines, settings.restarts)
