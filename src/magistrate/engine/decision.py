"""What comes of a check."""

from collections.abc import Sequence
from typing import NamedTuple

from magistrate.engine.warrants import Warrant


class Decision(NamedTuple):
    """`is_implicit`: it rests on more than one warrant of the asked relation to the subject itself. `path`, where it is
    wanted: the warrants that grant it, from the subject to the object; empty if denied, or if it holds because others
    do not."""

    is_authorized: bool
    is_implicit: bool
    path: Sequence[Warrant] = ()


DENIED = Decision(False, False)
EXPLICIT = Decision(True, False)
IMPLICIT = Decision(True, True)
"""The three there are without a path."""
