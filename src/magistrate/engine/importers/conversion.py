"""Converts a model of another product to a document of ours (docs/coming-from.md).

Here, a relation holds if a warrant gives it *or* its rule holds. Where another product combines the direct subjects of
a relation otherwise, as in `[user] but not blocked`, they get a relation of their own, `direct_viewer`, and the
relation becomes a rule over it. Relations without direct subjects get empty brackets, so that no warrant can give
them.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from magistrate.engine.importers.conditions import ConditionConverter, convert_condition
from magistrate.engine.importers.names import (
    DIRECT,
    NOT_EXPRESSIBLE,
    READABLE,
    Faults,
    Naming,
    convert_name,
    convert_parameter,
    show_name,
)
from magistrate.engine.importers.schema import (
    ForeignModel,
    ForeignRelation,
    ForeignType,
    RelationKey,
    Restriction,
    Rewrite,
)
from magistrate.engine.nesting import fold, walk
from magistrate.engine.policy.named_policies import can_be_parameter
from magistrate.engine.terms import MAX_DESCRIPTION_LENGTH
from magistrate.engine.text.document import (
    AllowedClause,
    ModelDocument,
    NameAt,
    RelationDeclaration,
    RuleClause,
    RuleKind,
    TypeDeclaration,
)


def find_dependents(model: ForeignModel, left_out: Iterable[RelationKey]) -> Iterator[tuple[RelationKey, RelationKey]]:
    """Yields each relation whose rule depends on one of these, directly or by another, and the one it depends on."""
    dependents: dict[RelationKey, list[RelationKey]] = {}
    for declared in model.types.values():
        for relation in declared.relations.values():
            for used in _list_used(model, declared, relation):
                dependents.setdefault(used, []).append((declared.name.text, relation.name.text))
    waiting = deque(left_out)
    seen = set(waiting)
    while waiting:
        cause = waiting.popleft()
        for dependent in dependents.get(cause, ()):
            if dependent not in seen:
                seen.add(dependent)
                waiting.append(dependent)
                yield dependent, cause


def _list_used(model: ForeignModel, declared: ForeignType, relation: ForeignRelation) -> Iterator[RelationKey]:
    for rewrite in relation.rewrite.walk():
        if rewrite.kind == "computed":
            yield declared.name.text, rewrite.names[0].text
        elif rewrite.kind in ("arrow", "for_all"):
            linked_relation, link = rewrite.names
            yield declared.name.text, link.text
            linked = declared.relations.get(link.text)
            for restriction in linked.allowed if linked is not None else ():
                yield restriction.type.text, linked_relation.text


MAX_LINKED_TYPES = 100_000
"""Limits the types to which all arrows of a model lead: each is written down here."""

_GROUPS: Mapping[str, RuleKind] = {"union": "any_of", "intersection": "all_of"}


class RuleBuilder:
    """Builds the rules of one model; `type_names` are the names of its types here."""

    def __init__(
        self, model: ForeignModel, type_names: Mapping[str, str], faults: Faults, naming: Naming = READABLE
    ) -> None:
        self._model = model
        self._type_names = type_names
        self._faults = faults
        self._naming = naming
        self._linked_types = 0

    def check(self, declared: ForeignType, relation: ForeignRelation) -> bool:
        """Returns whether a relation can be expressed, and reports what cannot, and what is wrong with its names."""
        faults_before = self._faults.not_expressible
        for rewrite in relation.rewrite.walk():
            if rewrite.kind == "computed" and rewrite.names[0].text not in declared.relations:
                self._faults.report_unknown("relation", rewrite.names[0], declared.relations)
            elif rewrite.kind in ("arrow", "for_all"):
                self._check_link(declared, rewrite)
        return self._faults.not_expressible == faults_before

    def _check_link(self, declared: ForeignType, rewrite: Rewrite) -> None:
        linked, link = rewrite.names
        relation = declared.relations.get(link.text)
        if relation is None:
            self._faults.report_unknown("relation", link, declared.relations)
            return
        if relation.rewrite.kind != "direct":
            message = f"{show_name(link.text)} is computed; only a relation that relationships give can be followed"
            self._faults.report(link, "invalid_link", message)
            return
        self._linked_types += len(relation.allowed)
        if self._linked_types > MAX_LINKED_TYPES:
            message = f"the arrows of the model reach more than {MAX_LINKED_TYPES} types"
            self._faults.report(link, "model_too_large", message)
            return
        if any(restriction.is_wildcard for restriction in relation.allowed):
            message = f"{show_name(link.text)} may be every object of a type, which cannot be followed"
            self._faults.report(link, NOT_EXPRESSIBLE, message)
        types = self._list_linked_types(relation)
        if not self._find_types(relation, linked.text):
            names = [
                name
                for of_type in types
                if of_type in self._model.types
                for name in self._model.types[of_type].relations
            ]
            self._faults.report_unknown("relation", linked, names)
        elif rewrite.kind == "for_all" and len(types) > 1:
            message = f"all({show_name(linked.text)}) over {link.text}, which has {len(types)} types"
            self._faults.report(link, NOT_EXPRESSIBLE, message)

    @staticmethod
    def _list_linked_types(link: ForeignRelation) -> list[str]:
        return [*dict.fromkeys(restriction.type.text for restriction in link.allowed)]

    def _find_types(self, link: ForeignRelation, relation: str) -> list[str]:
        """Returns the types that a link reaches and that have the relation."""
        types = self._model.types
        return [name for name in self._list_linked_types(link) if name in types and relation in types[name].relations]

    def build(self, declared: ForeignType, operands: Sequence[Rewrite], direct: str) -> RuleClause:
        """Returns the rule that holds if one of the operands does; `direct` is the relation for direct subjects."""

        def build_rule(rewrite: Rewrite, rules: Sequence[RuleClause]) -> RuleClause:
            match rewrite.kind:
                case "direct":
                    return RuleClause("computed", (NameAt(direct),))
                case "computed":
                    return RuleClause("computed", (NameAt(self._naming.name_relation(rewrite.names[0].text)),))
                case "arrow" | "for_all":
                    return self._build_link(declared, rewrite)
                case "exclusion":
                    return RuleClause("all_of", rules=[rules[0], RuleClause("none_of", rules=[rules[1]])])
                case "self":
                    return RuleClause("self")
                case "nobody":
                    return RuleClause("nobody")
                case _:
                    return RuleClause(_GROUPS[rewrite.kind], rules=_flatten(_GROUPS[rewrite.kind], rules))

        built = [fold(operand, lambda inner: inner.operands, build_rule) for operand in operands]
        return built[0] if len(built) == 1 else RuleClause("any_of", rules=_flatten("any_of", built))

    def _build_link(self, declared: ForeignType, rewrite: Rewrite) -> RuleClause:
        linked, link = rewrite.names
        types = self._find_types(declared.relations[link.text], linked.text)
        relations = (NameAt(self._naming.name_relation(linked.text)), NameAt(self._naming.name_link(link.text)))
        names = (*relations, *(NameAt(self._type_names[of_type]) for of_type in types))
        return RuleClause("for_all" if rewrite.kind == "for_all" else "arrow", names)


def _flatten(kind: RuleKind, rules: Sequence[RuleClause]) -> list[RuleClause]:
    """Returns the rules of a group, with those of a group of the same kind in it as its own."""
    return [inner for rule in rules for inner in (rule.rules if rule.kind == kind else [rule])]


_CONTROL = re.compile(r"[\0\r]")
_REASON_OF_TYPE = "types have names of lower-case letters, digits, - and _"
_REASON_OF_RELATION = "relations have names of letters, digits, - and _"
_REASON_OF_PARAMETER = "it is no name of a variable in a policy; contexts have the new one"


class Renaming(NamedTuple):
    """Holds what has another name here, and why."""

    before: str
    after: str
    reason: str

    def describe(self) -> str:
        return f"{self.before} becomes {self.after}: {self.reason}"


@dataclass(slots=True)
class ConvertedModel:
    """Holds the document, and how the original names map to it.

    `direct` has, for each relation that relationships may give, the relation here; `allowed` has their restrictions.
    A relation that was left out is in neither, and in `left_out`. `parameters` has the names here of the parameters of
    conditions; they are the same in all conditions."""

    document: ModelDocument = field(default_factory=ModelDocument)
    type_names: dict[str, str] = field(default_factory=dict)
    relation_names: dict[str, str] = field(default_factory=dict)
    direct: dict[RelationKey, str] = field(default_factory=dict)
    allowed: dict[RelationKey, list[Restriction]] = field(default_factory=dict)
    conditions: dict[str, ConditionConverter] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    left_out: set[RelationKey] = field(default_factory=set)
    renamings: list[Renaming] = field(default_factory=list)

    def rename_context(self, context: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the context of a request with the names that the parameters of conditions have here."""
        return {self.parameters.get(name, name): value for name, value in context.items()}


