"""The words that a generated catalogue is made of: a closed vocabulary, so that a small model can spell all of it.

Attributes are two words, no word of a pair being enough for WebShop's fuzzy match (token_set_ratio > 85) to take
one attribute for another; option values are chosen with the same care ("6 feet" against "3 feet" gives 80).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of product: what it is searched by, where it is filed, which choices it offers, its usual prices.

    Levels of `path` are parted by ">"; `prices` are whole dollars, lowest and highest.
    """

    query: str
    path: str
    options: tuple[str, ...]
    prices: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Department:
    """One of WebShop's five categories: its kinds of products, and attributes by how a sentence names them."""

    category: str
    kinds: tuple[Kind, ...]
    adjectives: tuple[str, ...]
    contents: tuple[str, ...]
    purposes: tuple[str, ...]


BRANDS = (
    *("acorn", "alder", "beacon", "birch", "canyon", "comet", "delta", "ember", "falcon", "fjord", "garnet", "harbor"),
    *("indigo", "jasper", "juniper", "kestrel", "lagoon", "lumen", "maple", "meadow", "nimbus", "onyx", "orbit"),
    *("pioneer", "quartz", "raven", "sierra", "summit", "tundra", "willow"),
)

OPTIONS: dict[str, tuple[str, ...]] = {
    "Color": ("black", "white", "red", "blue", "green", "yellow", "purple", "pink", "orange", "brown", "gray", "beige"),
    "Size": ("small", "medium", "large", "petite", "tall", "wide", "narrow", "regular"),
    "Scent": ("lavender", "vanilla", "citrus", "mint", "coconut", "jasmine", "unscented"),
    "Volume": ("2 ounce", "4 ounce", "6 ounce", "8 ounce", "12 ounce", "16 ounce"),
    "Length": ("3 feet", "6 feet", "10 feet", "15 feet", "25 feet"),
    "Bed": ("twin", "full", "queen", "king"),
    "Flavor": ("cherry", "lemon", "caramel", "chocolate", "hazelnut", "ginger", "mango", "original"),
    "Count": ("5 packs", "12 packs", "24 packs", "48 packs", "72 packs"),
}

DEPARTMENTS = (
    Department(
        "beauty",
        (
            Kind("shampoo", "Beauty & Personal Care > Hair Care > Shampoo", ("Scent", "Volume"), (8, 60)),
            Kind("conditioner", "Beauty & Personal Care > Hair Care > Conditioner", ("Scent", "Volume"), (8, 60)),
            Kind("lipstick", "Beauty & Personal Care > Makeup > Lipstick", ("Color",), (5, 45)),
            Kind("body lotion", "Beauty & Personal Care > Skin Care > Lotion", ("Scent", "Volume"), (8, 60)),
            Kind("face serum", "Beauty & Personal Care > Skin Care > Serums", ("Volume",), (12, 90)),
            Kind("nail polish", "Beauty & Personal Care > Nails > Polish", ("Color", "Count"), (5, 40)),
        ),
        ("sulfate free", "paraben free", "cruelty free", "long lasting", "clinically proven", "fragrance free"),
        ("coconut oil", "hyaluronic acid", "tea tree", "aloe vera", "argan extract"),
        ("dry hair", "sensitive skin", "fine lines", "daily care"),
    ),
    Department(
        "electronics",
        (
            Kind("headphones", "Electronics > Audio > Headphones", ("Color",), (15, 95)),
            Kind("charger cable", "Electronics > Accessories > Cables", ("Color", "Length"), (6, 50)),
            Kind("speaker", "Electronics > Audio > Speakers", ("Color",), (20, 95)),
            Kind("tripod", "Electronics > Camera > Tripods", ("Color", "Size"), (18, 95)),
            Kind("phone case", "Electronics > Phones > Cases", ("Color", "Size"), (8, 55)),
            Kind("extension cord", "Electronics > Power > Cords", ("Color", "Length"), (8, 60)),
        ),
        ("fast charging", "water resistant", "heavy duty", "light weight", "noise canceling", "plug play"),
        ("stereo sound", "carbon fiber", "wireless remote", "gold plated", "usb port"),
        ("outdoor travel", "home office", "video calls", "car use"),
    ),
    Department(
        "garden",
        (
            Kind("pillow", "Home & Kitchen > Bedding > Pillows", ("Color", "Bed"), (12, 80)),
            Kind("blanket", "Home & Kitchen > Bedding > Blankets", ("Color", "Bed"), (18, 95)),
            Kind("table lamp", "Home & Kitchen > Lighting > Lamps", ("Color",), (20, 95)),
            Kind("shower curtain", "Home & Kitchen > Bath > Curtains", ("Color", "Size"), (10, 70)),
            Kind("storage basket", "Home & Kitchen > Storage > Baskets", ("Color", "Size"), (12, 75)),
            Kind("area rug", "Home & Kitchen > Decor > Rugs", ("Color", "Length"), (22, 95)),
        ),
        ("machine washable", "easy assemble", "eco friendly", "space saving", "hand crafted", "spot clean"),
        ("memory foam", "solid wood", "steel frame", "cotton lining", "bamboo cover"),
        ("living room", "guest bedroom", "dining area", "small apartment"),
    ),
    Department(
        "fashion",
        (
            Kind("jacket", "Clothing > Outerwear > Jackets", ("Color", "Size"), (25, 95)),
            Kind("dress", "Clothing > Women > Dresses", ("Color", "Size"), (18, 90)),
            Kind("sneakers", "Clothing > Shoes > Sneakers", ("Color", "Size"), (25, 95)),
            Kind("sweater", "Clothing > Knitwear > Sweaters", ("Color", "Size"), (18, 85)),
            Kind("leggings", "Clothing > Active > Leggings", ("Color", "Size"), (12, 60)),
            Kind("backpack", "Clothing > Luggage > Backpacks", ("Color",), (20, 95)),
        ),
        ("slim fit", "wrinkle resistant", "quick drying", "moisture wicking", "ultra soft", "tumble dry"),
        ("elastic waist", "button closure", "rubber sole", "hidden pockets", "faux leather"),
        ("gym workout", "evening party", "winter hiking", "school wear"),
    ),
    Department(
        "grocery",
        (
            Kind("granola", "Grocery > Breakfast > Granola", ("Flavor", "Count"), (5, 45)),
            Kind("coffee", "Grocery > Beverages > Coffee", ("Flavor", "Volume"), (8, 60)),
            Kind("green tea", "Grocery > Beverages > Tea", ("Flavor", "Count"), (5, 40)),
            Kind("protein bar", "Grocery > Snacks > Bars", ("Flavor", "Count"), (8, 55)),
            Kind("hard candy", "Grocery > Snacks > Candy", ("Flavor",), (5, 35)),
            Kind("popcorn", "Grocery > Snacks > Popcorn", ("Flavor", "Count"), (5, 40)),
        ),
        ("gluten free", "low sodium", "keto approved", "non gmo", "dairy free", "freshly roasted"),
        ("real fruit", "natural ingredients", "whole grain", "sea salt", "artificial colors"),
        ("gift basket", "baby shower", "camping trip", "kids lunch"),
    ),
)
