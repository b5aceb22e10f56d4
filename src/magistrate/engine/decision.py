"""Defines the result of a check."""

from collections.abc import Sequence
from typing import NamedTuple

from magistrate.engine.warrants import Warrant


class Decision(NamedTuple):
    """Represents the result of a check.

    `is_implicit` is true when the relation does not rest on a single warrant of that relation to the subject itself.
    `path`, if it was requested, has the warrants that grant it, from the subject to the object; it is empty when access
    is denied or holds because something else does not.
    """

    is_authorized: bool
    is_implicit: bool
    path: Sequence[Warrant] = ()


DENIED = Decision(False, False)
EXPLICIT = Decision(True, False)
IMPLICIT = Decision(True, True)
"""Completes, with DENIED and EXPLICIT, the three decisions without a path."""
