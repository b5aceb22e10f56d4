"""Says what a text of an older version means in the newest one."""

from dataclasses import replace

from magistrate.engine.model_text.document import (
    NEWEST_VERSION,
    AllowedClause,
    ModelDocument,
    NameAt,
    RelationDeclaration,
    TypeDeclaration,
)
from magistrate.errors import InvalidParameter

MAX_ADDED_TYPES = 100_000
"""Limits the elements that are added to all brackets of a model."""


def exact_document(document: ModelDocument) -> ModelDocument:
    """Returns the document in the newest version.

    Up to version 0.3, `[group]` also allows all usersets of groups if the brackets have none of them; in version 1.0
    each is written down. Raises InvalidParameter if that makes the model much too large."""
    if document.version == NEWEST_VERSION:
        return document
    usersets = {name: [*map(NameAt, declared.relations)] for name, declared in document.types.items()}
    budget = MAX_ADDED_TYPES
    types: dict[str, TypeDeclaration] = {}
    for name, declared in document.types.items():
        relations: dict[str, RelationDeclaration] = {}
        for relation, declaration in declared.relations.items():
            allowed = declaration.allowed
            if allowed:
                allowed = _add_usersets(allowed, usersets, budget)
                budget -= len(allowed)
            relations[relation] = replace(declaration, allowed=allowed)
        types[name] = replace(declared, relations=relations)
    return ModelDocument(NEWEST_VERSION, types, document.policies)


def _add_usersets(allowed: list[AllowedClause], usersets: dict[str, list[NameAt]], budget: int) -> list[AllowedClause]:
    restricted = {clause.type.text for clause in allowed if clause.relation is not None}
    exact: list[AllowedClause] = []
    for clause in allowed:
        exact.append(clause)
        if clause.relation is None and clause.type.text not in restricted:
            relations = usersets.get(clause.type.text, [])
            if len(exact) + len(relations) > budget:
                raise InvalidParameter("model", "has too many relations to write down all usersets; use version 1.0")
            exact += [AllowedClause(clause.type, relation=relation) for relation in relations]
    return exact
