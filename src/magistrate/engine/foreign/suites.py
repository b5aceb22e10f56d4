"""Makes suites of the test files of OpenFGA and SpiceDB, given what they say."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from magistrate.engine.foreign.assertions import AssertionReader, build_relationship
from magistrate.engine.foreign.converting import ConvertedModel
from magistrate.engine.foreign.names import ForeignRefusal
from magistrate.engine.foreign.original_names import restore_names_of
from magistrate.engine.foreign.relationships import (
    ForeignRelationship,
    Placed,
    RelationshipConverter,
    RelationshipRefusal,
)
from magistrate.engine.foreign.schema import ForeignModel
from magistrate.engine.model_tests.suite import ModelSuite
from magistrate.engine.model_text.building import build_content
from magistrate.engine.terms import ObjectId, RelationName, TypeName
from magistrate.engine.warrants import Warrant
from magistrate.errors import InvalidRequest

ReadRelationships = Callable[[], Iterator[Placed]]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SuiteReader:
    """Reads the suite of one file, given its model. Warrants are numbered in their order, and created at `now`, in
    microseconds since 1970 UTC."""

    def __init__(self, model: ForeignModel, converted: ConvertedModel, now: int) -> None:
        self._converted = converted
        self._converter = RelationshipConverter(model, converted)
        self._now = now
        self._count = 0

    def read(self, value: Mapping[str, Any], relationships: Iterable[ReadRelationships]) -> ModelSuite:
        """Returns the suite of the file with this value. Raises ForeignRefusal for a relationship that is wrong, and
        InvalidRequest with the place of the first fault in the assertions."""
        warrants = [self._read_warrant(*placed) for read in relationships for placed in read()]
        reader = AssertionReader(self._converted.type_names, self._converted.rename_context)
        if "tests" in value:
            assertions = [*reader.read_openfga(value["tests"], self._add_warrants)]
        else:
            assertions = [*reader.read_spicedb(value)]
        content = build_content(self._converted.document)
        restore = restore_names_of(self._converted)
        return ModelSuite(content.types, content.policies, warrants, assertions, self._now, restore)

    def _read_warrant(self, place: Callable[[], Any], found: ForeignRelationship | RelationshipRefusal) -> Warrant:
        try:
            if isinstance(found, RelationshipRefusal):
                raise found
            return self._build(found)
        except RelationshipRefusal as refusal:
            raise ForeignRefusal(place(), refusal.code, refusal.message) from None

    def _add_warrants(self, values: Sequence[Any], place: str) -> list[Warrant]:
        try:
            return [self._build(build_relationship(one, f"{place}[{number}]")) for number, one in enumerate(values)]
        except RelationshipRefusal as refusal:
            raise InvalidRequest(f"{place}: {refusal.message}") from None

    def _build(self, relationship: ForeignRelationship) -> Warrant:
        line = msgspec.json.decode(self._converter.convert(relationship))
        subject, expires_at = line["subject"], line.get("expiresAt")
        self._count += 1
        return Warrant(
            TypeName(line["objectType"]),
            ObjectId(line["objectId"]),
            RelationName(line["relation"]),
            TypeName(subject["objectType"]),
            ObjectId(subject["objectId"]),
            subject.get("relation", ""),
            line.get("policy", ""),
            self._now,
            self._count,
            None,
            (datetime.fromisoformat(expires_at) - _EPOCH) // timedelta(microseconds=1) if expires_at else None,
        )
