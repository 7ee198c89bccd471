"""What is for sale and what is asked for: products, their search index and the goals, shared read-only by all."""

from envs.webshop.catalog.catalog import Catalog
from envs.webshop.catalog.goals import Goal, GoalKind
from envs.webshop.catalog.product import Product
from envs.webshop.catalog.splits import Split

__all__ = ["Catalog", "Goal", "GoalKind", "Product", "Split"]
