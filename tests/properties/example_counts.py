"""How many examples a property is tested on that needs more or fewer of them than most do."""

from hypothesis import settings


def scale_examples(count: int) -> int:
    """Returns `count` for a profile with 100 examples, and as much more or less as the current one has."""
    return max(1, count * settings().max_examples // 100)


def count_for_all_answers() -> int:
    """Returns how many examples a property needs after which each answer must have come: 100, or as many as the current
    profile has."""
    return max(100, settings().max_examples)
