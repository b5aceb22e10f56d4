"""Finds what is probably a mistake in a model. Each finding has a code that does not change (docs/models.md#lint).

A new check is a function and a row in _CHECKS. Findings that a comment silences are left out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from magistrate.engine.model_text.document import (
    NEWEST_VERSION,
    ModelDocument,
    NameAt,
    RelationDeclaration,
    RuleClause,
    TypeDeclaration,
)
from magistrate.engine.model_text.faults import MAX_FAULTS, ModelFault
from magistrate.engine.model_text.ignores import IgnoredCode, IgnoredLines, read_ignores
from magistrate.engine.model_text.obtaining import Obtainable
from magistrate.engine.model_text.parser import ParsedModel
from magistrate.engine.model_text.repetition import find_repeated_rules
from magistrate.engine.suggestions import nearest_name

PERMISSION_PREFIXES = ("can-", "can_", "may-", "may_")
"""Lists what the names of relations begin with that are meant as computed. `canView` is one, too."""


class Finding(NamedTuple):
    """Holds a finding and where a suggestion may be found, which takes longer than the finding: the name that was
    written, and those that exist."""

    fault: ModelFault
    written: str = ""
    names: Iterable[str] = ()

    def complete(self) -> ModelFault:
        """Returns the finding with its suggestion."""
        suggestion = nearest_name(self.written[:64], self.names) if self.written else self.fault.suggestion
        return self.fault._replace(suggestion=suggestion)


def lint_text(parsed: ParsedModel) -> list[ModelFault]:
    """Returns the findings about a text that are not silenced, in written order: at most MAX_FAULTS."""
    ignored = [*read_ignores(parsed.text, parsed.lines)]
    last = parsed.lines[-1].last if parsed.lines else 0
    silenced = IgnoredLines(ignored, CODES, last)
    findings = [*find_all(parsed.document), *map(_unknown_code, ignored)]
    if parsed.document.version == NEWEST_VERSION:
        findings += map(_stray_description, parsed.strays)
    return _complete(one for one in findings if one and not silenced.covers(one.fault.code, one.fault.line))


def lint_document(document: ModelDocument) -> list[ModelFault]:
    """Returns the findings about a model, at most MAX_FAULTS."""
    return _complete(find_all(document))


def _complete(findings: Iterable[Finding]) -> list[ModelFault]:
    ordered = sorted(findings, key=lambda one: (one.fault.line, one.fault.column, one.fault.code))
    return [one.complete() for one in ordered[:MAX_FAULTS]]


def find_all(document: ModelDocument) -> Iterator[Finding]:
    """Yields the findings of all checks."""
    for check in _CHECKS:
        yield from check(document)


def _finding(code: str, at: NameAt, message: str, suggestion: str = "") -> Finding:
    return Finding(ModelFault(code, message, at.line, at.column, suggestion, is_error=False))


def _unknown(code: str, at: NameAt, message: str, names: Iterable[str]) -> Finding:
    return Finding(ModelFault(code, message, at.line, at.column), at.text, names)


def _stray_description(at: NameAt) -> Finding:
    return _finding("stray_description", at, "a description (///) must stand above a type, a relation or a policy")


def _unknown_code(ignored: IgnoredCode) -> Finding | None:
    at = ignored.code
    if at.text in CODES:
        return None
    fault = ModelFault("unknown_lint_code", f"lint has no code {at.text[:64]}", at.line, at.column, is_error=False)
    return Finding(fault, at.text, CODES)


def each_relation(document: ModelDocument) -> Iterator[tuple[TypeDeclaration, RelationDeclaration]]:
    """Yields every relation with its type, in written order."""
    for declared in document.types.values():
        for relation in declared.relations.values():
            yield declared, relation


def each_rule(relation: RelationDeclaration) -> Iterator[RuleClause]:
    """Yields the rule of a relation and all rules in it, in written order."""
    waiting = [relation.rule] if relation.rule is not None else []
    while waiting:
        rule = waiting.pop()
        yield rule
        waiting += reversed(rule.rules)


# Names that do not exist


def _find_unknown_names(document: ModelDocument) -> Iterator[Finding]:
    for declared, relation in each_relation(document):
        for clause in relation.allowed or ():
            yield from _unknown_type_or_relation(document, clause.type, clause.relation)
        for rule in each_rule(relation):
            yield from _unknown_in_rule(document, declared, rule)


def _unknown_in_rule(document: ModelDocument, declared: TypeDeclaration, rule: RuleClause) -> Iterator[Finding]:
    if rule.kind == "computed":
        yield from _unknown_relation(declared, rule.relation)
    elif rule.kind in ("arrow", "for_all"):
        yield from _unknown_relation(declared, rule.link)
        for of_type in rule.types:
            yield from _unknown_type_or_relation(document, of_type, rule.relation)
    elif rule.kind == "policy" and rule.names[0].text not in document.policies:
        name = rule.names[0]
        yield _unknown("unknown_policy", name, f"policy {name.text} is not defined", document.policies)


def _unknown_type_or_relation(document: ModelDocument, of_type: NameAt, relation: NameAt | None) -> Iterator[Finding]:
    declared = document.types.get(of_type.text)
    if declared is None:
        yield _unknown("unknown_type", of_type, f"type {of_type.text} is not defined", document.types)
    elif relation is not None:
        yield from _unknown_relation(declared, relation)


def _unknown_relation(declared: TypeDeclaration, relation: NameAt) -> Iterator[Finding]:
    if relation.text not in declared.relations:
        message = f"relation {relation.text} is not defined on {declared.name.text}"
        yield _unknown("unknown_relation", relation, message, declared.relations)


# Relations and rules without effect


def _find_unobtainable(document: ModelDocument) -> Iterator[Finding]:
    obtainable = Obtainable(document)
    for declared, relation in each_relation(document):
        if not obtainable.has(declared.name.text, relation.name.text):
            message = f"nobody can ever be {relation.name.text} of a {declared.name.text}: no warrant can give it"
            message += ", and its rule never holds" if relation.rule is not None else ", and it has no rule"
            yield _finding("unobtainable_relation", relation.name, message)
        else:
            yield from _rules_that_never_hold(obtainable, declared, relation)


def _rules_that_never_hold(
    obtainable: Obtainable, declared: TypeDeclaration, relation: RelationDeclaration
) -> Iterator[Finding]:
    """Yields the arrows that never hold although the names in them exist."""
    for rule in each_rule(relation):
        if rule.kind != "arrow" or rule.link.text not in declared.relations:
            continue
        for of_type in rule.types:
            is_known = of_type.text in obtainable.document.types
            if is_known and not obtainable.has_link(declared.name.text, rule.link.text, of_type.text):
                message = f"{rule.link.text} of a {declared.name.text} is never a {of_type.text}, so this never holds"
                yield _finding("impossible_rule", of_type, message)


def _find_unused(document: ModelDocument) -> Iterator[Finding]:
    used = _list_used(document)
    for declared in document.types.values():
        has_rules = any(relation.rule is not None for relation in declared.relations.values())
        for relation in declared.relations.values():
            is_used = (declared.name.text, relation.name.text) in used
            if has_rules and relation.rule is None and not is_used:
                message = f"nothing uses relation {relation.name.text}: no rule and no brackets name it"
                yield _finding("unused_relation", relation.name, message)
    policies = {rule.names[0].text for _, one in each_relation(document) for rule in each_rule(one) if _is_policy(rule)}
    for policy in document.policies.values():
        if policy.name.text not in policies:
            yield _finding("unused_policy", policy.name, f"no rule uses policy {policy.name.text}")


def _is_policy(rule: RuleClause) -> bool:
    return rule.kind == "policy"


def _list_used(document: ModelDocument) -> set[tuple[str, str]]:
    """Returns the relations that brackets or the rules of other relations name, by type."""
    used: set[tuple[str, str]] = set()
    for declared, relation in each_relation(document):
        of_type = declared.name.text
        for clause in relation.allowed or ():
            if clause.relation is not None:
                used.add((clause.type.text, clause.relation.text))
        for rule in each_rule(relation):
            if rule.kind == "computed" and rule.relation.text != relation.name.text:
                used.add((of_type, rule.relation.text))
            elif rule.kind in ("arrow", "for_all"):
                used.add((of_type, rule.link.text))
                used.update((one.text, rule.relation.text) for one in rule.types)
    return used


def _find_repeated(document: ModelDocument) -> Iterator[Finding]:
    for declared, relation in each_relation(document):
        if relation.rule is None:
            continue
        for rule, first in find_repeated_rules(relation.rule, relation.name.text):
            at = NameAt("", rule.line, rule.column)
            if first is None:
                message = f"{relation.name.text} of {declared.name.text} follows from itself, which adds nothing"
            else:
                message = "this rule is there already" + (f", in line {first.line}" if first.line else "")
            yield _finding("repeated_rule", at, message)


# Names and brackets


def _find_direct_permissions(document: ModelDocument) -> Iterator[Finding]:
    for declared, relation in each_relation(document):
        name = relation.name.text
        if relation.rule is None or relation.allowed == [] or not _is_permission(name):
            continue
        message = f"{name} of {declared.name.text} is computed by its rule, but warrants can give it, too"
        yield _finding("direct_permission", relation.name, message, f"relation {name} []")


def _is_permission(name: str) -> bool:
    return name.startswith(PERMISSION_PREFIXES) or (name.startswith(("can", "may")) and name[3:4].isupper())


def _find_similar_names(document: ModelDocument) -> Iterator[Finding]:
    spellings: dict[str, str] = {}
    for declared, relation in each_relation(document):
        name = relation.name.text
        first = spellings.setdefault(name.lower(), name)
        if first != name:
            message = f"relation {name} of {declared.name.text} differs from {first} by the case of letters only"
            yield _finding("similar_names", relation.name, message, first)
    policies: dict[str, str] = {}
    for policy in document.policies.values():
        name = policy.name.text
        first = policies.setdefault(name.lower(), name)
        if first != name:
            message = f"policy {name} differs from {first} by the case of letters only"
            yield _finding("similar_names", policy.name, message, first)


_CHECKS: Sequence[Callable[[ModelDocument], Iterator[Finding]]] = (
    _find_unknown_names,
    _find_unobtainable,
    _find_unused,
    _find_repeated,
    _find_direct_permissions,
    _find_similar_names,
)

CODES: Sequence[str] = (
    "direct_permission",
    "impossible_rule",
    "repeated_rule",
    "similar_names",
    "stray_description",
    "unknown_lint_code",
    "unknown_policy",
    "unknown_relation",
    "unknown_type",
    "unobtainable_relation",
    "unused_policy",
    "unused_relation",
)
"""Lists the codes of lint."""
