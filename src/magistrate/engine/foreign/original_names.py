"""Restores the names of a file of another product in messages about the model that was made of it."""

import re
from collections.abc import Callable

from magistrate.engine.foreign.converting import ConvertedModel

RestoreNames = Callable[[str], str]


def restore_names_of(converted: ConvertedModel) -> RestoreNames:
    """Returns a function that puts the original names into a text: of types in front of an id or a relation, and of
    relations and parameters that have another name here. Ids stay as they are."""
    types = {here: name for name, here in converted.type_names.items() if here != name}
    relations = {here: name for name, here in converted.relation_names.items() if here != name}
    relations |= {here: relation for (_, relation), here in converted.direct.items() if here != relation}
    relations |= {here: name for name, here in converted.parameters.items() if here != name}
    if not types and not relations:
        return str
    pattern = re.compile(
        rf"(?<![\w:-])(?P<type>{_any_of(types)})(?=[:#])|(?<=\btype )(?P<named>{_any_of(types)})(?![\w-])"
        rf"|(?<![\w:@-])(?P<relation>{_any_of(relations)})(?![\w:-])"
    )

    def restore(found: re.Match[str]) -> str:
        name = found[0]
        return relations[name] if found["relation"] is not None else types[name]

    return lambda text: pattern.sub(restore, text)


def _any_of(names: dict[str, str]) -> str:
    """Returns an expression that matches one of the names, and nothing if there are none."""
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)) or r"(?!)"
