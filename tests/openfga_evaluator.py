"""A small OpenFGA: models, tuples, and what they mean."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any


class OpenFgaEvaluator:
    """What an OpenFGA model with its tuples means, as its documents say."""

    def __init__(self, model: Any) -> None:
        """`model`: as it is sent to POST /stores/{id}/authorization-models."""
        self._types = {definition["type"]: definition for definition in model["type_definitions"]}
        self._users: dict[tuple[str, str], list[str]] = defaultdict(list)

    def write(self, key: Mapping[str, str]) -> None:
        self._demand_allowed(key["user"], key["relation"], key["object"])
        users = self._users[key["object"], key["relation"]]
        assert key["user"] not in users, "the server refuses a tuple that is there already"
        users.append(key["user"])

    def delete(self, key: Mapping[str, str]) -> None:
        """Raises ValueError if it is not there, as the server refuses it."""
        self._users[key["object"], key["relation"]].remove(key["user"])

    def list_objects(self, of_type: str, relation: str, user: str) -> list[str]:
        known = {object_name for object_name, _ in list(self._users) if object_name.startswith(f"{of_type}:")}
        return [object_name for object_name in known if self.check(object_name, relation, user)]

    def _demand_allowed(self, user: str, relation: str, object_name: str) -> None:
        """Tuples of other forms are refused by the server."""
        name, _, userset = user.partition("#")
        of_type, _, object_id = name.partition(":")
        wanted: dict[str, Any] = {"type": of_type}
        if userset:
            wanted["relation"] = userset
        elif object_id == "*":
            wanted["wildcard"] = {}
        metadata = self._types[object_name.partition(":")[0]]["metadata"]["relations"][relation]
        assert wanted in metadata["directly_related_user_types"]

    def check(self, object_name: str, relation: str, user: str) -> bool:
        definition = self._types[object_name.partition(":")[0]]
        rewrite = definition["relations"].get(relation)
        return rewrite is not None and self._holds(rewrite, object_name, relation, user)

    def _holds(self, rewrite: dict[str, Any], object_name: str, relation: str, user: str) -> bool:
        [(kind, rule)] = rewrite.items()
        if kind == "this":
            return any(self._is(found, user) for found in self._users.get((object_name, relation), []))
        if kind == "computedUserset":
            return self.check(object_name, rule["relation"], user)
        if kind == "tupleToUserset":
            tupleset = rule["tupleset"]["relation"]
            followed = self._users.get((object_name, tupleset), [])
            assert self._types[object_name.partition(":")[0]]["relations"][tupleset] == {"this": {}}
            return any(self.check(found, rule["computedUserset"]["relation"], user) for found in followed)
        if kind == "difference":
            base, subtract = (self._holds(rule[part], object_name, relation, user) for part in ("base", "subtract"))
            return base and not subtract
        return {"union": any, "intersection": all}[kind](
            self._holds(child, object_name, relation, user) for child in rule["child"]
        )

    def _is(self, found: str, user: str) -> bool:
        name, _, userset = found.partition("#")
        if userset:
            return self.check(name, userset, user)
        return found == user or found == f"{user.partition(':')[0]}:*"
