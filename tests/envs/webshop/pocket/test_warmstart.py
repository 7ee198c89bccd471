import pytest
import torch

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.pocket.demonstrations import Temper, drills, examples
from envs.webshop.pocket.model import build_model
from envs.webshop.pocket.noise import LastLayerNoise
from envs.webshop.pocket.tokenizer import build_tokenizer
from envs.webshop.pocket.warmstart import Lessons, imitate

CATALOG, TOKENIZER = Catalog.generate(60, seed=0), build_tokenizer()


def losses(noise: float = 1.0) -> list[float]:
    model = build_model(TOKENIZER, seed=0, layers=1, width=64)
    shown = list(examples(CATALOG, TOKENIZER, 40, 0, Temper()))
    drilled = list(drills(CATALOG, TOKENIZER, 40, 0))
    return imitate(model, drilled, shown, Lessons(steps=12, batch=8, noise=noise))


def test_imitation_lowers_the_loss_and_repeats_itself() -> None:
    one, other = losses(), losses()
    assert one == pytest.approx(other, rel=1e-3)
    assert sum(one[-3:]) < 0.95 * sum(one[:3])


def test_progress_runs_to_one() -> None:
    told: list[float] = []
    model = build_model(TOKENIZER, seed=0, layers=1, width=64)
    shown = list(examples(CATALOG, TOKENIZER, 8, 0, Temper()))
    imitate(model, shown, shown, Lessons(steps=2, batch=4), lambda _, part: told.append(part))
    assert told == [0.5, 1.0]


def test_noise_disturbs_the_first_rows_only_and_leaves_no_hook() -> None:
    model = build_model(TOKENIZER, seed=0, layers=1, width=64).eval()  # type: ignore[no-untyped-call]
    tokens = torch.arange(40).view(4, 10)
    with torch.no_grad():
        still = model(tokens).logits
        with LastLayerNoise(model, torch.Generator().manual_seed(0)).on_half(2, 1.0):
            moved = model(tokens).logits
        again = model(tokens).logits
    assert not torch.allclose(still[:2], moved[:2])
    torch.testing.assert_close(still[2:], moved[2:])
    torch.testing.assert_close(still, again)
