"""Compiles models, and shares what equal models have: tenants of one template have one set of plans in a process.

Object types and policies are shared by a digest of their definitions, and compiled models, with their plans, if the
patterns of warrants are equal as well. A store has only its own revision then."""

from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from weakref import WeakValueDictionary

import msgspec

from magistrate.engine.model.model import Model
from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.names import PolicyName, TypeName
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.operations.models.definitions import parse_definition, parse_policies
from magistrate.operations.scheduling import offload
from magistrate.store.contract.stored_rows import StoredModel

BYTES_FOR_A_PATTERN = 40
"""Counts the bytes of definitions that are read in the time in which a pattern is sorted into a model."""
MAX_SHARED_PATTERNS = 1_000
"""Limits the patterns of a model that is shared: comparing them takes time."""


class ParsedDefinitions:
    """Holds definitions and policies as texts, and what was parsed of them."""

    __slots__ = ("__weakref__", "definitions", "digest", "named_policies", "policies", "types")

    def __init__(
        self,
        digest: bytes,
        read: StoredModel,
        types: Mapping[TypeName, ObjectType],
        named_policies: Mapping[PolicyName, NamedPolicy],
    ) -> None:
        self.digest = digest
        self.definitions = read.definitions
        self.policies = read.policies
        self.types = types
        self.named_policies = named_policies


class CompiledModels:
    """Compiles models for all stores of a process. It holds what is in use anywhere, and nothing else."""

    def __init__(self) -> None:
        self._parsed: WeakValueDictionary[bytes, ParsedDefinitions] = WeakValueDictionary()
        self._models: WeakValueDictionary[tuple[object, ...], Model] = WeakValueDictionary()

    async def compile(self, read: StoredModel, former: ParsedDefinitions | None) -> tuple[Model, ParsedDefinitions]:
        """Returns the model of what was read, and what was parsed for it. Of the definitions, only those are parsed
        that differ from those of `former`."""
        size = sum(map(len, (*read.definitions.values(), *read.policies.values())))
        digest = await offload(partial(_digest, read), size)
        parsed = self._parsed.get(digest)
        if parsed is None:
            parsed = self._parsed.setdefault(digest, await _parse(digest, read, former))
        return await self._build(read, parsed), parsed

    async def _build(self, read: StoredModel, parsed: ParsedDefinitions) -> Model:
        patterns, policies = read.patterns, parsed.named_policies
        building = partial(Model, parsed.types, read.written_at, patterns, policies=policies)
        if len(patterns) > MAX_SHARED_PATTERNS:
            return await offload(building, BYTES_FOR_A_PATTERN * len(patterns))
        key = (parsed.digest, frozenset(patterns))
        model = self._models.get(key)
        if model is None:
            model = self._models.setdefault(key, await offload(building, BYTES_FOR_A_PATTERN * len(patterns)))
        return model.at_revision(read.written_at)


def _digest(read: StoredModel) -> bytes:
    encoded = msgspec.json.encode([[*read.definitions.items()], [*read.policies.items()]])
    return sha256(encoded).digest()


async def _parse(digest: bytes, read: StoredModel, former: ParsedDefinitions | None) -> ParsedDefinitions:
    types = {} if former is None else dict(former.types)
    before = {} if former is None else former.definitions
    changed = {name: definition for name, definition in read.definitions.items() if before.get(name) != definition}

    def read_changed() -> Mapping[TypeName, ObjectType]:
        return {name: parse_definition(name, definition) for name, definition in changed.items()}

    types |= await offload(read_changed, sum(map(len, changed.values())))
    policies = await offload(partial(parse_policies, read.policies), sum(map(len, read.policies.values())))
    return ParsedDefinitions(digest, read, {name: types[name] for name in read.definitions}, policies)
