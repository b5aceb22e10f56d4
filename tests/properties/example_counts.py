"""How many examples a property is tested on that takes more time for each than most do."""

from hypothesis import settings


def scale_examples(count: int) -> int:
    """Returns `count` for a profile with 100 examples, and as much more or less as the current one has."""
    return max(1, count * settings().max_examples // 100)