def convert_model(model: ForeignModel, faults: Faults, naming: Naming = READABLE) -> ConvertedModel:
    """Returns the model in our form, without what cannot be expressed and all relations that depend on it. What is
    wrong, and what cannot be expressed, is reported; if there are errors, the document is not complete."""
    return _ModelConverter(model, faults, naming).convert()


class _ModelConverter:
    def __init__(self, model: ForeignModel, faults: Faults, naming: Naming) -> None:
        self._model = model
        self._faults = faults
        self._naming = naming
        self._converted = ConvertedModel()
        self._builder = RuleBuilder(model, self._converted.type_names, faults, naming)

    def convert(self) -> ConvertedModel:
        converted, types = self._converted, self._model.types
        self._choose_names("type", types, converted.type_names, _REASON_OF_TYPE)
        for declared in types.values():
            self._choose_names("relation", declared.relations, converted.relation_names, _REASON_OF_RELATION)
        self._name_parameters()
        self._convert_conditions()
        for declared in self._model.types.values():
            for relation in declared.relations.values():
                self._check_relation(declared, relation)
        if not self._faults.errors:
            self._leave_out()
            for declared in self._model.types.values():
                self._convert_type(declared)
        return self._converted

    def _choose_names(
        self,
        kind: Literal["type", "relation"],
        declared: Mapping[str, ForeignType] | Mapping[str, ForeignRelation],
        names: dict[str, str],
        reason: str,
    ) -> None:
        """Adds the names that types, or the relations of one of them, have here, none of which may be equal."""
        taken: dict[str, str] = {}
        for name, declaration in declared.items():
            here = self._naming.name_type(name) if kind == "type" else self._naming.name_relation(name)
            if here in taken:
                both = f"{kind}s {show_name(taken[here])} and {show_name(name)}"
                self._faults.report(declaration.name, "name_collision", f"{both} would both become {show_name(here)}")
            taken[here] = name
            if here != name and name not in names:
                self._converted.renamings.append(Renaming(name, here, reason))
            names[name] = here

    def _name_parameters(self) -> None:
        names = self._converted.parameters
        names.update((name, name) for condition in self._model.conditions.values() for name in condition.parameters)
        if self._naming.name_parameter is not None:
            names.update((name, self._naming.name_parameter(name)) for name in [*names])
            return
        for name in [*names]:
            if not can_be_parameter(name):
                names[name] = here = _choose_name(convert_parameter(name), {*names.values()})
                self._converted.renamings.append(Renaming(f"parameter {name}", here, _REASON_OF_PARAMETER))

    def _convert_conditions(self) -> None:
        for name, condition in self._model.conditions.items():
            here = self._naming.name_condition(name)
            is_typed = self._naming.name_parameter is None
            converter = convert_condition(condition, here, self._converted.parameters, self._faults, is_typed=is_typed)
            if converter is not None:
                self._converted.conditions[name] = converter
                if converter.declaration is None:
                    reason = "a named policy has no parameter of type any"
                    self._converted.renamings.append(Renaming(f"condition {name}", "a policy of each warrant", reason))
                else:
                    self._converted.document.policies[here] = converter.declaration

    def _check_relation(self, declared: ForeignType, relation: ForeignRelation) -> None:
        name = relation.name.text
        for restriction in relation.allowed:
            self._check_restriction(restriction)
        if not self._builder.check(declared, relation):
            self._converted.left_out.add((declared.name.text, name))

    def _check_restriction(self, restriction: Restriction) -> None:
        declared = self._model.types.get(restriction.type.text)
        if declared is None:
            self._faults.report_unknown("type", restriction.type, self._model.types)
        elif restriction.relation is not None and restriction.relation.text not in declared.relations:
            self._faults.report_unknown("relation", restriction.relation, declared.relations)
        condition = restriction.condition
        if condition is None or condition.text in self._model.unread:
            return
        if condition.text not in self._model.conditions:
            self._faults.report_unknown("condition", condition, self._model.conditions)
        elif condition.text not in self._converted.conditions:
            message = f"{restriction.describe()} needs condition {condition.text}, which cannot be expressed"
            self._faults.report(restriction.type, NOT_EXPRESSIBLE, message)

    def _leave_out(self) -> None:
        """Leaves out the relations that depend on one that is left out: without it, an exclusion could grant more."""
        for key, cause in find_dependents(self._model, self._converted.left_out):
            relation = self._model.types[key[0]].relations[key[1]]
            message = f"{'#'.join(key)} depends on {'#'.join(cause)}, which cannot be expressed"
            self._faults.report(relation.name, NOT_EXPRESSIBLE, message)
            self._converted.left_out.add(key)

    def _convert_type(self, declared: ForeignType) -> None:
        name = declared.name
        here = self._converted.type_names[name.text]
        type_here = TypeDeclaration(NameAt(here), description=_tidy(declared.description))
        self._converted.document.types[here] = type_here
        for relation in declared.relations.values():
            if (name.text, relation.name.text) not in self._converted.left_out:
                for converted in self._convert_relation(declared, relation, type_here.relations):
                    type_here.relations[converted.name.text] = converted

    def _convert_relation(
        self, declared: ForeignType, relation: ForeignRelation, relations: Mapping[str, RelationDeclaration]
    ) -> list[RelationDeclaration]:
        """Returns the relation, and before it the one that its direct subjects get of their own if it needs one."""
        name, key = relation.name.text, (declared.name.text, relation.name.text)
        name_here = self._converted.relation_names[name]
        here = RelationDeclaration(NameAt(name_here), description=_tidy(relation.description))
        operands = [operand for operand in _list_union(relation.rewrite) if operand.kind != "direct"]
        is_direct = any(inner.kind == "direct" for inner in relation.rewrite.walk())
        if is_direct:
            self._converted.allowed[key] = relation.allowed
        name_direct = self._naming.name_direct
        is_separate = is_direct and name_direct is not None
        if not is_separate and not any(inner.kind == "direct" for operand in operands for inner in operand.walk()):
            here.allowed = self._allow(relation) if is_direct else []
            here.rule = self._builder.build(declared, operands, "") if operands else None
            self._converted.direct[key] = name_here
            return [here]
        if name_direct is not None:
            direct = name_direct(name)
        else:
            direct = _choose_name(f"{DIRECT}{name_here}", {*map(convert_name, declared.relations), *relations})
        here.allowed = []
        here.rule = self._builder.build(declared, [relation.rewrite], direct)
        self._converted.direct[key] = direct
        type_here = self._converted.type_names[declared.name.text]
        reason = "warrants give this, and a rule computes the relation"
        renaming = Renaming(f"{type_here}#{name_here} of relationships", f"{type_here}#{direct}", reason)
        self._converted.renamings.append(renaming)
        return [RelationDeclaration(NameAt(direct), self._allow(relation)), here]

    def _allow(self, relation: ForeignRelation) -> list[AllowedClause]:
        clauses: dict[str, AllowedClause] = {}
        for restriction in relation.allowed:
            userset = restriction.relation
            is_left_out = userset is not None and (restriction.type.text, userset.text) in self._converted.left_out
            condition = restriction.condition
            if is_left_out or (condition is not None and condition.text not in self._converted.conditions):
                continue
            clause = AllowedClause(NameAt(self._converted.type_names[restriction.type.text]), restriction.is_wildcard)
            clause.relation = NameAt(self._naming.name_relation(userset.text)) if userset is not None else None
            clauses[clause.text] = clause
        return [*clauses.values()]


def _list_union(rewrite: Rewrite) -> list[Rewrite]:
    """Returns what a rewrite is the union of, in written order."""
    inner = walk(rewrite, lambda operand: operand.operands if operand.kind == "union" else ())
    return [operand for operand in inner if operand.kind != "union"]


def _choose_name(preferred: str, taken: set[str]) -> str:
    name, number = preferred[:64], 1
    while name in taken:
        number += 1
        name = f"{preferred[:60]}_{number}"
    return name


def _tidy(description: str) -> str:
    return _CONTROL.sub(" ", description)[:MAX_DESCRIPTION_LENGTH]
