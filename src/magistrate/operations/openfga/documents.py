"""Reads the authorization models of OpenFGA's API, and keeps those that are in use."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from functools import partial
from itertools import chain, count
from operator import attrgetter
from typing import NamedTuple

from cachetools import LRUCache

from magistrate.engine.byte_sizes import CacheBytes
from magistrate.engine.importers.names import DIRECT
from magistrate.engine.model.model import Model
from magistrate.engine.model.object_types import AllowedType, ObjectType
from magistrate.engine.names import PolicyName, Revision, TypeName
from magistrate.engine.openfga.documents import OpenFgaDocument, load_document
from magistrate.engine.openfga.user_lists import (
    add_named_patterns,
    add_named_relations,
    allow_own_usersets,
    list_own_patterns,
)
from magistrate.engine.policy.policy import read_policy
from magistrate.engine.policy.references import is_reference
from magistrate.engine.warrants.overlay import CountsWarrant
from magistrate.engine.warrants.warrant import Warrant, WarrantPattern, warrant_pattern
from magistrate.errors import OpenFgaRefusal
from magistrate.operations.models.cache import Models
from magistrate.operations.models.definitions import render_definition, render_policy_definition
from magistrate.operations.scheduling import offload
from magistrate.store.contract.openfga import StoredOpenFgaModel
from magistrate.store.contract.store import Store

UNKNOWN_MODEL, NO_MODEL = "authorization_model_not_found", "latest_authorization_model_not_found"
COST_OF_A_BYTE = 10
"""Sets how many times as long a document takes as reading as many bytes of definitions."""
MIN_BYTES, BYTES_OF_A_CHARACTER = 65_536, 180
"""Estimate what a document takes in memory, with the types that it becomes."""
MAX_BYTES = 33_554_432
"""Limits the documents that are kept in a process besides the newest of each store (32 MiB)."""


USERSET = TypeName("openfga userset")
"""Names the type of the subject that stands for a userset (operations/openfga/checks.py). No type can have it."""


class ModelUse(Enum):
    """Says what a model decides by an authorization model: checks as they are, with USERSET, and lists of users and of
    usersets (engine/openfga/user_lists.py)."""

    CHECKS = "checks"
    USERSETS = "usersets"
    USER_LISTS = "user lists"
    USERSET_LISTS = "userset lists"


class CompiledDocument:
    """Holds an authorization model with its id, the policies that it lists for each pattern of warrants, the
    definitions and the policies that it has as the model of a store, and the models that decide by it, for the newest
    patterns of warrants that are known."""

    __slots__ = ("_models", "conditions", "definitions", "document", "id", "policies", "size")

    def __init__(
        self,
        model_id: str,
        document: OpenFgaDocument,
        definitions: Mapping[TypeName, str],
        policies: Mapping[PolicyName, str],
    ) -> None:
        self.id = model_id
        self.document = document
        self.conditions = document.list_conditions()
        self.definitions = definitions
        self.policies = policies
        self.size = MIN_BYTES + BYTES_OF_A_CHARACTER * len(document.text)
        self._models: dict[ModelUse, Model] = {}

    def build_model(self, of_store: Model, use: ModelUse) -> Model:
        """Returns the model that decides by this authorization model over the warrants of a store, whose own model is
        given."""
        model = self._models.get(use)
        if model is None or model.revision != of_store.revision:
            types = {of_type.name: _DERIVED_TYPES[use](of_type) for of_type in self.document.object_types}
            policies = {policy.name: policy for policy in self.document.policies}
            patterns = of_store.patterns | of_store.orphaned
            if use is ModelUse.USER_LISTS:
                patterns = add_named_patterns(patterns)
            elif use is ModelUse.USERSET_LISTS:
                patterns = frozenset(patterns) | {*list_own_patterns(types)}
            model = Model(types, of_store.revision, patterns, policies=policies)
            self._models[use] = model
        return model


def _allow_usersets(of_type: ObjectType) -> ObjectType:
    allowed = {
        relation: (*of_type.allowed_types.get(relation, ()), AllowedType(USERSET)) for relation in of_type.relations
    }
    return replace(of_type, allowed_types=allowed)


_DERIVED_TYPES: Mapping[ModelUse, Callable[[ObjectType], ObjectType]] = {
    ModelUse.CHECKS: lambda of_type: of_type,
    ModelUse.USERSETS: _allow_usersets,
    ModelUse.USER_LISTS: add_named_relations,
    ModelUse.USERSET_LISTS: allow_own_usersets,
}


class KeptDocuments:
    """Holds the authorization models that were used most recently, of all stores of a process. `owner` is a number that
    none but the OpenFgaModels of a store has, and not after the history of the store was replaced."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._documents: LRUCache[tuple[int, str], CompiledDocument] = LRUCache(max_bytes, getsizeof=attrgetter("size"))

    def measure(self) -> CacheBytes:
        """Returns how many bytes they take, and the limit on them."""
        return CacheBytes("openfga_models", int(self._documents.currsize), self._max_bytes)

    def find(self, owner: int, model_id: str) -> CompiledDocument | None:
        return self._documents.get((owner, model_id))

    def keep(self, owner: int, document: CompiledDocument) -> None:
        if document.size <= self._max_bytes:
            self._documents[owner, document.id] = document


class NewestDocument(NamedTuple):
    """Holds the newest authorization model of a store whose model was last changed at a revision. It `is_live` if the
    model of the store is what it was converted to: not if that was written otherwise since."""

    model_revision: Revision
    compiled: CompiledDocument
    is_live: bool


