"""`aes warmstart`: the pocket policy by hand."""

from __future__ import annotations

import shutil

from cli import assemble, vision
from cli.settings import TrainSettings
from cli.view.live import LiveView
from cli.view.plain import PlainView
from cli.view.terminal import quiet


def make(products: int, catalog_seed: int, *, force: bool) -> None:
    """Make the pocket policy of a generated catalogue where it is not cached (or anew), and print its folder."""
    vision.check()
    settings = TrainSettings(products=products, catalog_seed=catalog_seed)
    with quiet() as terminal:
        console = terminal.console
        view = LiveView(console) if console.is_terminal else PlainView(console)
        with view.working("warm start of the pocket policy") as progress:
            catalog = assemble.open_catalog(settings)
            cached = assemble.cached_pocket(catalog)
            if cached is not None and force:
                shutil.rmtree(cached)
            from envs.webshop.pocket import ensure

            folder = ensure(catalog, progress)
        console.print(str(folder), markup=False, highlight=False, soft_wrap=True)
