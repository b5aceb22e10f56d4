"""Finds the relations that somebody can get: by a warrant that the brackets allow, or by a rule that can hold.

Where a name does not exist, which is reported by itself, everything counts as possible; so do policies and none_of. The
rules are a graph of nodes that need one or all of those below them; what becomes possible is propagated upwards, so the
cost is linear in the size of the model.
"""

from magistrate.engine.model_text.document import ModelDocument, RelationDeclaration, RuleClause, TypeDeclaration

Key = tuple[str, str]
"""Holds a type and a relation."""


class Obtainable:
    """Tells which relations of a model somebody can get."""

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
            node = self._add_rule(declared, rule, above)
            if rule.kind in ("any_of", "all_of"):
                waiting += [(inner, node) for inner in rule.rules]

    def _add_rule(self, declared: TypeDeclaration, rule: RuleClause, above: int) -> int:
        if rule.kind == "any_of":
            return self._add_node(above, 1)
        if rule.kind == "all_of":
            return self._add_node(above, len(rule.rules))
        if rule.kind == "computed":
            self._add_leaf(above, declared.name.text, rule.relation.text)
        elif rule.kind in ("arrow", "for_all"):
            for of_type in rule.types:
                if self.has_link(declared.name.text, rule.link.text, of_type.text):
                    self._add_leaf(above, of_type.text, rule.relation.text)
        elif rule.kind != "nobody":
            self._add_node(above, 0)
        return above

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
