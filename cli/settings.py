"""Everything `aes train` can be told, flat: a flag, a TOML key and a field are one and the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from aes.config import Config, Lora, explain
from aes.study.grid import DECIDED
from cli.machine import gpus

POCKET = "pocket"
MAX_RANK = 512
_LONGEST_PATH, _LONGEST_NAME = 4095, 255
INSTRUCT = "Qwen/Qwen2.5-1.5B-Instruct"

PRESETS: dict[str, dict[str, Any]] = {
    "pocket policy": {
        "sigma": 1.0,
        "lr": 1.0,
        "updates": 20,
        "rank": 3,
        "targets": ("down_proj",),
        "layers": (-1,),
        "basis": "activations",
        "max_tokens": 32,
    },
    "other models": {"sigma": 0.01, "lr": 0.005, "rank": 16, "slots": 8, "max_tokens": 96},
    "fake engine": {"sigma": 1.0, "lr": 1.0, "max_tokens": 1024},  # its tokens are single bytes
}
"""What holds where nothing is given, by what is trained; everything else has one default for all."""


class TrainSettings(Config, Lora):
    """One `aes train`: the run, the adapters, the engine and the task."""

    task: Annotated[
        str,
        Field(description="What to learn: webshop, or package.module:factory, a function that returns a Task."),
    ] = "webshop"
    data: Annotated[Path | None, Field(description="Folder of WebShop's JSON files (None: a generated catalogue).")] = (
        None
    )
    products: Annotated[
        int | None, Field(ge=1, description="Size of the generated catalogue, or the first so many of --data.")
    ] = None
    catalog_seed: Annotated[int, Field(ge=0, description="Seed of the catalogue and of its goals' prices.")] = 0
    goal_kind: Annotated[
        Literal["synthetic", "human"], Field(description="Goals made of attributes and options, or crowd-written.")
    ] = "synthetic"
    eval_split: Annotated[Literal["test", "dev"], Field(description="Which goals are held out to evaluate on.")] = (
        "test"
    )
    prompt: Annotated[
        Literal["aes", "verl-agent", "ragen", "react"],
        Field(description="How an agent is shown the shop and read: ours, or a framework's (with its --max-tokens)."),
    ] = "aes"
    nouns: Annotated[
        Literal["rule", "spacy"], Field(description="What finds the nouns for the reward (spacy: as the original).")
    ] = "rule"
    engine: Annotated[Literal["vllm", "fake"], Field(description="vllm, or a tiny linear policy for trials.")] = "vllm"
    model: Annotated[
        str, Field(description="pocket (small, made here), or a Hugging Face causal LM: a folder or a name.")
    ] = POCKET
    devices: Annotated[
        tuple[str, ...],
        Field(
            min_length=1, description="One engine on each: cpu, or cpu:0,cpu:1 or cuda:0,cuda:1, or http://HOST:PORT."
        ),
    ] = ("cpu",)
    slots: Annotated[int, Field(ge=1, description="Members that decode together on one engine.")] = 16
    context: Annotated[
        int | None, Field(ge=64, description="Longest conversation in tokens (None: the model's, at most 4096).")
    ] = None
    dtype: Annotated[
        Literal["auto", "float32", "bfloat16", "float16"], Field(description="Numbers the engine computes with.")
    ] = "auto"
    sequences: Annotated[int, Field(ge=1, description="Requests that one engine decodes in one batch.")] = 256
    cache_gib: Annotated[int, Field(ge=1, description="KV cache of an engine on a CPU, in GiB.")] = 2
    gpu_share: Annotated[float, Field(gt=0, le=1, description="Share of a GPU's memory its engine may take.")] = 0.85
    eager: Annotated[
        bool, Field(description="Run the model without graph capture (needed by --basis activations).")
    ] = True
    engine_seconds: Annotated[
        float, Field(gt=0, description="Seconds without an answer after which an engine is taken for dead.")
    ] = 300.0
    restarts: Annotated[int, Field(ge=0, description="How often each engine that was lost is opened again.")] = 3
    tensorboard: Annotated[
        bool, Field(description="Also write the metrics for TensorBoard, to tensorboard/ in the run folder.")
    ] = False
    token_file: Annotated[
        Path | None, Field(description="File with the token of servers elsewhere (None: $AES_TOKEN_FILE, $AES_TOKEN).")
    ] = None
    run_dir: Annotated[
        Path | None, Field(description="Folder for everything the run leaves (None: runs/TIME-TASK-sSEED).")
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _split_lists(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Take `a,b` for a list, as flags give it."""
        return {
            key: tuple(part.strip() for part in value.split(",") if part.strip())
            if isinstance(value, str) and key in LISTS
            else value
            for key, value in values.items()
        }

    @field_validator("data", "run_dir", "model", "token_file")
    @classmethod
    def _nameable(cls, value: Path | str | None) -> Path | str | None:
        """Refuse what no file can be called."""
        name = os.fsencode(value or "")
        if b"\0" in name or len(name) > _LONGEST_PATH or any(len(part) > _LONGEST_NAME for part in name.split(b"/")):
            raise ValueError("no file can have this name (give another)")
        return value

    @property
    def config(self) -> Config:
        """What the runtime needs to know."""
        return Config(**self._share_of(Config))

    @property
    def lora(self) -> Lora:
        """The adapter space."""
        return Lora(**self._share_of(Lora))

    @property
    def kind(self) -> str:
        """What is trained, in the words of the presets."""
        return kind_of(self.engine, self.model)

    def _share_of(self, part: type[Config] | type[Lora]) -> dict[str, Any]:
        return {name: getattr(self, name) for name in part.model_fields}


