"""Random models in JSON, and random texts that say what a document says in one of many layouts."""

from collections.abc import Iterator
from random import Random

from hypothesis import strategies as st

from magistrate.engine.rules import RULE_OPERATORS
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.text.document import PARAMETER_TYPES, ModelDocument, RelationDeclaration, RuleClause
from magistrate.engine.text.json_documents import ModelBody, PolicyBody, TypeBody
from magistrate.engine.text.rendering import render_clause

# Words of the language are names, too.
TYPE_NAMES = ["user", "group", "folder", "type", "relation", "on", "self", "-", "0-3", "policy", "version", "if"]
RELATION_NAMES = [
    "viewer",
    "editor",
    "member",
    "canView",
    "can-edit",
    "on",
    "if",
    "for",
    "all",
    "self",
    "nobody",
    "any_of",
    "relation",
    "inherit",
    "policy",
    "source",
    "action",
    "is",
    "__",
    "7",
]
type_names = st.sampled_from(TYPE_NAMES)
relation_names = st.sampled_from(RELATION_NAMES)
action_names = st.sampled_from(["tools/call", "GET", "https://a.example/b?c=1&d", "is", "action", "//", "x|y", "日本"])
policy_names = st.sampled_from([*RELATION_NAMES, "anyOf", "noneOf"])
descriptions = st.text(
    st.characters(codec="utf-8", exclude_characters="\0") | st.sampled_from("\n \t/\r"), min_size=1, max_size=30
)

_pieces = [
    "a",
    " ",
    "\n",
    "  ",
    "\t",
    "&&",
    '"}"',
    "'{'",
    '{"k": 1}',
    "// } c\n",
    "/* } {\n */",
    "\r\n",
    "\n    b",
    '"\\"}"',
    "/",
    ">",
]
expressions = st.tuples(
    st.lists(st.sampled_from(_pieces), max_size=8), st.sampled_from(["x", "x ", "x\n", "x // }"])
).map(lambda drawn: " ".join(drawn[0]) + drawn[1])


def rules() -> st.SearchStrategy[RuleDefinition]:
    arrow = st.builds(RuleDefinition, inherit_if=relation_names, of_type=type_names, with_relation=relation_names)
    for_all = st.builds(RuleDefinition, for_all=relation_names, of_type=type_names, with_relation=relation_names)
    leaves = st.one_of(
        st.builds(RuleDefinition, inherit_if=relation_names),
        arrow,
        for_all,
        st.builds(RuleDefinition, policy=policy_names),
        st.just(RuleDefinition(inherit_if="self")),
        st.just(RuleDefinition()),
    )
    keywords = st.sampled_from([*RULE_OPERATORS])
    return st.recursive(
        leaves,
        lambda inner: st.builds(RuleDefinition, inherit_if=keywords, rules=st.lists(inner, min_size=1, max_size=4)),
        max_leaves=8,
    )


allowed_types = st.lists(
    st.builds(
        lambda of_type, wildcard, relation: of_type + wildcard + relation,
        type_names,
        st.sampled_from(["", ":*"]),
        st.just("") | relation_names.map(lambda name: f"#{name}"),
    ),
    max_size=4,
    unique=True,
)
sources = st.none() | st.fixed_dictionaries(
    {"dbType": st.sampled_from(["pg // no comment", "{x}"]), "primaryKey": st.lists(st.text(max_size=5), max_size=2)}
)


@st.composite
def types(draw: st.DrawFn, name: str) -> TypeBody:
    relations: dict[str, RuleDefinition | None] = {**draw(st.dictionaries(relation_names, rules(), max_size=4))}
    of_relations = st.sampled_from([*relations] or [""])
    order = [*relations]
    allowed = draw(st.dictionaries(of_relations, allowed_types)) if relations else {}
    described = draw(st.dictionaries(of_relations, descriptions)) if relations else {}
    actions = draw(st.dictionaries(action_names, of_relations, max_size=3)) if relations else {}
    return TypeBody(
        type=name,
        source=draw(sources),
        relations={**relations},
        allowed_types={key: allowed[key] for key in order if key in allowed} or None,
        actions={name: actions[name] for name in actions if name not in relations} or None,
        description=draw(st.none() | descriptions),
        descriptions={key: described[key] for key in order if key in described} or None,
    )


@st.composite
def policies(draw: st.DrawFn, name: str) -> PolicyBody:
    parameters = draw(
        st.dictionaries(st.sampled_from(["hour", "days", "_x", "policy"]), st.sampled_from(PARAMETER_TYPES))
    )
    described = draw(st.none() | descriptions)
    return PolicyBody(name=name, parameters=parameters, expression=draw(expressions), description=described)


@st.composite
def models(draw: st.DrawFn) -> ModelBody:
    """Models as the service writes them: members that say nothing are left out."""
    names = draw(st.lists(type_names, max_size=4, unique=True))
    of_policies = draw(st.lists(policy_names, max_size=3, unique=True))
    return ModelBody([draw(types(name)) for name in names], [draw(policies(name)) for name in of_policies])


@st.composite
def layouts(draw: st.DrawFn, document: ModelDocument) -> str:
    """Texts of a document without sources and policies, with comments and blanks wherever they can be."""
    chance = Random(draw(st.integers(0, 2**32)))
    width = chance.choice([" ", "  ", "    ", "\t"])
    lines: list[str] = []
    for indent, statement in _statements(document):
        for _ in range(chance.choice([0, 0, 0, 1, 2])):
            blanks = chance.choice(["", " ", "  ", width * indent, width * 4])
            lines.append(blanks + chance.choice(["", comment(chance)]))
        if not statement.startswith("///") and chance.random() < 0.25:
            statement = statement.replace(" ", chance.choice(["  ", "\t", " "]))
            statement += " " + comment(chance)
        lines.append(width * indent + statement)
    lines += [comment(chance)] * chance.randrange(2)
    return "\n".join(lines) + chance.choice(["", "\n", "\n\n"])


def comment(chance: Random) -> str:
    return f"//.{''.join(chance.choices(COMMENTED, k=chance.randrange(8)))}".rstrip()


COMMENTED = ["type ", "[", "]", "{", "}", "relation", '"', "'", "/", " ", "lint: ignore ", "x"]


def _statements(document: ModelDocument) -> Iterator[tuple[int, str]]:
    """The statements of a document without sources and policies, with their levels."""
    yield 0, f"version {document.version}"
    for declared in document.types.values():
        yield from _description(0, declared.description)
        yield 0, f"type {declared.name.text}"
        for relation in declared.relations.values():
            yield from _description(1, relation.description)
            yield 1, f"relation {relation.name.text}{_brackets(relation)}"
        for relation in declared.relations.values():
            if relation.rule is not None:
                yield 1, f"inherit {relation.name.text} if"
                yield from _rules(relation.rule)
        for action in declared.actions.values():
            yield 1, f'action "{action.name.text}" is {action.relation.text}'


def _description(level: int, description: str) -> Iterator[tuple[int, str]]:
    for line in description.split("\n") if description else ():
        yield level, f"/// {line}"


def _brackets(relation: RelationDeclaration) -> str:
    return f" [ {' , '.join(one.text for one in relation.allowed)} ]" if relation.allowed is not None else ""


def _rules(rule: RuleClause) -> Iterator[tuple[int, str]]:
    waiting = [(rule, 2)]
    while waiting:
        one, level = waiting.pop()
        yield level, render_clause(one)
        waiting += [(inner, level + 1) for inner in reversed(one.rules)]