class UsedModel(NamedTuple):
    """Holds an authorization model that a request is about. It `is_live` if it is the model of the store."""

    compiled: CompiledDocument
    is_live: bool

    @property
    def counts_stored(self) -> CountsWarrant | None:
        """Returns what says whether a stored warrant counts by this model, as far as that depends on the conditions
        that it lists; None if all do. Where the newest model demands a condition, writes of it and of tuples make sure
        that no warrant is stored without one."""
        if self.is_live or not self.compiled.document.conditions:
            return None
        return partial(_has_declared_condition, self.compiled.conditions)


def _has_declared_condition(conditions: Mapping[WarrantPattern, frozenset[str]], warrant: Warrant) -> bool:
    declared = conditions.get(warrant_pattern(warrant.names))
    if declared is None or (warrant.policy and not is_reference(warrant.policy)):
        return True  # allowed types decide, or the warrant is no tuple
    reference = read_policy(warrant.policy).reference if warrant.policy else None
    return ("" if reference is None else reference.name) in declared


_OWNERS = count()


class OpenFgaModels:
    """Knows the newest authorization model of one store."""

    def __init__(self, store: Store, models: Models, kept: KeptDocuments) -> None:
        self._store = store
        self._models = models
        self.kept = kept
        self._owner = next(_OWNERS)
        self.newest: NewestDocument | None = None
        self._none_at: Revision | None = None
        """Is the revision of a model of the store at which it has no authorization model."""
        self._examined: Revision | None = None
        self._may_have_tuples = False

    @property
    def may_have_tuples(self) -> bool:
        """Returns whether the model of the store, or a warrant that it does not allow, has relations that are named
        like those in which tuples are stored; False while no model is known."""
        of_store = self._models.known
        if of_store is None:
            return False
        if of_store.revision != self._examined:
            self._examined = of_store.revision
            relations = chain(
                (relation for of_type in of_store.types.values() for relation in of_type.relations),
                (pattern.relation for pattern in of_store.orphaned),
            )
            self._may_have_tuples = any(relation.startswith(DIRECT) for relation in relations)
        return self._may_have_tuples

    async def find_known(self) -> CompiledDocument | None:
        """Returns the newest model at a revision that checks know, None if the store has none. Takes a statement only
        if the model of the store has changed."""
        current, of_store = self.current, await self._models.get_known()
        if current is not None:
            return current.compiled
        if of_store.revision == self._none_at:
            return None
        try:
            return (await self.find_newest()).compiled
        except OpenFgaRefusal:
            self._none_at = of_store.revision
            return None

    async def find(self, model_id: str) -> CompiledDocument:
        """Returns the model with this id. Raises OpenFgaRefusal if the store has none."""
        newest = self.newest
        if newest is not None and newest.compiled.id == model_id:
            return newest.compiled
        if (compiled := self.kept.find(self._owner, model_id)) is not None:
            return compiled
        stored = (await self._store.find_openfga_model(model_id)).value
        if stored is None:
            raise OpenFgaRefusal(UNKNOWN_MODEL, f"the store has no authorization model {model_id}")
        compiled = await compile_document(stored)
        self.kept.keep(self._owner, compiled)
        return compiled

    @property
    def current(self) -> NewestDocument | None:
        """Returns the newest model if it is known, that of the newest revision that checks know."""
        newest, of_store = self.newest, self._models.known
        if newest is None or of_store is None or of_store.revision != newest.model_revision:
            return None
        return newest

    def is_current(self, compiled: CompiledDocument) -> bool:
        """Returns whether a model is the newest at the newest revision that checks and lists know."""
        current = self.current
        return current is not None and current.compiled.id == compiled.id

    def was_used_rightly(self, used: UsedModel, named: str | None) -> bool:
        """Returns whether a model of `find_used` is that of a request, now that something was read for it: the one that
        it names, or the newest."""
        return self.is_current(used.compiled) or (named is not None and not used.is_live)

    async def find_used(self, model_id: str | None, may_be_known: bool = False) -> UsedModel:
        """Returns the model with this id, or the newest. If it `may_be_known`, the newest is the one that is known,
        without a statement: before the caller refuses a request by it, it has to find the one that is, and after it has
        read, to see by `was_used_rightly` that there was no newer one. Raises OpenFgaRefusal."""
        newest = (self.current if may_be_known else None) or await self.find_newest()
        if not model_id or newest.compiled.id == model_id:
            return UsedModel(newest.compiled, newest.is_live)
        return UsedModel(await self.find(model_id), is_live=False)

    async def find_newest(self) -> NewestDocument:
        """Returns the newest model at the newest revision. Raises OpenFgaRefusal if the store has none."""
        read = await self._store.find_newest_openfga_model()
        model_id, model_revision = read.value
        if model_id is None:
            raise OpenFgaRefusal(NO_MODEL, "the store has no authorization model")
        newest = self.newest
        if newest is not None and newest.model_revision == model_revision:
            return newest
        compiled = await self.find(model_id)
        await self._models.at(read.revision, model_revision)
        definitions = self._models.definitions
        newest = NewestDocument(
            model_revision, compiled, is_live=definitions == (compiled.definitions, compiled.policies)
        )
        if self.newest is None or self.newest.model_revision < model_revision:
            self.newest = newest
        return newest


async def compile_document(stored: StoredOpenFgaModel) -> CompiledDocument:
    """Returns a stored model as it is used."""
    return await offload(partial(compile_text, stored.id, stored.document), COST_OF_A_BYTE * len(stored.document))


def compile_text(model_id: str, text: str) -> CompiledDocument:
    """Returns the model with this id and text as it is used."""
    document = load_document(text)
    definitions = {of_type.name: render_definition(of_type).decode() for of_type in document.object_types}
    policies = {policy.name: render_policy_definition(policy) for policy in document.policies}
    return CompiledDocument(model_id, document, dict(sorted(definitions.items())), policies)
