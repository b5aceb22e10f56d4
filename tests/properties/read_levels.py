"""Checks whose warrants are on several levels."""

from magistrate.engine.evaluation.check import Check
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from tests.properties.models import Types
from tests.scenario_files import stored_warrant

LINKED: Types = {
    "doc": {"a": {"inheritIf": "b", "ofType": "doc", "withRelation": "c"}, "b": {}, "c": {}},
    "team": {"a": {}},
    "user": {},
}

LEVELS = [
    stored_warrant(text, number, 0)
    for number, text in enumerate(("doc:1#c@doc:2", "doc:2#b@team:1#a", "team:1#a@team:2#a", "team:2#a@user:1"), 1)
]


def asked_about(user: str) -> Check:
    subject = Subject(TypeName("user"), ObjectId(user))
    return Check(ObjectRef(TypeName("doc"), ObjectId("1")), RelationName("a"), subject, {"x": 1})
