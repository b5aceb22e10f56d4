"""Object types and warrants of a data set as an OpenFGA model and its tuples.

A relation holds by warrant or by its rule, so each becomes a union of `this` and the rule. "Through R to objects of
type T" follows stored warrants of R with subjects of type T and nothing else, whatever rule R has; OpenFGA follows
relations that have no rule. Where R has one, or has other subjects, these warrants are therefore written to a
relation of their own, named R--T, which R includes.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from benchmarks.datasets.dataset import RuleJson, WarrantRow

Types: TypeAlias = Mapping[str, Mapping[str, RuleJson]]
Json: TypeAlias = "dict[str, Json] | list[Json] | str"


class Form(NamedTuple):
    """What kind of subject a relation is given to."""

    object_type: str
    relation: str
    subject_type: str
    is_wildcard: bool
    subject_relation: str


class TupleKey(NamedTuple):
    user: str
    relation: str
    object: str


def form_of(row: WarrantRow) -> Form:
    return Form(row[0], row[2], row[3], row[4] == "*", row[5])


class OpenFgaModel:
    def __init__(self, types: Types, forms: Iterable[Form]) -> None:
        """`forms`: of all warrants that will ever be written. Raises ValueError for a rule that OpenFGA has no words
        for: a noneOf that is not below an allOf with another rule."""
        self._types = types
        self._forms = frozenset(forms)
        followed = {
            (of_type, str(rule["withRelation"]), str(rule["ofType"]))
            for of_type, relations in types.items()
            for relation_rule in relations.values()
            for rule in _rules_within(relation_rule)
            if "ofType" in rule
        }
        self._apart = {
            (of_type, relation, to) for of_type, relation, to in followed if self._needs_own(of_type, relation, to)
        }

    def tuple_key(self, row: WarrantRow) -> TupleKey:
        object_type, object_id, relation, subject_type, subject_id, subject_relation, _ = row
        if not subject_relation and (object_type, relation, subject_type) in self._apart:
            relation = _apart_name(relation, subject_type)
        user = f"{subject_type}:{subject_id}" + (f"#{subject_relation}" if subject_relation else "")
        return TupleKey(user, relation, f"{object_type}:{object_id}")

    def authorization_model(self) -> Json:
        """The body of POST /stores/{id}/authorization-models."""
        definitions = [self._type_definition(of_type) for of_type in self._types]
        return {"schema_version": "1.1", "type_definitions": [*definitions]}

    def _needs_own(self, of_type: str, relation: str, to: str) -> bool:
        others = {form for form in self._forms_of(of_type, relation) if form[2:] != (to, False, "")}
        return bool(self._types[of_type].get(relation) or others)

    def _forms_of(self, of_type: str, relation: str) -> set[Form]:
        return {form for form in self._forms if form[:2] == (of_type, relation)}

    def _type_definition(self, of_type: str) -> Json:
        rewrites: dict[str, Json] = {}
        subjects: dict[str, Json] = {}
        for relation, rule in self._types[of_type].items():
            apart = sorted(to for owner, name, to in self._apart if (owner, name) == (of_type, relation))
            direct = self._subjects(of_type, relation, apart, has_rule=bool(rule))
            children: list[Json] = [{"this": {}}] if direct else []
            children += [{"computedUserset": {"relation": _apart_name(relation, to)}} for to in apart]
            children += [self._rewrite(of_type, rule)] if rule else []
            rewrites[relation] = _one_or("union", children)
            subjects[relation] = {"directly_related_user_types": direct}
            for to in apart:
                rewrites[_apart_name(relation, to)] = {"this": {}}
                subjects[_apart_name(relation, to)] = {"directly_related_user_types": [{"type": to}]}
        return {"type": of_type, "relations": rewrites, "metadata": {"relations": subjects}}

    def _subjects(self, of_type: str, relation: str, apart: list[str], has_rule: bool) -> list[Json]:
        """What may be written to the relation itself. One that could never hold is refused by OpenFGA: it is given to
        the first type."""
        found = sorted(self._forms_of(of_type, relation))
        direct = [_subject(form) for form in found if form.subject_relation or form.subject_type not in apart]
        return direct or ([] if has_rule or apart else [{"type": next(iter(self._types))}])

    def _rewrite(self, of_type: str, rule: RuleJson) -> Json:
        inherit = str(rule["inheritIf"])
        if inherit == "anyOf":
            return _one_or("union", [self._rewrite(of_type, each) for each in _branches(rule)])
        if inherit == "allOf":
            return self._intersection(of_type, _branches(rule))
        if inherit == "noneOf":
            raise ValueError(
                "OpenFGA can take something from something only: noneOf needs another rule beside it in allOf"
            )
        if "ofType" not in rule:
            return {"computedUserset": {"relation": inherit}}
        relation, to = str(rule["withRelation"]), str(rule["ofType"])
        tupleset = _apart_name(relation, to) if (of_type, relation, to) in self._apart else relation
        return {"tupleToUserset": {"tupleset": {"relation": tupleset}, "computedUserset": {"relation": inherit}}}

    def _intersection(self, of_type: str, rules: list[RuleJson]) -> Json:
        wanted = [rule for rule in rules if rule["inheritIf"] != "noneOf"]
        taken = [branch for rule in rules if rule["inheritIf"] == "noneOf" for branch in _branches(rule)]
        if not wanted:
            raise ValueError("OpenFGA can take something from something only: allOf needs a rule that is not noneOf")
        base = _one_or("intersection", [self._rewrite(of_type, rule) for rule in wanted])
        if not taken:
            return base
        return {
            "difference": {
                "base": base,
                "subtract": _one_or("union", [self._rewrite(of_type, rule) for rule in taken]),
            }
        }


def _one_or(operator: str, children: list[Json]) -> Json:
    return children[0] if len(children) == 1 else {operator: {"child": children}}


def _subject(form: Form) -> Json:
    if form.is_wildcard:
        return {"type": form.subject_type, "wildcard": {}}
    if form.subject_relation:
        return {"type": form.subject_type, "relation": form.subject_relation}
    return {"type": form.subject_type}


def _apart_name(relation: str, to: str) -> str:
    return f"{relation}--{to}"


def _branches(rule: RuleJson) -> list[RuleJson]:
    branches = rule["rules"]
    assert isinstance(branches, list)
    return branches


def _rules_within(rule: RuleJson) -> Iterator[RuleJson]:
    """The rule and all below it."""
    yield rule
    for branch in rule.get("rules", []):
        assert isinstance(branch, dict)
        yield from _rules_within(branch)
