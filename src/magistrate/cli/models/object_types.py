"""Implements `magistrate types`, which defines, shows and deletes object types."""

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import click

from magistrate.cli.completion import complete_types
from magistrate.cli.input import as_of_option, find_operator, read_as_of, read_json, read_type
from magistrate.cli.models.whole_models import Definition, DefinitionKind, apply_definitions
from magistrate.cli.output import Columns, echo, print_deleted, print_json, print_list, print_outcomes, print_table
from magistrate.cli.service import calls_service, limit_option, page_size
from magistrate.engine.nesting import fold
from magistrate.errors import InvalidRequest

if TYPE_CHECKING:
    from magistrate.client import Client


RULE_MEMBERS = {"inheritIf", "ofType", "withRelation", "rules", "forAll", "policy"}

ADDITIONS = ("allowedTypes", "actions", "description", "descriptions")
"""Names the members that clients of the Warrant API do not know."""

HOW = 'write {"type": "document", "relations": {"viewer": {}}}, an array of such, or {"document": {"viewer": {}}}'


def read_definitions(text: str) -> list[Definition]:
    """Returns the object types in a JSON object, an array of them, a page of the list of the API, or a map of relations
    by type.

    Raises InvalidRequest for any other form, for a type that is named twice, and for a rule with an unknown member: a
    typing error there would silently make a different rule."""
    value = read_json(text, "the file")
    if isinstance(value, dict) and isinstance(value.get("results"), list):
        value = value["results"]
    if isinstance(value, dict) and not isinstance(value.get("type"), str):
        value = [{"type": name, "relations": relations} for name, relations in value.items()]
    definitions = [value] if isinstance(value, dict) else value
    if not isinstance(definitions, list):
        raise InvalidRequest(f"the file contains no object types; {HOW}")
    names: set[str] = set()
    for definition in definitions:
        _check(definition)
        if definition["type"] in names:
            raise InvalidRequest(f"the file names the type {definition['type']} twice")
        names.add(definition["type"])
    return definitions


def _check(definition: Any) -> None:
    if not (
        isinstance(definition, dict)
        and isinstance(definition.get("type"), str)
        and isinstance(definition.get("relations"), dict)
    ):
        raise InvalidRequest(f"the file does not contain object types; {HOW}")
    for relation, rule in definition["relations"].items():
        _check_rule(rule, f"{definition['type']}#{relation}")


def _check_rule(rule: Any, place: str) -> None:
    """Checks a whole rule. Raises InvalidRequest."""
    waiting = [rule]
    while waiting:
        rule = waiting.pop()
        if rule is not None:
            waiting += reversed(_check_parts(rule, place))


def _check_parts(rule: Any, place: str) -> Sequence[Any]:
    """Returns the rules within a rule, after checking the rule itself. Raises InvalidRequest."""
    if not isinstance(rule, dict):
        raise InvalidRequest(f"{place}: a rule is a JSON object")
    if unknown := rule.keys() - RULE_MEMBERS:
        members = ", ".join(sorted(RULE_MEMBERS))
        raise InvalidRequest(f"{place}: {min(unknown)!r} is not a member of rules; the members are {members}")
    parts = rule.get("rules")
    if parts is not None and not isinstance(parts, list):
        raise InvalidRequest(f"{place}: the rules in a rule are a JSON array")
    if rule and (missing := _missing_member(rule)):
        raise InvalidRequest(f"{place}: the rule has no {missing}")
    return parts or ()


def _missing_member(rule: Definition) -> str | None:
    """Returns the member that the other members of a rule require, or None."""
    if "policy" in rule:
        return None if rule["policy"] else "policy"
    if "forAll" in rule:
        return next((member for member in ("forAll", "ofType", "withRelation") if not rule.get(member)), None)
    if find_operator(rule.get("inheritIf", "")) is not None:
        return None if rule.get("rules") else "rules"
    for member, other in (("inheritIf", "rules"), ("ofType", "withRelation"), ("withRelation", "ofType")):
        if not rule.get(member) and rule.get(other):
            return member
    return None if rule.get("inheritIf") else "inheritIf"


def is_same(written: Definition, stored: Definition) -> bool:
    """Returns whether writing the definition would visibly change nothing: the service may omit more than is known
    here."""
    relations = {name: rule or {} for name, rule in written["relations"].items()}
    is_same_source = bool(relations == stored["relations"] and written.get("source") == stored.get("source"))
    return is_same_source and all((written.get(member) or None) == stored.get(member) for member in ADDITIONS)


def describe_relations(
    relations: dict[str, Definition], allowed: dict[str, list[str]] | None = None
) -> Iterator[list[str]]:
    """Yields the rows of a table: the relation, the subjects that warrants may name if any relation limits them, and a
    line for each rule that it can be inherited by."""
    for name, rule in relations.items():
        operator = find_operator(rule.get("inheritIf", ""))
        branches = rule["rules"] if operator is not None and operator.is_union() else [rule]
        for number, branch in enumerate(branches):
            subjects = [] if not allowed else [", ".join(allowed[name]) or "none" if name in allowed else "all"]
            names = [name, *subjects]
            yield [*(names if number == 0 else [""] * len(names)), describe_rule(branch or {})]


