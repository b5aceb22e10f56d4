"""Finds the names that types and relations have in OpenFGA, given those here (docs/openfga.md#models)."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from magistrate.engine.importers.names import DIRECT
from magistrate.engine.openfga.conditions import restore_context
from magistrate.engine.openfga.documents import OpenFgaDocument
from magistrate.engine.openfga.ids import decode_id
from magistrate.engine.openfga.tuples import NamedCondition
from magistrate.engine.policy.policy import read_policy
from magistrate.engine.policy.references import PolicyReference, is_reference
from magistrate.engine.warrants.warrant import Warrant
from magistrate.operations.context import Context
from magistrate.operations.openfga.documents import compile_document
from magistrate.store.contract.openfga import LAST_ULID

_HAS_DIGEST = re.compile(r".*-[0-9a-f]{12}", re.DOTALL)
MODELS_AT_ONCE = 20


class TupleNames(NamedTuple):
    """Holds a tuple as it is written there."""

    user: str
    relation: str
    object: str


class ForeignNames:
    """Holds the names in OpenFGA of the types, relations and conditions that are called otherwise here."""

    def __init__(self) -> None:
        self._conditions: dict[str, str] = {}
        self._types: dict[str, str] = {}
        self._relations: dict[str, str] = {}

    def add(self, document: OpenFgaDocument) -> None:
        """Adds those of an authorization model."""
        for name, condition in document.conditions.items():
            _add_if_other(self._conditions, condition.name, name)
        for name, declared in document.types.items():
            _add_if_other(self._types, declared.name, name)
            for relation, described in declared.relations.items():
                _add_if_other(self._relations, described.name, relation)

    def knows(self, warrant: Warrant) -> bool:
        """Returns whether all names in a warrant are those of OpenFGA, or known."""
        types, relations = (warrant.object_type, warrant.subject_type), (warrant.relation, warrant.subject_relation)
        reference = find_reference(warrant)
        return (
            _are_known(types, self._types)
            and _are_known((relation.removeprefix(DIRECT) for relation in relations), self._relations)
            and (reference is None or _are_known((reference.name,), self._conditions))
        )

    def describe(self, warrant: Warrant) -> TupleNames:
        """Returns the tuple that a warrant is."""
        stored = warrant.relation.removeprefix(DIRECT)
        user = f"{self._types.get(warrant.subject_type, warrant.subject_type)}:{decode_id(warrant.subject_id)}"
        if warrant.subject_relation:
            user = f"{user}#{self._relations.get(warrant.subject_relation, warrant.subject_relation)}"
        of_object = f"{self._types.get(warrant.object_type, warrant.object_type)}:{decode_id(warrant.object_id)}"
        return TupleNames(user, self._relations.get(stored, stored), of_object)

    def describe_condition(self, warrant: Warrant) -> NamedCondition | None:
        """Returns the condition of the tuple that a warrant is, None if it has none."""
        reference = find_reference(warrant)
        if reference is None:
            return None
        name = self._conditions.get(reference.name, reference.name)
        return NamedCondition(name, restore_context(reference))


def find_reference(warrant: Warrant) -> PolicyReference | None:
    """Returns the named policy that a warrant refers to, None if it has none or another policy."""
    return read_policy(warrant.policy).reference if is_reference(warrant.policy) else None


def _add_if_other(names: dict[str, str], here: str, there: str) -> None:
    if here != there:
        names[here] = there


def _are_known(names: Iterable[str], others: Mapping[str, str]) -> bool:
    return all(name in others or not _HAS_DIGEST.fullmatch(name) for name in names)


async def find_names(ctx: Context, warrants: Iterable[Warrant]) -> ForeignNames:
    """Returns the names that the warrants need: those of the newest model, and if these are not enough, those of all
    models of the store."""
    names, last = ForeignNames(), LAST_ULID
    current = ctx.caches.openfga.current
    if current is not None:
        names.add(current.compiled.document)
    missing = [warrant for warrant in warrants if not names.knows(warrant)]
    while missing and (listed := (await ctx.store.list_openfga_models(last, MODELS_AT_ONCE)).value):
        for stored in listed:
            names.add((await compile_document(stored)).document)
        last = listed[-1].id
        missing = [warrant for warrant in missing if not names.knows(warrant)]
    return names


def is_tuple(warrant: Warrant) -> bool:
    """Returns whether a warrant is one that tuples are stored as: no tuple has an expression of its own."""
    return warrant.relation.startswith(DIRECT) and (not warrant.policy or is_reference(warrant.policy))
