"""Colour names the reward tells apart; everything finer is the same colour to it."""

from __future__ import annotations

# In alphabetical order, which decides when several are found in one text.
# fmt: off
COLORS = (
    "alabaster", "apricot", "aqua", "ash", "asphalt", "azure", "banana", "beige", "black", "blue", "blush",
    "bordeaux", "bronze", "brown", "burgundy", "camel", "camo", "caramel", "champagne", "charcoal", "cheetah",
    "chestnut", "chocolate", "christmas", "coffee", "cognac", "copper", "coral", "cranberry", "cream", "crystal",
    "dark", "denim", "eggplant", "elephant", "espresso", "fuchsia", "gold", "granite", "grape", "graphite", "grass",
    "gray", "green", "grey", "heather", "indigo", "ivory", "ivy", "khaki", "lavender", "lemon", "leopard", "light",
    "lilac", "lime", "magenta", "maroon", "mauve", "merlot", "midnight", "mint", "mocha", "multicolor", "mushroom",
    "mustard", "natural", "navy", "nude", "olive", "orange", "peach", "pewter", "pink", "plum", "purple", "rainbow",
    "red", "rose", "royal", "rust", "sand", "sapphire", "seashell", "silver", "skull", "slate", "steel", "stone",
    "stonewash", "sunflower", "tan", "taupe", "teal", "tiger", "turquoise", "violet", "walnut", "wheat", "white",
    "wine", "yellow",
)
# fmt: on


def normalize_color(value: str | tuple[str, str]) -> str | tuple[str, str]:
    """Return the first colour that a text contains, anywhere in it ("tan" in "titanium"), or else the text itself.

    For a (name, value) pair, as synthetic goals have them, a colour counts only when it is all of one of the two;
    this is how the original treats such pairs.
    """
    return next((color for color in COLORS if color in value), value)