LISTS = frozenset(name for name, field in TrainSettings.model_fields.items() if "tuple" in str(field.annotation))
"""Fields that hold several values."""


NOT_A_STUDYS = DECIDED | {"run_dir", "tensorboard"}
"""Fields that `aes study` does not take: its arms or its folder decide on them."""


def kind_of(engine: str, model: str) -> str:
    """Which preset serves."""
    if engine == "fake":
        return "fake engine"
    return "pocket policy" if model == POCKET else "other models"


def resolve(given: dict[str, Any]) -> tuple[TrainSettings, list[str]]:
    """Settings from what was given, over what goes with the prompt, over the preset, over the defaults; and complaints.

    Complaints are everything that speaks against the settings. What they are about is at its default, so that the
    rest can be looked at too.
    """
    found = gpus()
    machine: dict[str, Any] = {"devices": found or ("cpu",), "model": INSTRUCT if found else POCKET}
    if found:  # graphs are captured unless module inputs must be seen
        machine["eager"] = given.get("basis") == "activations"
    kind = kind_of(str(given.get("engine", "vllm")), str(given.get("model", machine["model"])))
    clashes = _clashes(given)
    blamed = {field for field, _ in clashes}
    asked = {key: value for key, value in given.items() if key not in blamed}
    values = machine | PRESETS[kind] | _of_prompt(given.get("prompt")) | asked
    complaints = [complaint for _, complaint in clashes]
    while True:
        try:
            return TrainSettings(**values), complaints
        except ValidationError as error:
            for problem in error.errors(include_url=False):
                complaints.append(explain(problem, TrainSettings.model_fields))
                for field in problem["loc"][:1] or ("stale_frac", "on_stale", "frozen"):
                    values.pop(str(field), None)


def _of_prompt(name: object) -> dict[str, Any]:
    """What goes with a prompt that was asked for: the longest reply of its framework."""
    if name is None:
        return {}
    from envs.webshop.agent.prompts import PROMPTS

    prompt = PROMPTS.get(str(name))
    return {"max_tokens": prompt.max_tokens} if prompt and prompt.max_tokens else {}


def _clashes(given: dict[str, Any]) -> list[tuple[str, str]]:
    """What cannot stand together, or nowhere: the field to blame and the complaint."""
    found = []
    share = given.get("stale_frac")
    if share is not None and not given.get("max_lag"):
        has = "--max-lag 0" if "max_lag" in given else "no --max-lag"
        found.append(
            ("stale_frac", f"--stale-frac {share} with {has}: stale by how many updates? (add --max-lag 1 up)")
        )
    if share is not None and given.get("on_stale") == "drop":
        found.append(
            ("on_stale", f"--on-stale drop with --stale-frac {share}: a fixed plan never drops (leave one out)")
        )
    rank = given.get("rank")
    if isinstance(rank, int) and rank > MAX_RANK:
        found.append(("rank", f"--rank {rank}: vLLM has no LoRA kernel above rank {MAX_RANK} (lower --rank)"))
    return found
