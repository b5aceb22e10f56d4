"""Finds the names that types and relations have in OpenFGA, given those here (docs/openfga.md#models)."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
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
from magistrate.operations.openfga.documents import CompiledDocument, compile_document
from magistrate.store.contract.openfga import LAST_ULID

_HAS_DIGEST = re.compile(r".*-[0-9a-f]{12}", re.DOTALL)
MODELS_AT_ONCE = 20


class TupleNames(NamedTuple):
    """Holds a tuple as it is written there."""

    user: str
    relation: str
    object: str


class ShownNames(NamedTuple):
    """Holds the names in OpenFGA of the types, relations, ids and conditions of an answer that are called otherwise
    here, by the names that they have here."""

    types: Mapping[str, str]
    relations: Mapping[str, str]
    ids: Mapping[str, str]
    conditions: Mapping[str, str]


_WORD = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class UsedNames:
    """Collects the names that an answer uses. `words` are those in its sentences, which may name types, relations or
    conditions."""

    types: set[str] = field(default_factory=set)
    relations: set[str] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)

    def add_text(self, text: str) -> None:
        """Adds the words of a sentence that may need other names."""
        self.words.update(
            word for word in _WORD.findall(text) if word.startswith(DIRECT) or _HAS_DIGEST.fullmatch(word)
        )


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

    def list_shown(self, used: UsedNames) -> ShownNames:
        """Returns the names of OpenFGA for those that an answer uses, as far as they differ."""
        relations = {}
        for relation in used.relations | used.words:
            stored = relation.removeprefix(DIRECT)
            relations[relation] = self._relations.get(stored, stored)
        return ShownNames(
            {name: self._types[name] for name in used.types | used.words if name in self._types},
            {here: there for here, there in relations.items() if here != there},
            {here: there for here in used.ids if (there := decode_id(here)) != here},
            {name: self._conditions[name] for name in used.words if name in self._conditions},
        )

    def knows_all(self, used: UsedNames) -> bool:
        """Returns whether it has every name of an answer that needs one in OpenFGA."""
        words = (word.removeprefix(DIRECT) for word in used.words)
        return (
            _are_known(used.types, self._types)
            and _are_known((relation.removeprefix(DIRECT) for relation in used.relations), self._relations)
            and _are_known(words, {**self._types, **self._relations, **self._conditions})
        )

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
    current = ctx.caches.openfga.current
    needed = [*warrants]
    return await _collect_names(
        ctx, None if current is None else current.compiled, lambda names: all(map(names.knows, needed))
    )


async def find_shown_names(ctx: Context, used: UsedNames) -> ShownNames | None:
    """Returns the names in OpenFGA for those that an answer uses; None if none differs, or the store has no
    authorization model."""
    newest = await ctx.caches.openfga.find_known()
    if newest is None:
        return None
    names = await _collect_names(ctx, newest, lambda names: names.knows_all(used))
    shown = names.list_shown(used)
    return shown if any(shown) else None


async def _collect_names(
    ctx: Context, newest: CompiledDocument | None, is_enough: Callable[[ForeignNames], bool]
) -> ForeignNames:
    names, last = ForeignNames(), LAST_ULID
    if newest is not None:
        names.add(newest.document)
    while not is_enough(names) and (listed := (await ctx.store.list_openfga_models(last, MODELS_AT_ONCE)).value):
        for stored in listed:
            names.add((await compile_document(stored)).document)
        last = listed[-1].id
    return names


def is_tuple(warrant: Warrant) -> bool:
    """Returns whether a warrant is one that tuples are stored as: no tuple has an expression of its own."""
    return warrant.relation.startswith(DIRECT) and (not warrant.policy or is_reference(warrant.policy))
