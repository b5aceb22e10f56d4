"""Defines a check, whether a subject has a relation on an object, and its decision."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from magistrate.engine.names import RelationName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant, WarrantNames


class Check(msgspec.Struct, frozen=True):
    """Represents a check: does `subject` have `relation` on `object`?

    `context` holds the variables of policies. The ids may be `*`.
    """

    object: ObjectRef
    relation: RelationName
    subject: Subject
    context: Mapping[str, Any] = {}

    @property
    def names(self) -> WarrantNames:
        """Returns the names that a warrant of this relation to the subject itself has."""
        return WarrantNames(
            object_type=self.object.type,
            object_id=self.object.id,
            relation=self.relation,
            subject_type=self.subject.type,
            subject_id=self.subject.id,
            subject_relation=self.subject.relation,
        )

    def render(self) -> str:
        """Returns the check in written form, `report:q3#editor@user:ann[tenant=acme]`.

        The names of the context are sorted; the brackets are left out when it is empty.
        """
        context = " ".join(f"{name}={_plain(value)}" for name, value in sorted(self.context.items()))
        return self.names.render() + (f"[{context}]" if context else "")


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()


class Decision(NamedTuple):
    """Represents the result of a check.

    `is_implicit` is true when the relation does not depend on a single warrant of that relation to the subject itself.
    `path`, if it was requested, has the warrants that grant it, from the subject to the object; it is empty when access
    is denied or holds because something else does not. `is_unknown` says of one that denies access that a policy, or a
    relation that depends on its own negation, kept it from being decided.
    """

    is_authorized: bool
    is_implicit: bool
    path: Sequence[Warrant] = ()
    is_unknown: bool = False


DENIED = Decision(False, False)
UNDECIDED = Decision(False, False, is_unknown=True)
EXPLICIT = Decision(True, False)
IMPLICIT = Decision(True, True)
"""Completes, with DENIED, UNDECIDED and EXPLICIT, the decisions without a path."""
