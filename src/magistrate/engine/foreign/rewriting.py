"""Makes rules of rewrites, and checks the names in them."""

from collections.abc import Iterable, Mapping, Sequence

from magistrate.engine.foreign.names import NOT_EXPRESSIBLE, Faults, ForeignName, convert_name, show_name
from magistrate.engine.foreign.schema import ForeignModel, ForeignRelation, ForeignType, Rewrite
from magistrate.engine.model_text.document import NameAt, RuleClause, RuleKind
from magistrate.engine.nesting import fold

MAX_LINKED_TYPES = 100_000
"""Limits the types to which all arrows of a model lead: each is written down here."""

_GROUPS: Mapping[str, RuleKind] = {"union": "any_of", "intersection": "all_of"}


class RuleBuilder:
    """Builds the rules of one model; `type_names` are the names of its types here."""

    def __init__(self, model: ForeignModel, type_names: Mapping[str, str], faults: Faults) -> None:
        self._model = model
        self._type_names = type_names
        self._faults = faults
        self._linked_types = 0

    def check(self, declared: ForeignType, relation: ForeignRelation) -> bool:
        """Returns whether a relation can be expressed, and reports what cannot, and what is wrong with its names."""
        known = self._faults.not_expressible
        for rewrite in relation.rewrite.walk():
            if rewrite.kind == "computed" and rewrite.names[0].text not in declared.relations:
                self._report_unknown(rewrite.names[0], declared.relations)
            elif rewrite.kind in ("arrow", "for_all"):
                self._check_link(declared, rewrite)
        return self._faults.not_expressible == known

    def _check_link(self, declared: ForeignType, rewrite: Rewrite) -> None:
        wanted, link = rewrite.names
        relation = declared.relations.get(link.text)
        if relation is None:
            self._report_unknown(link, declared.relations)
            return
        if relation.rewrite.kind != "direct":
            message = f"{show_name(link.text)} is computed; only a relation that relationships give can be followed"
            self._faults.report(link, "invalid_link", message)
            return
        self._linked_types += len(relation.allowed)
        if self._linked_types > MAX_LINKED_TYPES:
            message = f"the arrows of the model lead to more than {MAX_LINKED_TYPES} types"
            self._faults.report(link, "model_too_large", message)
            return
        if any(restriction.is_wildcard for restriction in relation.allowed):
            message = f"{show_name(link.text)} may be every object of a type, which cannot be followed"
            self._faults.report(link, NOT_EXPRESSIBLE, message)
        types = self._list_linked_types(relation)
        if not self._find_types(relation, wanted.text):
            names = [name for one in types if one in self._model.types for name in self._model.types[one].relations]
            self._report_unknown(wanted, names)
        elif rewrite.kind == "for_all" and len(types) > 1:
            message = f"all({show_name(wanted.text)}) over {link.text}, which has {len(types)} types"
            self._faults.report(link, NOT_EXPRESSIBLE, message)

    def _report_unknown(self, name: ForeignName, known: Iterable[str]) -> None:
        hint = self._faults.suggest(name.text, known)
        self._faults.report(name, "unknown_relation", f"relation {show_name(name.text)} is not defined{hint}")

    @staticmethod
    def _list_linked_types(link: ForeignRelation) -> list[str]:
        return [*dict.fromkeys(restriction.type.text for restriction in link.allowed)]

    def _find_types(self, link: ForeignRelation, relation: str) -> list[str]:
        """Returns the types that a link leads to and that have the relation."""
        known = self._model.types
        return [one for one in self._list_linked_types(link) if one in known and relation in known[one].relations]

    def build(self, declared: ForeignType, operands: Sequence[Rewrite], direct: str) -> RuleClause:
        """Returns the rule that holds if one of the operands does; `direct` is the relation for direct subjects."""

        def build_rule(rewrite: Rewrite, rules: Sequence[RuleClause]) -> RuleClause:
            match rewrite.kind:
                case "direct":
                    return RuleClause("computed", (NameAt(direct),))
                case "computed":
                    return RuleClause("computed", (NameAt(convert_name(rewrite.names[0].text)),))
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

        built = [fold(operand, lambda one: one.operands, build_rule) for operand in operands]
        return built[0] if len(built) == 1 else RuleClause("any_of", rules=_flatten("any_of", built))

    def _build_link(self, declared: ForeignType, rewrite: Rewrite) -> RuleClause:
        wanted, link = rewrite.names
        types = self._find_types(declared.relations[link.text], wanted.text)
        relations = (NameAt(convert_name(wanted.text)), NameAt(convert_name(link.text)))
        names = (*relations, *(NameAt(self._type_names[one]) for one in types))
        return RuleClause("for_all" if rewrite.kind == "for_all" else "arrow", names)


def _flatten(kind: RuleKind, rules: Sequence[RuleClause]) -> list[RuleClause]:
    """Returns the rules of a group, with those of a group of the same kind in it as its own."""
    return [inner for rule in rules for inner in (rule.rules if rule.kind == kind else [rule])]
