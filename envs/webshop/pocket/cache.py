"""Where pocket policies are kept: one Hugging Face folder per recipe, made once and written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from envs.webshop.agent.prompts.own import PROMPT_VERSION
from envs.webshop.cache import cache_root
from envs.webshop.catalog.catalog import Catalog
from envs.webshop.pocket.demonstrations import Temper, drills, examples
from envs.webshop.pocket.model import build_model
from envs.webshop.pocket.tokenizer import build_tokenizer
from envs.webshop.pocket.warmstart import Lessons, Progress, imitate

CODE_VERSION = "1"
"""Changes whenever the code of this package makes another policy of the same recipe."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything but the catalogue that a pocket policy depends on; `shown` counts drills, and examples as well."""

    shown: int = 5000
    layers: int = 3
    width: int = 192
    seed: int = 0
    lessons: Lessons = field(default_factory=Lessons)
    temper: Temper = field(default_factory=Temper)

    def fingerprint(self, catalog: Catalog) -> str:
        """A short hash of all that the policy is made of."""
        made_of = [CODE_VERSION, PROMPT_VERSION, catalog.fingerprint, asdict(self)]
        return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:16]


def ensure(catalog: Catalog, progress: Progress | None = None, recipe: Recipe | None = None) -> Path:
    """Return the folder of the pocket policy for a catalogue, making it first where it is not cached.

    Folders are `pocket/<hash>` under $AES_CACHE, else ~/.cache/aes. Making takes one or two minutes on two cores;
    two processes that make the same one at once both succeed, and the first to finish stays.
    """
    recipe = recipe or Recipe()
    folder = cache_root() / "pocket" / recipe.fingerprint(catalog)
    if (folder / "config.json").is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _make(catalog, recipe, progress, draft)
        draft.rename(folder)
    except OSError:
        if not (folder / "config.json").is_file():
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _make(catalog: Catalog, recipe: Recipe, progress: Progress | None, folder: Path) -> None:
    tokenizer = build_tokenizer()
    drilled = list(drills(catalog, tokenizer, recipe.shown, recipe.seed))
    exemplary = list(examples(catalog, tokenizer, recipe.shown, recipe.seed, recipe.temper))
    model = build_model(tokenizer, recipe.seed, recipe.layers, recipe.width)
    imitate(model, drilled, exemplary, recipe.lessons, progress)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
