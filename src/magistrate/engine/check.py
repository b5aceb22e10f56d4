"""Defines the question whether a subject has a relation on an object."""

from collections.abc import Mapping
from typing import Any

import msgspec

from magistrate.engine.names import WarrantNames
from magistrate.engine.terms import ObjectRef, RelationName, Subject


class Check(msgspec.Struct, frozen=True):
    """Represents a check: does `subject` have `relation` on `object`?

    `context` holds the variables of policies. The ids may be `*`.
    """

    object: ObjectRef
    relation: RelationName
    subject: Subject
    context: Mapping[str, Any] = {}

    def render(self) -> str:
        """Returns the check in written form, `report:q3#editor@user:ann[tenant=acme]`.

        The names of the context are sorted; the brackets are left out when it is empty.
        """
        object, subject = self.object, self.subject
        names = WarrantNames(object.type, object.id, self.relation, subject.type, subject.id, subject.relation or "")
        given = " ".join(f"{name}={_plain(value)}" for name, value in sorted(self.context.items()))
        return names.render() + (f"[{given}]" if given else "")


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()
