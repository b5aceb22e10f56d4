"""Finds what is probably a mistake in a model. Each finding has a code that does not change (docs/models.md#lint).

A new check is a function and a row in _CHECKS. Findings that a comment silences are left out."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from magistrate.engine.names import nearest_name
from magistrate.engine.nesting import fold, walk
from magistrate.engine.rules import find_operator
from magistrate.engine.text.document import (
    NEWEST_VERSION,
    ModelDocument,
    NameAt,
    RelationDeclaration,
    RuleClause,
    TypeDeclaration,
)
from magistrate.engine.text.faults import MAX_FAULTS, ModelFault
from magistrate.engine.text.parser import ParsedModel, TextLine
from magistrate.engine.text.statements import QUOTED

Key = tuple[str, str]
"""Holds a type and a relation."""


class Obtainable:
    """Finds which relations of a model somebody can get."""

    def __init__(self, document: ModelDocument) -> None:
        self.document = document
        self._obtained: set[Key] = set()
        self._needs: list[int] = []
        self._above: list[int] = []
        self._keys: dict[int, Key] = {}
        self._waiting: dict[Key, list[int]] = {}
        self._possible: list[int] = []
        for declared in document.types.values():
            for relation in declared.relations.values():
                self._add_relation(declared, relation)
        self._propagate()

    def has(self, of_type: str, relation: str) -> bool:
        """Returns whether somebody can get the relation on an object of this type."""
        return (of_type, relation) in self._obtained or self.document.relation(of_type, relation) is None

    def has_link(self, of_type: str, link: str, linked_type: str) -> bool:
        """Returns whether a warrant can give the relation `link` on an object of `of_type` to one of `linked_type`."""
        relation = self.document.relation(of_type, link)
        if relation is None or relation.allowed is None:
            return True
        return any(clause.type.text == linked_type for clause in relation.allowed)

    def _add_node(self, above: int, needs: int) -> int:
        self._above.append(above)
        self._needs.append(needs)
        node = len(self._needs) - 1
        if not needs:
            self._possible.append(node)
        return node

    def _add_leaf(self, above: int, of_type: str, relation: str) -> None:
        """Adds what is possible as soon as somebody can get a relation."""
        is_known = self.document.relation(of_type, relation) is not None
        node = self._add_node(above, 1 if is_known else 0)
        if is_known:
            self._waiting.setdefault((of_type, relation), []).append(node)

    def _add_relation(self, declared: TypeDeclaration, relation: RelationDeclaration) -> None:
        top = self._add_node(-1, 1)
        self._keys[top] = (declared.name.text, relation.name.text)
        if relation.allowed is None:
            self._add_node(top, 0)
        for clause in relation.allowed or ():
            if clause.relation is None:
                self._add_node(top, 0)
            else:
                self._add_leaf(top, clause.type.text, clause.relation.text)
        waiting = [(relation.rule, top)] if relation.rule is not None else []
        while waiting:
            rule, above = waiting.pop()
            operator = find_operator(rule.kind)
            if operator is None:
                self._add_leaf_rule(declared, rule, above)
                continue
            needs = min(requirement.holding for requirement in operator.require(True, len(rule.rules)))
            node = self._add_node(above, needs)
            waiting += [(inner, node) for inner in rule.rules] if needs else []

    def _add_leaf_rule(self, declared: TypeDeclaration, rule: RuleClause, above: int) -> None:
        if rule.kind == "computed":
            self._add_leaf(above, declared.name.text, rule.relation.text)
        elif rule.kind in ("arrow", "for_all"):
            link = self._add_node(above, 1)  # of several types one is enough, and all of them are one rule
            for of_type in rule.types:
                if self.has_link(declared.name.text, rule.link.text, of_type.text):
                    self._add_leaf(link, of_type.text, rule.relation.text)
        elif rule.kind != "nobody":
            self._add_node(above, 0)

    def _propagate(self) -> None:
        while self._possible:
            node = self._possible.pop()
            if node in self._keys and self._keys[node] not in self._obtained:
                self._obtained.add(self._keys[node])
                for leaf in self._waiting.get(self._keys[node], ()):
                    self._fulfil(leaf)
            above = self._above[node]
            if above >= 0:
                self._fulfil(above)

    def _fulfil(self, node: int) -> None:
        """Counts that one of those below a node has become possible."""
        self._needs[node] -= 1
        if self._needs[node] == 0:
            self._possible.append(node)


Content = tuple[object, ...]


def find_repeated_rules(rule: RuleClause, relation: str) -> Iterator[tuple[RuleClause, RuleClause | None]]:
    """Yields each rule that a group has already, with the first one; and each rule of the relation that is the relation
    itself, with None. Groups of one kind in each other count as one, and the order of rules as nothing."""
    numbers = _number_rules(rule)
    own = ("computed", (relation,))
    waiting: list[tuple[RuleClause, dict[int, RuleClause]]] = [(rule, {})]
    above_all = {id(rule)}
    while waiting:
        clause, seen = waiting.pop()
        operator = find_operator(clause.kind)
        is_union, is_associative = (operator.is_union(), operator.is_associative) if operator else (False, False)
        if id(clause) in above_all and (clause.kind, tuple(name.text for name in clause.names)) == own:
            yield clause, None
        for inner in reversed(clause.rules):
            if inner.kind == clause.kind and is_associative:
                waiting.append((inner, seen))
            else:
                waiting.append((inner, {}))
            if is_union and id(clause) in above_all:
                above_all.add(id(inner))
        for inner in clause.rules:
            if inner.kind == clause.kind and is_associative:
                continue
            first = seen.setdefault(numbers[id(inner)], inner)
            if first is not inner:
                yield inner, first


def _number_rules(rule: RuleClause) -> dict[int, int]:
    """Returns a number for each rule, by identity; rules of equal content have the same number."""
    by_content: dict[Content, int] = {}
    numbers: dict[int, int] = {}

    def number(clause: RuleClause, inner: list[int]) -> int:
        names = tuple(name.text for name in clause.names)
        content: Content = (clause.kind, names, tuple(sorted(inner)))
        numbers[id(clause)] = by_content.setdefault(content, len(by_content))
        return numbers[id(clause)]

    fold(rule, lambda clause: clause.rules, lambda clause, inner: number(clause, list(inner)))
    return numbers


_IGNORE = re.compile(r"//+[ \t]*lint:[ \t]*ignore[ \t]+([A-Za-z0-9_, \t-]+)")
_CODE = re.compile(r"[A-Za-z0-9_-]+")


class IgnoredCode(NamedTuple):
    """Represents a code that is silenced from the line `first` to the line `last`."""

    code: NameAt
    first: int
    last: int


def read_ignores(text: str, lines: Sequence[TextLine]) -> Iterator[IgnoredCode]:
    """Yields the codes that comments silence, in written order.

    A comment behind a statement is about that line. One on a line of its own is about the next statement and all that
    is nested below it; before the version, about the whole text."""
    last_lines = _find_last_lines(lines)
    waiting: list[NameAt] = []
    for line in lines:
        if line.kind in ("comment", "description"):
            waiting += _read_codes(text, line)
        elif line.kind in ("statement", "policy"):
            first, last = line.number, last_lines[line.number]
            if text.startswith("version", line.start):
                first, last = 0, lines[-1].last
            yield from (IgnoredCode(code, first, last) for code in waiting)
            waiting = []
            if line.kind == "statement":
                yield from (IgnoredCode(code, line.number, line.number) for code in _read_codes(text, line))


def _read_codes(text: str, line: TextLine) -> Iterator[NameAt]:
    name = QUOTED.search(text, line.start, line.end) if text.startswith("action", line.start) else None
    comment = text.find("//", line.start if name is None else name.end(), line.end)
    comment_match = _IGNORE.match(text, comment, line.end) if comment >= 0 else None
    if comment_match is not None:
        for code in _CODE.finditer(text, comment_match.start(1), comment_match.end(1)):
            yield NameAt(code[0], line.number, code.start() - line.offset + 1)


def _find_last_lines(lines: Sequence[TextLine]) -> Mapping[int, int]:
    """Returns the last line that is nested below each statement, by the number of its line."""
    last_lines: dict[int, int] = {}
    open_statements: list[TextLine] = []
    last = 0
    for line in lines:
        if line.kind in ("statement", "policy"):
            while open_statements and open_statements[-1].level >= line.level:
                last_lines[open_statements.pop().number] = last
            open_statements.append(line)
            last = line.last
    last_lines.update((line.number, last) for line in open_statements)
    return last_lines


class IgnoredLines:
    """Finds which codes are silenced on which lines, in constant time however many comments there are."""

    def __init__(self, ignored: Sequence[IgnoredCode], codes: Sequence[str], last: int) -> None:
        """`codes` are all that exist, `last` is the number of the last line."""
        changes = {code: [0] * (last + 2) for code in codes if any(code_at.code.text == code for code_at in ignored)}
        for code_at in ignored:
            if code_at.code.text in changes:
                changes[code_at.code.text][code_at.first] += 1
                changes[code_at.code.text][code_at.last + 1] -= 1
        self._counts = {code: [*accumulate(steps)] for code, steps in changes.items()}

    def covers(self, code: str, line: int) -> bool:
        """Returns whether a code is silenced on a line."""
        return code in self._counts and self._counts[code][line] > 0


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
    return _complete(
        finding for finding in findings if finding and not silenced.covers(finding.fault.code, finding.fault.line)
    )


def lint_document(document: ModelDocument) -> list[ModelFault]:
    """Returns the findings about a model, at most MAX_FAULTS."""
    return _complete(find_all(document))


def _complete(findings: Iterable[Finding]) -> list[ModelFault]:
    ordered = sorted(findings, key=lambda finding: (finding.fault.line, finding.fault.column, finding.fault.code))
    return [finding.complete() for finding in ordered[:MAX_FAULTS]]


def find_all(document: ModelDocument) -> Iterator[Finding]:
    """Yields the findings of all checks."""
    for check in _CHECKS:
        yield from check(document)


def _finding(code: str, at: NameAt, message: str, suggestion: str = "") -> Finding:
    return Finding(ModelFault(code, message, at.line, at.column, suggestion=suggestion, is_error=False))


def _unknown(code: str, at: NameAt, message: str, names: Iterable[str], *, is_error: bool = True) -> Finding:
    return Finding(ModelFault(code, message, at.line, at.column, is_error=is_error), at.text, names)


def _stray_description(at: NameAt) -> Finding:
    return _finding("stray_description", at, "a description (///) must stand above a type, a relation or a policy")


def _unknown_code(ignored: IgnoredCode) -> Finding | None:
    at = ignored.code
    if at.text in CODES:
        return None
    return _unknown("unknown_lint_code", at, f"lint has no code {at.text[:64]}", CODES, is_error=False)


def each_relation(document: ModelDocument) -> Iterator[tuple[TypeDeclaration, RelationDeclaration]]:
    """Yields every relation with its type, in written order."""
    for declared in document.types.values():
        for relation in declared.relations.values():
            yield declared, relation


def each_rule(relation: RelationDeclaration) -> Iterator[RuleClause]:
    """Returns the rule of a relation and all rules in it, in written order."""
    return walk(relation.rule, lambda rule: rule.rules) if relation.rule is not None else iter(())


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
    policies = {
        rule.names[0].text
        for _, relation in each_relation(document)
        for rule in each_rule(relation)
        if rule.kind == "policy"
    }
    for policy in document.policies.values():
        if policy.name.text not in policies:
            yield _finding("unused_policy", policy.name, f"no rule uses policy {policy.name.text}")


def _list_used(document: ModelDocument) -> set[tuple[str, str]]:
    """Returns the relations that actions, brackets or the rules of other relations name, by type."""
    used = {
        (declared.name.text, action.relation.text)
        for declared in document.types.values()
        for action in declared.actions.values()
    }
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
                used.update((of_type.text, rule.relation.text) for of_type in rule.types)
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
        yield from _differs_by_case(spellings, relation.name, f"relation {relation.name.text} of {declared.name.text}")
    policies: dict[str, str] = {}
    for policy in document.policies.values():
        yield from _differs_by_case(policies, policy.name, f"policy {policy.name.text}")


def _differs_by_case(spellings: dict[str, str], name: NameAt, described: str) -> Iterator[Finding]:
    first = spellings.setdefault(name.text.lower(), name.text)
    if first != name.text:
        yield _finding("similar_names", name, f"{described} differs from {first} by the case of letters only", first)


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
