"""Our own API, and whoever else speaks it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import msgspec

from benchmarks.datasets.dataset import Check, RuleJson, WarrantRow
from benchmarks.keep_alive import request_bytes
from benchmarks.mixed.dialect import MAX_LISTED, RelationResult
from benchmarks.server import API_KEY


class _Decided(msgspec.Struct):
    code: int


class _Row(msgspec.Struct):
    object_id: str = msgspec.field(name="objectId")


class _Page(msgspec.Struct):
    results: list[_Row]
    next_cursor: str | None = msgspec.field(name="nextCursor", default=None)


@dataclass(frozen=True, slots=True)
class WarrantApi:
    """`key` is sent with every request but the constant one, which needs none."""

    key: str = API_KEY
    constant: bytes = request_bytes("GET", "/healthz")
    max_checks: int = 1_000

    def check(self, question: Check) -> bytes:
        return self._request("POST", "/v2/check", {"warrants": [_claim(question)]})

    def batch(self, questions: Sequence[Check]) -> bytes:
        body = {"op": "batch", "warrants": [_claim(question) for question in questions]}
        return self._request("POST", "/v2/check", body)

    def list_objects(self, question: Check) -> bytes:
        subject = f"{question.subject_type}:{question.subject_id}"
        text = f"select {question.object_type} where {subject} is {question.relation}"
        return self._request("GET", f"/v2/query?{urlencode({'q': text, 'limit': MAX_LISTED})}")

    def write(self, row: WarrantRow) -> bytes:
        return self._request("POST", "/v2/warrants", warrant_body(row))

    def delete(self, row: WarrantRow) -> bytes:
        return self._request("DELETE", "/v2/warrants", warrant_body(row))

    def define(self, types: Mapping[str, Mapping[str, RuleJson]]) -> list[bytes]:
        """One request for each object type."""
        bodies = [{"type": name, "relations": relations} for name, relations in types.items()]
        return [self._request("POST", "/v2/object-types", body) for body in bodies]

    def decision(self, body: bytes) -> bool:
        return msgspec.json.decode(body, type=_Decided).code == 200

    def decisions(self, body: bytes) -> list[bool]:
        return [one.code == 200 for one in msgspec.json.decode(body, type=list[_Decided])]

    def listed(self, body: bytes) -> RelationResult:
        """Rows come in the order of their ids."""
        page = msgspec.json.decode(body, type=_Page)
        ids = frozenset(row.object_id for row in page.results)
        return RelationResult(ids, page.results[-1].object_id if page.next_cursor is not None else None)

    def _request(self, method: str, path: str, body: object = None) -> bytes:
        encoded = b"" if body is None else msgspec.json.encode(body)
        return request_bytes(method, path, encoded, f"ApiKey {self.key}")


def warrant_body(row: WarrantRow) -> dict[str, object]:
    object_type, object_id, relation, subject_type, subject_id, subject_relation, policy = row
    subject = {"objectType": subject_type, "objectId": subject_id}
    if subject_relation:
        subject["relation"] = subject_relation
    body: dict[str, object] = {
        "objectType": object_type,
        "objectId": object_id,
        "relation": relation,
        "subject": subject,
    }
    return {**body, "policy": policy} if policy else body


def _claim(question: Check) -> dict[str, object]:
    return warrant_body((*question, "", ""))


def with_token(request: bytes, token: str) -> bytes:
    """The same request, to be answered at least as fresh as the token."""
    return request.replace(b"\r\n", b"\r\nWarrant-Token: " + token.encode() + b"\r\n", 1)
