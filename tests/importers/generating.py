"""Random models of OpenFGA, as text and as JSON, and relationships for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Expression = tuple[Any, ...]
"""`("this",)`, `("rel", name)`, `("from", name, link)`, `("or", …)`, `("and", …)` or `("but not", base, subtract)`."""

SUBJECTS = ("user", "user:*", "team#member")
LINKED = {"folder": "folder", "doc": "folder"}
"""What `parent` leads to, by type."""


@dataclass
class DrawnModel:
    """Relations by type: restrictions and expression of each. A relation uses only those before it."""

    types: dict[str, dict[str, tuple[Sequence[str], Expression]]]

    def text(self) -> str:
        lines = ["model", "  schema 1.1", "type user"]
        for name, relations in self.types.items():
            lines += [f"type {name}", "  relations"]
            lines += [
                f"    define {relation}: {_write(expression, allowed, True)}"
                for relation, (allowed, expression) in relations.items()
            ]
        return "\n".join(lines) + "\n"

    def json(self) -> Any:
        definitions: list[Any] = [{"type": "user"}]
        for name, relations in self.types.items():
            metadata = {
                relation: {"directly_related_user_types": [*map(_restriction, allowed)]}
                for relation, (allowed, _) in relations.items()
            }
            rewrites = {relation: _rewrite(expression) for relation, (_, expression) in relations.items()}
            definitions.append({"type": name, "relations": rewrites, "metadata": {"relations": metadata}})
        return {"schema_version": "1.1", "type_definitions": definitions}


def _write(expression: Expression, allowed: Sequence[str], is_outer: bool) -> str:
    kind, *operands = expression
    if kind == "this":
        return f"[{', '.join(allowed)}]"
    if kind == "rel":
        return str(operands[0])
    if kind == "from":
        return f"{operands[0]} from {operands[1]}"
    joined = f" {kind} ".join(_write(one, allowed, False) for one in operands)
    return joined if is_outer else f"({joined})"


def _restriction(text: str) -> dict[str, Any]:
    of_type, _, relation = text.partition("#")
    if of_type.endswith(":*"):
        return {"type": of_type.removesuffix(":*"), "wildcard": {}}
    return {"type": of_type, "relation": relation} if relation else {"type": of_type}


def _rewrite(expression: Expression) -> dict[str, Any]:
    kind, *operands = expression
    match kind:
        case "this":
            return {"this": {}}
        case "rel":
            return {"computedUserset": {"relation": operands[0]}}
        case "from":
            return {
                "tupleToUserset": {
                    "tupleset": {"relation": operands[1]},
                    "computedUserset": {"relation": operands[0]},
                }
            }
        case "but not":
            base, subtract = map(_rewrite, operands)
            return {"difference": {"base": base, "subtract": subtract}}
        case _:
            return {"union" if kind == "or" else "intersection": {"child": [*map(_rewrite, operands)]}}


@st.composite
def expressions(draw: st.DrawFn, leaves: Sequence[Expression], is_first: bool, depth: int) -> Expression:
    """An expression over leaves; direct subjects stand at its beginning only."""
    kind = draw(st.sampled_from(("leaf", "or", "and", "but not"))) if depth else "leaf"
    if kind == "leaf":
        return draw(st.sampled_from([("this",), ("this",), *leaves] if is_first else leaves))
    count = 2 if kind == "but not" else draw(st.integers(2, 3))
    return (kind, *(draw(expressions(leaves, is_first and not place, depth - 1)) for place in range(count)))


@st.composite
def models(draw: st.DrawFn) -> DrawnModel:
    types: dict[str, dict[str, tuple[Sequence[str], Expression]]] = {
        "team": {"member": (("user", "team#member"), ("this",))}
    }
    for name in ("folder", "doc"):
        relations: dict[str, tuple[Sequence[str], Expression]] = {"parent": ((LINKED[name],), ("this",))}
        relations["r0"] = (SUBJECTS, ("this",))
        for number in range(1, 4):
            leaves: list[Expression] = [("rel", f"r{known}") for known in range(number)]
            further = range(number) if name == "folder" else range(4)
            leaves += [("from", f"r{known}", "parent") for known in further]
            expression = draw(expressions(leaves, True, 2))
            is_direct = "this" in _kinds(expression)
            restrictions = draw(st.lists(st.sampled_from(SUBJECTS), min_size=1, unique=True)) if is_direct else ()
            relations[f"r{number}"] = (restrictions, expression)
        types[name] = relations
    return DrawnModel(types)


def _kinds(expression: Expression) -> set[str]:
    return {expression[0]}.union(*(_kinds(one) for one in expression[1:] if isinstance(one, tuple)))


@st.composite
def relationships(draw: st.DrawFn, model: DrawnModel) -> list[Mapping[str, str]]:
    """Relationships without loops, as tuples of OpenFGA, each once."""
    subjects = {"user": ["user:a", "user:b"], "user:*": ["user:*"], "team#member": ["team:1#member", "team:2#member"]}
    possible = [("team:1", "member", "user:a"), ("team:2", "member", "team:1#member"), ("team:2", "member", "user:b")]
    possible += [("folder:2", "parent", "folder:1"), ("doc:1", "parent", "folder:1"), ("doc:1", "parent", "folder:2")]
    for name, objects in {"folder": ("folder:1", "folder:2"), "doc": ("doc:1",)}.items():
        for relation, (allowed, expression) in model.types[name].items():
            if relation != "parent" and "this" in _kinds(expression):
                possible += [(one, relation, user) for one in objects for kind in allowed for user in subjects[kind]]
    chosen = draw(st.lists(st.sampled_from(possible), unique=True, max_size=14))
    return [{"object": object_name, "relation": relation, "user": user} for object_name, relation, user in chosen]
