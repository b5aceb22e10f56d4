"""Models and relationships of OpenFGA mean here what they mean there, on random models."""

import json
from collections.abc import Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.engine.importers.conversion import convert_model
from magistrate.engine.importers.names import Faults
from magistrate.engine.importers.openfga_relationships import read_written
from magistrate.engine.importers.relationships import RelationshipConverter
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.text.reports import render_json
from magistrate.engine.warrants.warrant import Warrant
from tests import oracle
from tests.importers.generating import DrawnModel, models, relationships
from tests.importers.models import read_openfga
from tests.openfga_evaluator import OpenFgaEvaluator

STORES = models().flatmap(lambda model: st.tuples(st.just(model), relationships(model)))


def warrant_of(line: bytes, number: int) -> Warrant:
    body = json.loads(line)
    subject = body["subject"]
    return Warrant(
        TypeName(body["objectType"]),
        ObjectId(body["objectId"]),
        RelationName(body["relation"]),
        TypeName(subject["objectType"]),
        ObjectId(subject["objectId"]),
        subject.get("relation", ""),
        "",
        0,
        number,
    )


@settings(max_examples=40, deadline=None)
@given(STORES)
def test_checks_answer_what_openfga_answers(store: tuple[DrawnModel, Sequence[Mapping[str, str]]]) -> None:
    drawn, written = store
    faults = Faults()
    model = read_openfga(drawn.text(), faults)
    converted = convert_model(model, faults)
    converter = RelationshipConverter(model, converted)
    lines = [converter.convert(read_written(one["user"], one["relation"], one["object"], "", None)) for one in written]
    stored = [warrant_of(line, number) for number, line in enumerate(lines)]
    types = {row["type"]: row["relations"] for row in render_json(converted.document)["objectTypes"]}
    there = OpenFgaEvaluator(drawn.json())
    for one in written:
        there.write(one)

    for object_name in ("doc:1", "folder:1", "folder:2"):
        of_type, _, object_id = object_name.partition(":")
        for relation in ("r0", "r1", "r2", "r3"):
            for user in ("a", "b", "c"):
                subject = Subject(TypeName("user"), ObjectId(user))
                here = oracle.check(types, stored, of_type, object_id, relation, subject, lambda _: None)
                assert (here is oracle.Truth.TRUE) is there.check(object_name, relation, f"user:{user}"), relation
    assert faults.kept == []
