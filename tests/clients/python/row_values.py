"""The rows of documents and notes, for every ORM."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID
from zlib import crc32

NOTES_ABOUT_NONE = 3


def find_updated(key: str) -> int:
    """A number by which documents are in another order than by their keys."""
    return crc32(key.encode()) & 0x7FFFFFFF


def read_key(kind: str, key: str) -> Any:
    return int(key) if kind == "integer" else UUID(key) if kind == "uuid" else key


def list_documents(kind: str, keys: Sequence[str]) -> list[dict[str, Any]]:
    return [_name(kind, "key", key) | {"updated": find_updated(key)} for key in keys]


def list_notes(kind: str, keys: Sequence[str], column: str = "document") -> list[dict[str, Any]]:
    about = [*keys, *[None] * NOTES_ABOUT_NONE]
    return [{"id": place} | _name(kind, column, key) for place, key in enumerate(about)]


def _name(kind: str, column: str, key: str | None) -> dict[str, Any]:
    if kind == "composite":
        tenant, _, number = (key or "").partition(".")
        return {"tenant": tenant, "number": number} if key else {"tenant": None, "number": None}
    return {column: None if key is None else read_key(kind, key)}
