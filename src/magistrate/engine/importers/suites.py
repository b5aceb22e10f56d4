"""Makes suites of the test files of OpenFGA and SpiceDB, given what they say."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from magistrate.engine.evaluation.check import Check
from magistrate.engine.importers.conversion import ConvertedModel
from magistrate.engine.importers.names import ForeignRefusal, convert_name
from magistrate.engine.importers.openfga_relationships import read_written
from magistrate.engine.importers.relationships import (
    ForeignRelationship,
    Placed,
    RelationshipConverter,
    RelationshipRefusal,
)
from magistrate.engine.importers.schema import ForeignModel
from magistrate.engine.lists.language import ObjectsQuery, SubjectsQuery
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName, suggest_name
from magistrate.engine.subjects import Subject, join_subject_type
from magistrate.engine.terms import ObjectRef, object_id_or_wildcard, relation_name
from magistrate.engine.testing.suites import (
    Assertion,
    CheckAssertion,
    ModelSuite,
    QueryAssertion,
    read_list,
    read_microseconds,
    read_object,
)
from magistrate.engine.text.json_documents import build_content
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import InvalidRequest

Members = Mapping[str, Any]
AddWarrants = Callable[[Sequence[Any], str], Sequence[Warrant]]
"""Converts the relationships of one test, given their place in the file. Raises InvalidRequest."""

_ITSELF = "..."
_OPENFGA_TEST = frozenset(
    {"name", "description", "check", "list_objects", "list_users", "tuples", "tuple_file", "tuple_files"}
)
_EXPECTED = re.compile(r"\[([^\[\]\s]+)(\[\.\.\.\])?(?:\s*-\s*\{([^{}]*)\})?\](?:\s+is\s.*)?", re.DOTALL)
"""Matches one subject of `validation`: `[user:ann] is <document:plan#viewer>`, `[user:*[...] - {user:kim}] is …`."""


class AssertionReader:
    """Reads assertions, given what the types are called here, and what gives a context the names of here."""

    def __init__(self, type_names: Mapping[str, str], rename_context: Callable[[Members], Members]) -> None:
        self._type_names = type_names
        self._rename_context = rename_context

    def read_openfga(self, tests: object, add_warrants: AddWarrants) -> Iterator[Assertion]:
        """Yields the assertions of the member `tests`. Raises InvalidRequest."""
        for number, value in enumerate(read_list(tests, "tests")):
            place = f"tests[{number}]"
            test = {name: member for name, member in read_object(value, place).items() if member is not None}
            unknown = [name for name in test if name not in _OPENFGA_TEST]
            if unknown or "tuple_file" in test or "tuple_files" in test:
                raise InvalidRequest(f"{place}: {unknown[0] if unknown else 'tuple_file'} is not supported in a test")
            added = add_warrants(read_list(test.get("tuples"), f"{place}.tuples"), f"{place}.tuples")
            title = str(test.get("name") or "")
            for kind, read in (
                ("check", self._read_checks),
                ("list_objects", self._read_objects),
                ("list_users", self._read_users),
            ):
                for index, element in enumerate(read_list(test.get(kind), f"{place}.{kind}")):
                    where = f"{place}.{kind}[{index}]"
                    yield from read(read_object(element, where), title, where, added)

    def _read_checks(
        self, members: Members, title: str, place: str, added: Sequence[Warrant]
    ) -> Iterator[CheckAssertion]:
        users = read_list(members.get("users", [members.get("user")]), f"{place}.users")
        objects = read_list(members.get("objects", [members.get("object")]), f"{place}.objects")
        for user, object_name in ((user, object_name) for user in users for object_name in objects):
            for relation, holds in read_object(members.get("assertions"), f"{place}.assertions").items():
                text = f"{object_name}#{relation}@{user}"
                check = self._build_check(object_name, relation, user, self._read_context(members, place), place=place)
                yield CheckAssertion(_name(title, text), check, _read_answer(holds, place), added)

    def _read_objects(
        self, members: Members, title: str, place: str, added: Sequence[Warrant]
    ) -> Iterator[QueryAssertion]:
        user = self._read_end(members.get("user"), f"{place}.user")
        of_type = self._convert_type(str(members.get("type")), f"{place}.type")
        for relation, objects in read_object(members.get("assertions"), f"{place}.assertions").items():
            text = f"{members.get('type')} where {members['user']} is {relation}"
            relations = (_read_relation(relation, place),)
            query = ObjectsQuery(
                _ref_of(user), relations, (of_type,), is_explicit=False, subject_relation=user.relation
            )
            expected = self._read_expected(objects, f"{place}.assertions")
            yield QueryAssertion(_name(title, text), query, expected, self._read_context(members, place), added=added)

    def _read_users(
        self, members: Members, title: str, place: str, added: Sequence[Warrant]
    ) -> Iterator[QueryAssertion]:
        object_name = self._read_end(members.get("object"), f"{place}.object")
        filters = [
            read_object(element, place) for element in read_list(members.get("user_filter"), f"{place}.user_filter")
        ]
        if not filters:
            raise InvalidRequest(f"{place}.user_filter: must name types")
        types = tuple(self._read_filter(user_filter, f"{place}.user_filter") for user_filter in filters)
        for relation, answer in read_object(members.get("assertions"), f"{place}.assertions").items():
            users = read_object(answer, f"{place}.assertions").get("users")
            query = SubjectsQuery(_ref_of(object_name), (_read_relation(relation, place),), types, is_explicit=False)
            expected = self._read_expected(users, f"{place}.assertions")
            text = f"users that are {relation} of {members['object']}"
            yield QueryAssertion(_name(title, text), query, expected, self._read_context(members, place), added=added)

    def _read_filter(self, members: Members, place: str) -> TypeName:
        """Returns a subject type, that of usersets if the filter names a relation."""
        of_type, relation = self._convert_type(str(members.get("type")), place), members.get("relation")
        return of_type if relation is None else join_subject_type(of_type, _read_relation(relation, place))

    def read_spicedb(self, file: Members) -> Iterator[Assertion]:
        """Yields the assertions of the members `assertions` and `validation`. Raises InvalidRequest.

        What holds with a caveat only is denied without a context."""
        for kind, checks in read_object(file.get("assertions") or {}, "assertions").items():
            if kind not in ("assertTrue", "assertFalse", "assertCaveated"):
                raise InvalidRequest(f"assertions: {kind} is not supported")
            for index, text in enumerate(read_list(checks, f"assertions.{kind}")):
                place = f"assertions.{kind}[{index}]"
                written, _, context = str(text).partition(" with ")
                object_name, relation, user = _split_check(written.strip(), place)
                check = self._build_check(
                    object_name, relation, user, self._rename_context(_decode_context(context, place)), place=place
                )
                yield CheckAssertion(str(text), check, kind == "assertTrue")
        for written, subjects in read_object(file.get("validation") or {}, "validation").items():
            yield from self._read_validation(str(written), subjects, f"validation.{written}")

    def _read_validation(self, written: str, subjects: object, place: str) -> Iterator[Assertion]:
        object_name, _, relation = written.partition("#")
        expected: list[str] = []
        has_wildcard = False
        for text in read_list(subjects, place):
            match = _EXPECTED.fullmatch(str(text).strip())
            if match is None:
                raise InvalidRequest(f"{place}: {text}: expected [user:ann] is <document:plan#viewer>")
            user, caveat, excluded = match.groups()
            others = [name.strip() for name in (excluded or "").split(",") if name.strip()]
            for name, holds in ((user, not caveat), *((other, False) for other in others)):
                check = self._build_check(object_name, relation, name, {}, place=place)
                yield CheckAssertion(f"{written}@{name}", check, holds)
            end = self._read_end(user, place)
            has_wildcard |= end.id == WILDCARD
            expected += [end.render()] if not end.relation and not caveat else []
        if not has_wildcard:
            query = SubjectsQuery(
                _ref_of(self._read_end(object_name, place)), (_read_relation(relation, place),), None, False
            )
            yield QueryAssertion(f"subjects of {written}", query, expected)

    def _build_check(self, object_name: object, relation: object, user: object, context: Members, place: str) -> Check:
        of, by = self._read_end(object_name, place), self._read_end(user, place)
        return Check(_ref_of(of), _read_relation(relation, place), by, context)

    def _read_context(self, members: Members, place: str) -> Members:
        return self._rename_context(read_object(members.get("context") or {}, f"{place}.context"))

    def _read_expected(self, values: object, place: str) -> list[str]:
        return [self._read_end(value, place).render() for value in read_list(values, place)]

    def _read_end(self, text: object, place: str) -> Subject:
        """Reads `acme/team:eng#member`."""
        name, _, relation = str(text).partition("#")
        of_type, colon, object_id = name.partition(":")
        if not isinstance(text, str) or not colon:
            raise InvalidRequest(f"{place}: {text!r} is not the name of an object, such as document:plan")
        subject = Subject(self._convert_type(of_type, place), object_id_or_wildcard(object_id, place))
        return subject if relation in ("", _ITSELF) else replace(subject, relation=_read_relation(relation, place))

    def _convert_type(self, name: str, place: str) -> TypeName:
        if name not in self._type_names:
            suggestion = suggest_name(name[:64], self._type_names)
            raise InvalidRequest(f"{place}: the model does not define type {name}{suggestion}")
        return TypeName(self._type_names[name])


def build_relationship(value: object, place: str) -> ForeignRelationship:
    """Returns a relationship that a test of OpenFGA adds. Raises InvalidRequest or RelationshipRefusal."""
    members = read_object(value, place)
    names = [members.get(name) for name in ("user", "relation", "object")]
    condition = read_object(members.get("condition") or {}, f"{place}.condition")
    if not all(isinstance(name, str) and name for name in names):
        raise InvalidRequest(f"{place}: must have user, relation and object")
    context = read_object(condition.get("context") or {}, f"{place}.condition.context")
    user, relation, object_name = map(str, names)
    return read_written(user, relation, object_name, str(condition.get("name") or ""), context=context)


def _decode_context(text: str, place: str) -> Members:
    if not text:
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        raise InvalidRequest(f"{place}: {text[:100]} is no JSON object") from None


def _read_answer(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidRequest(f"{place}.assertions: must be true or false")
    return value


def _read_relation(name: object, place: str) -> RelationName:
    if not isinstance(name, str):
        raise InvalidRequest(f"{place}: {name!r} is not the name of a relation")
    return relation_name(convert_name(name), place)


def _split_check(text: str, place: str) -> tuple[str, str, str]:
    written, at, user = text.partition("@")
    object_name, sign, relation = written.partition("#")
    if not (at and sign):
        raise InvalidRequest(f"{place}: {text}: expected document:plan#viewer@user:ann")
    return object_name, relation, user


def _name(title: str, text: str) -> str:
    return f"{title}: {text}" if title else text


def _ref_of(subject: Subject) -> ObjectRef:
    return ObjectRef(subject.type, subject.id)


RestoreNames = Callable[[str], str]


def restore_names_of(converted: ConvertedModel) -> RestoreNames:
    """Returns a function that puts the original names into a text: of types in front of an id or a relation, and of
    relations and parameters that have another name here. Ids stay as they are."""
    types = {here: name for name, here in converted.type_names.items() if here != name}
    relations = {here: name for name, here in converted.relation_names.items() if here != name}
    relations |= {here: relation for (_, relation), here in converted.direct.items() if here != relation}
    relations |= {here: name for name, here in converted.parameters.items() if here != name}
    if not types and not relations:
        return str
    pattern = re.compile(
        rf"(?<![\w:-])(?P<type>{_any_of(types)})(?=[:#])|(?<=\btype )(?P<named>{_any_of(types)})(?![\w-])"
        rf"|(?<![\w:@-])(?P<relation>{_any_of(relations)})(?![\w:-])"
    )

    def restore(match: re.Match[str]) -> str:
        name = match[0]
        return relations[name] if match["relation"] is not None else types[name]

    return lambda text: pattern.sub(restore, text)


def _any_of(names: dict[str, str]) -> str:
    """Returns an expression that matches one of the names, and nothing if there are none."""
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)) or r"(?!)"


ReadRelationships = Callable[[], Iterator[Placed]]


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
        return ModelSuite(content.types, content.policies, warrants, assertions, now=self._now, restore_names=restore)

    def _read_warrant(
        self, place: Callable[[], Any], relationship: ForeignRelationship | RelationshipRefusal
    ) -> Warrant:
        try:
            if isinstance(relationship, RelationshipRefusal):
                raise relationship
            return self._build(relationship)
        except RelationshipRefusal as refusal:
            raise ForeignRefusal(place(), refusal.code, refusal.message) from None

    def _add_warrants(self, values: Sequence[Any], place: str) -> list[Warrant]:
        try:
            return [self._build(build_relationship(value, f"{place}[{number}]")) for number, value in enumerate(values)]
        except RelationshipRefusal as refusal:
            raise InvalidRequest(f"{place}: {refusal.message}") from None

    def _build(self, relationship: ForeignRelationship) -> Warrant:
        line = self._converter.build_line(relationship)
        self._count += 1
        return Warrant(
            TypeName(line.object_type),
            ObjectId(line.object_id),
            RelationName(line.relation),
            TypeName(line.subject.object_type),
            subject_id=ObjectId(line.subject.object_id),
            subject_relation=line.subject.relation or "",
            policy=line.policy or "",
            created_at=self._now,
            number=self._count,
            starts_at=None,
            expires_at=None if line.expires_at is None else read_microseconds(line.expires_at),
        )