def describe_rule(rule: Definition | None) -> str:
    """Describes a rule in words, as in `editor and (viewer of any folder that is its parent) and not blocked`."""
    text: str = fold(rule, _parts, _describe_rule)
    return text


def _parts(rule: Definition | None) -> Sequence[Definition | None]:
    return rule.get("rules") or () if rule is not None else ()


def _describe_rule(rule: Definition | None, described_rules: Sequence[str]) -> str:
    match rule:
        case {"inheritIf": keyword, "rules": _}:
            return _describe_operator(keyword, described_rules)
        case {"policy": name}:
            return f"policy {name}"
        case {"forAll": relation, "ofType": of_type, "withRelation": link}:
            return f"{relation} of every {of_type} that is its {link}"
        case {"inheritIf": relation, "ofType": of_type, "withRelation": link}:
            return f"{relation} of any {of_type} that is its {link}"
        case {"inheritIf": relation}:
            return str(relation)
    return ""


def _describe_operator(keyword: str, described_rules: Sequence[str]) -> str:
    """Describes a rule over rules, also with an operator that only the service may know."""
    operator = find_operator(keyword)
    if operator is None or operator.words.between is None:
        return f"{keyword}({', '.join(description or 'nobody' for description in described_rules)})"
    before = operator.words.before
    return operator.words.between.join(before + _describe_branch(description) for description in described_rules)


def _describe_branch(description: str) -> str:
    description = description or "nobody"
    is_one_word = " " not in description or (description.startswith("not ") and description.count(" ") == 1)
    return description if is_one_word else f"({description})"


def describe_texts(definition: Definition) -> Iterator[str]:
    """Yields the lines of the descriptions of an object type and its relations, and an empty one behind them."""
    own, of_relations = definition.get("description"), definition.get("descriptions", {})
    yield from own.splitlines() if own else ()
    for relation, text in of_relations.items():
        first, *others = text.splitlines() or [""]
        yield f"{relation}: {first}"
        yield from (f"{' ' * len(relation)}  {line}" for line in others)
    if own or of_relations:
        yield ""


KIND = DefinitionKind(
    member="objectTypes",
    name="type",
    is_same=is_same,
    list_stored=lambda client: client.object_types(),
    write=lambda client, changes, keep_existing: client.apply_object_types(changes, keep_existing),
)
COLUMNS: Columns = {
    "TYPE": lambda definition: definition["type"],
    "RELATIONS": lambda definition: ", ".join(definition["relations"]),
    "CREATED": lambda definition: definition["createdAt"],
}


@click.group(short_help="Manage object types.")
def types() -> None:
    """Manage object types: the relations of their objects, and the rules by which they are inherited."""


@types.command(short_help="Create or change object types from a file.")
@click.argument("file", type=click.File(encoding="utf-8-sig"))
@click.option("--keep-existing", is_flag=True, help="keep warrants that are not allowed any more, without effect")
@calls_service
def apply(client: "Client", as_json: bool, file: IO[str], keep_existing: bool) -> None:
    """Create or change object types from FILE (- for standard input): one object type in JSON, an array of them, or
    relations by type. Types that the file does not name stay as they are.

    Types that are new or differ are written in one request, all or none."""
    definitions = read_definitions(file.read())
    print_outcomes(apply_definitions(client, KIND, definitions, keep_existing), "type", as_json)


@types.command("list", short_help="List object types by name.")
@as_of_option
@limit_option
@calls_service
def list_types(client: "Client", as_json: bool, limit: int, as_of: str | None) -> None:
    """List object types by name."""
    print_list(client.object_types(page_size(limit), read_as_of(as_of)), limit, as_json, COLUMNS)


@types.command(short_help="Show the relations and rules of an object type.")
@click.argument("name", shell_complete=complete_types)
@as_of_option
@calls_service
def show(client: "Client", as_json: bool, name: str, as_of: str | None) -> None:
    """Show the relations and rules of an object type."""
    definition = client.get_object_type(read_type(name), read_as_of(as_of))
    if as_json:
        print_json(definition)
    else:
        for line in describe_texts(definition):
            echo(line)
        allowed = definition.get("allowedTypes")
        limits = ["ALLOWED TYPES"] if allowed else []
        rows = describe_relations(definition["relations"], allowed)
        print_table([["RELATION", *limits, "GRANTED BY WARRANT, OR TO"], *rows])


@types.command(short_help="Delete an object type.")
@click.argument("name", shell_complete=complete_types)
@calls_service
def delete(client: "Client", as_json: bool, name: str) -> None:
    """Delete an object type. Its objects and warrants stay."""
    client.delete_object_type(read_type(name))
    print_deleted([name], as_json)
