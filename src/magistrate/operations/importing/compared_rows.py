"""Builds from the rows of either side what is compared of them."""

import msgspec

from magistrate.engine.names import PolicyName, WarrantNames
from magistrate.engine.terms import ObjectRef, RelationName, Subject
from magistrate.engine.warrants import Warrant
from magistrate.operations.importing.row_differences import ComparedRow
from magistrate.store.contract import NewObject, NewWarrant, StoredObject


def build_object_row(stored: NewObject | StoredObject) -> ComparedRow:
    # Compared as JSON rather than text: the order of members has no meaning.
    meta = "" if stored.meta is None else _sort_members(stored.meta)
    return ComparedRow((stored.type, stored.id), meta, f"{stored.type}:{stored.id}")


def build_policy_row(name: PolicyName, definition: str) -> ComparedRow:
    # Compared as JSON, like meta: the order of parameters has no meaning.
    return ComparedRow((name,), _sort_members(definition), name)


def build_warrant_row(new: NewWarrant) -> ComparedRow:
    subject = new.subject
    names = WarrantNames(new.object.type, new.object.id, new.relation, subject.type, subject.id, subject.relation or "")
    written = names.render() + (f"[{new.policy}]" if new.policy else "")
    created_at = None if new.created_at is None else str(new.created_at)
    return ComparedRow((*names, new.policy), created_at, written)


def new_warrant_of(stored: Warrant) -> NewWarrant:
    relation = RelationName(stored.subject_relation) if stored.subject_relation else None
    subject = Subject(stored.subject_type, stored.subject_id, relation)
    of_object = ObjectRef(stored.object_type, stored.object_id)
    return NewWarrant(of_object, stored.relation, subject, stored.policy, stored.created_at)


def _sort_members(text: str) -> str:
    return msgspec.json.encode(msgspec.json.decode(text), order="sorted").decode()
