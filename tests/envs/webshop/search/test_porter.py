from __future__ import annotations

import pytest

from envs.webshop.search.porter import stem

# Examples of Porter's paper, step by step, and of the two departures.
PAIRS = """
caresses caress, ponies poni, ties ti, cats cat, feed feed, agreed agre, plastered plaster, bled bled, motoring motor,
sing sing, conflated conflat, troubled troubl, sized size, hopping hop, tanned tan, falling fall, hissing hiss,
fizzed fizz, failing fail, filing file, happy happi, sky sky, relational relat, conditional condit, rational ration,
valenci valenc, digitizer digit, radically radic, differently differ, vilely vile, analogously analog,
vietnamization vietnam, predication predic, operator oper, feudalism feudal, decisiveness decis, hopefulness hope,
callousness callous, formality formal, sensitivity sensit, sensibility sensibl, triplicate triplic, formative form,
electrical electr, goodness good, revival reviv, allowance allow, inference infer, airliner airlin, adjustable adjust,
irritant irrit, replacement replac, adjustment adjust, dependent depend, adoption adopt, communism commun,
activate activ, effective effect, bowdlerize bowdler, probate probat, rate rate, cease ceas, controlling control,
roll roll, possibly possibl, technology technolog, is is, y y
"""


@pytest.mark.parametrize("pair", PAIRS.replace("\n", " ").strip().split(", "))
def test_stem(pair: str) -> None:
    word, expected = pair.split()
    assert stem(word) == expected
