"""`aes engine`: the line that starts an engine elsewhere, for `--devices http://...`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from aes.errors import ConfigError
from cli import assemble, tasks
from cli.errors import Refused
from cli.settings import TrainSettings, resolve


def lines(given: dict[str, Any], host: str, port: int) -> list[str]:
    """One `vllm serve` line for each device, at ports counted up from `port`.

    Raises Refused, DataError, ConfigError.
    """
    from aes.engine.options import VllmOptions
    from aes.engine.remote.line import line

    settings, complaints = resolve(given)
    if complaints := [*complaints, *_checks(settings, port)]:
        raise Refused(complaints)
    catalog = assemble.open_catalog(settings) if settings.task == tasks.WEBSHOP else None
    model = assemble.describe_model(settings, catalog)
    if model is None or (settings.kind == "pocket policy" and not model.digest):
        raise ConfigError("--model pocket: it is not made yet (make it with aes warmstart, or name another --model)")
    shared = {field.name: getattr(settings, field.name) for field in fields(VllmOptions) if field.name != "device"}
    return [
        line(model, settings.lora, VllmOptions(device=device, **shared), host, port + number, settings.token_file)
        for number, device in enumerate(settings.devices)
    ]


def _checks(settings: TrainSettings, port: int) -> Iterator[str]:
    if settings.engine == "fake":
        yield "--engine fake: it needs no server (leave --engine out)"
    for device in settings.devices:
        if not re.fullmatch(r"(cpu|cuda)(:\d+)?", device):
            yield f"--devices {device}: name it as the machine does that the line is for: cpu, cpu:N, cuda or cuda:N"
    if port + len(settings.devices) > 65536:
        yield f"--port {port}: there are no {len(settings.devices)} ports from there on (lower it)"
