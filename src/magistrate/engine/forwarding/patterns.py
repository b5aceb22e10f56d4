"""Defines the patterns of hosts and paths in rules: `*.docs.example` and `/documents/{id}/files/{rest...}`."""

import re
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from magistrate.engine.forwarding.paths import ForwardedPath, list_similar, read_path

_CAPTURE = re.compile(r"\{([a-z][a-z0-9_]{0,31})(\.\.\.|\N{HORIZONTAL ELLIPSIS})?\}")
_HOST_LABELS = r"[a-z0-9](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9](?:[a-z0-9_-]{0,62})){0,31}"
_HOST_PATTERN = re.compile(rf"(?:\*\.)?{_HOST_LABELS}")
_HOST = re.compile(rb"([a-z0-9][a-z0-9_.-]{0,252}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?", re.IGNORECASE)


class Literals(NamedTuple):
    """Holds the literals of a pattern: `select` returns what a path has in their places, which must be `expected`."""

    select: Callable[[Sequence[Any]], object]
    expected: object


class PathPattern(NamedTuple):
    """Represents a pattern of `size` literals and captures, whose names are those of their places. `rest` names the
    capture of all further segments, and is empty if there is none. `similar` and `similar_size` describe the paths that
    a careless reader would say match; `first` is how these begin, None if they begin with anything."""

    size: int
    literals: Literals
    similar_size: int
    similar: Literals
    first: str | None
    captures: Sequence[tuple[int, str]]
    rest: str

    @property
    def names(self) -> Sequence[str]:
        return [name for _, name in self.captures] + ([self.rest] if self.rest else [])

    def match(self, path: ForwardedPath) -> Mapping[str, str] | None:
        """Returns the captures of a path, None if it does not match."""
        segments, size = path.segments, self.size
        if len(segments) <= size if self.rest else len(segments) != size:
            return None
        if self.literals.select(segments) != self.literals.expected:
            return None
        captured = {name: segments[place] for place, name in self.captures}
        if "" in captured.values():
            return None
        return {**captured, self.rest: "/".join(segments[size:])} if self.rest else captured

    def resembles(self, path: ForwardedPath) -> bool:
        """Returns whether a careless reader would say that a path matches."""
        segments, size = path.similar, self.similar_size
        if len(segments) < size if self.rest else len(segments) != size:
            return False
        return self.similar.select(segments) == self.similar.expected


def read_path_pattern(text: str) -> PathPattern | str:
    """Returns the pattern, or what is wrong with it."""
    if not text.startswith("/"):
        return "must begin with a slash"
    literals: list[str | None] = []
    captures: list[tuple[int, str]] = []
    rest = ""
    for place, segment in enumerate(text[1:].split("/")):
        if rest:
            return f"{{{rest}...}} must be the last segment"
        matched = _CAPTURE.fullmatch(segment)
        if matched is None:
            literals.append(segment)
        elif matched[2]:
            rest = matched[1]
        else:
            literals.append(None)
            captures.append((place, matched[1]))
    names = [name for _, name in captures] + [rest]
    if len({*names}) < len(names):
        return "two captures have the same name"
    if fault := _find_literal_fault(literals):
        return fault
    similar = _list_similar_literals(literals)
    return PathPattern(
        len(literals),
        _place_literals(literals),
        len(similar),
        _place_literals(similar),
        similar[0] if similar else None,
        tuple(captures),
        rest,
    )


def _place_literals(literals: Sequence[str | None]) -> Literals:
    places = [place for place, literal in enumerate(literals) if literal is not None]
    select = itemgetter(*places) if places else _select_nothing
    return Literals(select, select(literals))


def _select_nothing(segments: object) -> None:
    return None


def _find_literal_fault(literals: Sequence[str | None]) -> str | None:
    for place, literal in enumerate(literals):
        if not literal and literal is not None and place < len(literals) - 1:
            return "must not have an empty segment"
        if literal and ("{" in literal or "}" in literal):
            return f"{literal!r} must be one capture, as {{id}}, or a literal without braces"
        if literal and "%" in literal:
            return f"{literal!r} must be written decoded: paths are decoded before they are matched"
        if literal and read_path(b"/" + literal.encode() if literal.isascii() else _encode(literal)) is None:
            return f"{literal!r} has a character that no path may have"
    return None


def _encode(literal: str) -> bytes:
    return (
        b"/"
        + "".join(
            character if character.isascii() else "".join(f"%{byte:02x}" for byte in character.encode())
            for character in literal
        ).encode()
    )


def _list_similar_literals(literals: Sequence[str | None]) -> tuple[str | None, ...]:
    counted = literals[:-1] if len(literals) > 1 and literals[-1] == "" else literals
    return tuple([None if literal is None else list_similar([literal])[0] for literal in counted])


class HostPattern(NamedTuple):
    """Holds a host, or with `is_suffix` what the hosts end with, the dot included. The empty text is any host."""

    text: str = ""
    is_suffix: bool = False

    def matches(self, host: str) -> bool:
        if self.is_suffix:
            return host.endswith(self.text) and len(host) > len(self.text)
        return not self.text or host == self.text


def read_host_pattern(text: str) -> HostPattern | None:
    """Returns the pattern, None if it is not valid."""
    lowered = text.lower()
    if not _HOST_PATTERN.fullmatch(lowered):
        return None
    return HostPattern(lowered[1:], is_suffix=True) if lowered.startswith("*.") else HostPattern(lowered)


def read_host(written: bytes) -> str | None:
    """Returns a host in lower case and without its port, None if it is not one."""
    matched = _HOST.fullmatch(written)
    if matched is None:
        return None
    host = matched[1].decode().lower()
    return None if host.endswith(".") or ".." in host else host
