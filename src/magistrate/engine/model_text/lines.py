"""Keeps what the formatter and lint need of each line of a text: how deep it stands, and where its comment is."""

from dataclasses import dataclass
from typing import Literal

LineKind = Literal["blank", "comment", "description", "statement", "policy"]


@dataclass(slots=True)
class TextLine:
    """Represents a line of a text; a policy takes several, up to `last`.

    `level` is how deep it is nested. `offset` is where the line begins in the text, `start` and `end` are where what is
    written on it does, without blanks around."""

    kind: LineKind
    number: int
    offset: int
    start: int
    end: int
    last: int
    level: int = 0
