"""Connects Django to Magistrate. Add `magistrate_client.django` to INSTALLED_APPS for the template tag, and
`magistrate_client.django.MagistrateBackend` to AUTHENTICATION_BACKENDS for `user.has_perm("viewer", document)`.

The setting MAGISTRATE is a dictionary that may have `URL`, `KEY`, `STORE`, `TIMEOUT`, `RETRIES` and `CONSISTENCY`,
which are those of the client; `SUBJECT` and `OBJECT`, functions or their paths, which name the subject of a user and
the object of an instance; and `PERMISSIONS`, the relations that Django's own permissions stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from magistrate_client.django.allowed import IsOneOf, allowed, allowed_async, mirrored
from magistrate_client.django.configuration import get_client
from magistrate_client.django.guarding import RequireMixin, require
from magistrate_client.django.naming import name_object, name_subject

if TYPE_CHECKING:
    from magistrate_client.django.backend import MagistrateBackend

__all__ = [
    "IsOneOf",
    "MagistrateBackend",
    "RequireMixin",
    "allowed",
    "allowed_async",
    "get_client",
    "mirrored",
    "name_object",
    "name_subject",
    "require",
]


def __getattr__(name: str) -> Any:
    """Imports the backend once it is used: Django's, which it extends, can be imported only after all applications."""
    if name == "MagistrateBackend":
        from magistrate_client.django.backend import MagistrateBackend

        return MagistrateBackend
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
