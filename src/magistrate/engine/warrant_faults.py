"""Says why a warrant cannot be written with some object types."""

from collections.abc import Mapping

from magistrate.engine.allowed_types import DefinedType, describe_allowed, find_allowed, render_subject_type
from magistrate.engine.names import WarrantNames
from magistrate.engine.terms import TypeName
from magistrate.errors import InvalidParameter, NotAllowed


def find_names_fault(names: WarrantNames, defined: Mapping[TypeName, DefinedType]) -> InvalidParameter | None:
    """Returns why a warrant with these names is not valid with these object types, or None."""
    found = defined.get(names.object_type)
    if found is None:
        return InvalidParameter("objectType", "the object type does not exist.")
    if names.relation not in found.relations:
        return InvalidParameter("relation", "the relation does not exist on the specified object type.")
    subject_type = render_subject_type(names.subject_type, names.subject_id, names.subject_relation)
    allowed = find_allowed(found, names.relation, subject_type)
    if allowed is None:
        return None
    return NotAllowed("subject", describe_allowed(names.object_type, names.relation, subject_type, allowed), allowed)
