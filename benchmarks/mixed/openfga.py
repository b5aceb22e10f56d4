"""The HTTP API of OpenFGA."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from benchmarks.datasets.dataset import Check, Dataset, WarrantRow
from benchmarks.keep_alive import request_bytes
from benchmarks.mixed.asks import Ask
from benchmarks.mixed.dialect import RelationResult
from benchmarks.mixed.generator import closed_loop
from benchmarks.mixed.openfga_model import Json, OpenFgaModel, form_of
from benchmarks.mixed.wire import answered

TUPLES_IN_A_WRITE = 100
MAX_SECONDS = 7_200
_CONNECTIONS = 8

_MAX_OBJECTS = 1_000
"""OpenFGA lists no more, as it comes, and does not say whether there are."""


class _Created(msgspec.Struct):
    id: str


class _Model(msgspec.Struct):
    authorization_model_id: str


class _Allowed(msgspec.Struct):
    allowed: bool = False


class _Batch(msgspec.Struct):
    """By correlation id: the place of the check."""

    result: dict[str, _Allowed]


class _Objects(msgspec.Struct):
    objects: list[str] = []


@dataclass(frozen=True, slots=True)
class OpenFga:
    store: str
    model_id: str
    model: OpenFgaModel
    authorization: str
    constant: bytes = request_bytes("GET", "/healthz", authorization="")
    max_checks: int = 50
    """As it comes; so a batch of 100 is not sent."""

    def check(self, question: Check) -> bytes:
        return self._request("check", {**self._of_model(), "tuple_key": _tuple(question)})

    def batch(self, questions: Sequence[Check]) -> bytes:
        checks: list[Json] = [
            {"tuple_key": _tuple(question), "correlation_id": str(number)} for number, question in enumerate(questions)
        ]
        return self._request("batch-check", {**self._of_model(), "checks": checks})

    def list_objects(self, question: Check) -> bytes:
        user = f"{question.subject_type}:{question.subject_id}"
        wanted: dict[str, Json] = {"type": question.object_type, "relation": question.relation, "user": user}
        return self._request("list-objects", {**self._of_model(), **wanted})

    def write(self, row: WarrantRow) -> bytes:
        return self.write_all([row])

    def write_all(self, rows: Iterable[WarrantRow]) -> bytes:
        """At most TUPLES_IN_A_WRITE."""
        return self._request("write", {**self._of_model(), "writes": self._tuple_keys(rows)})

    def delete(self, row: WarrantRow) -> bytes:
        return self._request("write", {**self._of_model(), "deletes": self._tuple_keys([row])})

    def decision(self, body: bytes) -> bool:
        return msgspec.json.decode(body, type=_Allowed).allowed

    def decisions(self, body: bytes) -> list[bool]:
        result = msgspec.json.decode(body, type=_Batch).result
        return [result[str(number)].allowed for number in range(len(result))]

    def listed(self, body: bytes) -> RelationResult:
        """In no order: of a list that may have been cut off, nothing can be said about what is not in it."""
        objects = msgspec.json.decode(body, type=_Objects).objects
        ids = frozenset(object_name.partition(":")[2] for object_name in objects)
        return RelationResult(ids, "" if len(objects) >= _MAX_OBJECTS else None)

    def _of_model(self) -> dict[str, Json]:
        return {"authorization_model_id": self.model_id}

    def _tuple_keys(self, rows: Iterable[WarrantRow]) -> Json:
        keys = (self.model.tuple_key(row) for row in rows)
        return {"tuple_keys": [{"user": key.user, "relation": key.relation, "object": key.object} for key in keys]}

    def _request(self, action: str, body: Json) -> bytes:
        path = f"/stores/{self.store}/{action}"
        return request_bytes("POST", path, msgspec.json.encode(body), self.authorization)


def fill_openfga(url: str, dataset: Dataset, also: Iterable[WarrantRow], key: str = "") -> OpenFga:
    """A new store with the model and the warrants of the data set. `also`: warrants of all the forms that will be
    written later on. Raises RuntimeError if the server does not accept something."""
    authorization = f"Bearer {key}" if key else ""
    model = OpenFgaModel(dataset.types, {form_of(row) for row in itertools.chain(dataset.warrants(), also)})
    created = request_bytes("POST", "/stores", msgspec.json.encode({"name": dataset.name}), authorization)
    store = msgspec.json.decode(answered(url, created), type=_Created).id
    text = msgspec.json.encode(model.authorization_model())
    written = answered(url, request_bytes("POST", f"/stores/{store}/authorization-models", text, authorization))
    model_id = msgspec.json.decode(written, type=_Model).authorization_model_id
    openfga = OpenFga(store, model_id, model, authorization)
    closed_loop(url, _writes(openfga, dataset.warrants()), _CONNECTIONS, MAX_SECONDS)
    return openfga


def _writes(openfga: OpenFga, rows: Iterator[WarrantRow]) -> Iterator[Ask]:
    while chunk := list(itertools.islice(rows, TUPLES_IN_A_WRITE)):
        yield Ask(openfga.write_all(chunk))


def _tuple(question: Check) -> Json:
    return {
        "user": f"{question.subject_type}:{question.subject_id}",
        "relation": question.relation,
        "object": f"{question.object_type}:{question.object_id}",
    }
