"""How much memory a service may need, for those who limit it."""

from magistrate.config.settings_table import Settings

WORKER_BYTES = 90_000_000
CACHES_GROW_BY = 1.5
"""What docs/operating.md and docs/security.md say: caches take about one and a half times their limit at worst."""


def needed_bytes(settings: Settings, workers: int) -> float:
    """What that many workers take, and their supervisor, when everything is full that has a bound in the settings."""
    bounded = (
        settings.max_all_bodies_bytes,
        settings.max_unsent_bytes,
        settings.max_received_bytes,
        settings.max_unwritten_bytes * 2,
        settings.request_cache_bytes,
    )
    return (workers + 1) * WORKER_BYTES + workers * (CACHES_GROW_BY * settings.cache_bytes + sum(bounded))
