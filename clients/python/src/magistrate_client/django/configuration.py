"""Reads the setting MAGISTRATE, and keeps the client of the process."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Callable

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from magistrate_client.synchronous.client import Client

_OF_THE_CLIENT = ("URL", "KEY", "STORE", "TIMEOUT", "RETRIES", "CONSISTENCY")
_NAMES = frozenset({*_OF_THE_CLIENT, "SUBJECT", "OBJECT", "PERMISSIONS"})


def read_configuration() -> Mapping[str, Any]:
    """Returns the setting. Raises ImproperlyConfigured for a name that it does not have."""
    given = getattr(settings, "MAGISTRATE", {})
    unknown = sorted(given.keys() - _NAMES)
    if unknown:
        raise ImproperlyConfigured(f"MAGISTRATE has {', '.join(unknown)}, and knows {', '.join(sorted(_NAMES))}")
    return dict(given)


def find_function(name: str, default: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function that a member of the setting is, or names by its path."""
    given = read_configuration().get(name, default)
    found = import_string(given) if isinstance(given, str) else given
    if not callable(found):
        raise ImproperlyConfigured(f"MAGISTRATE[{name!r}] is neither a function nor the path of one")
    return found  # type: ignore[no-any-return]  # callable() says nothing of what it returns


class _ClientHolder:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._client: Client | None = None

    def get(self) -> Client:
        with self._lock:
            if self._client is None:
                given = read_configuration()
                self._client = Client(**{name.lower(): given[name] for name in _OF_THE_CLIENT if name in given})
            return self._client

    def close(self) -> None:
        """Closes the client, so that the next one is made of the settings of then."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()


_HOLDER = _ClientHolder()


def get_client() -> Client:
    """Returns the client of the process, for all threads. It is made when it is needed first, of the setting, or of the
    environment where that says nothing."""
    return _HOLDER.get()


def _follow_settings(*, setting: str, **_: Any) -> None:
    if setting == "MAGISTRATE":
        _HOLDER.close()


setting_changed.connect(_follow_settings)
