"""Defines the bodies and handlers of /fga/v1/warrants (docs/fga-v1.md#warrants)."""

from collections.abc import Sequence

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints import warrants as v2_warrants
from magistrate.api.endpoints.objects import TypeText
from magistrate.api.endpoints.warrants import (
    IdOrWildcard,
    RelationText,
    SubjectBody,
    WarrantAnswer,
    WarrantBody,
    read_named_warrant,
    read_warrant,
    read_warrant_policies,
)
from magistrate.api.fga.resources import CREATE, DELETE
from magistrate.api.fga.views import fga_list
from magistrate.api.http.consistency_tokens import find_token
from magistrate.api.http.request_values import MAX_BATCH, read_batch
from magistrate.engine.names import RelationName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.errors import InvalidParameter
from magistrate.operations.writes import warrants
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.contract.store import AtomicWrite

FILTERS = {
    "resource_type": "objectType",
    "resource_id": "objectId",
    "relation": "relation",
    "subject_type": "subjectType",
    "subject_id": "subjectId",
    "subject_relation": "subjectRelation",
}


class FgaSubjectBody(msgspec.Struct, frozen=True):
    """Represents the subject of a warrant or a check: a resource; with a relation, all that have it."""

    resource_type: TypeText | None = None
    resource_id: IdOrWildcard | None = None
    relation: RelationText | None = None

    def to_subject_body(self) -> SubjectBody:
        return SubjectBody(self.resource_type, self.resource_id, self.relation)


class FgaWarrantBody(msgspec.Struct, frozen=True):
    """Represents a warrant to create or delete. `op` is `create`, which is the default, or `delete`."""

    op: str | None = None
    resource_type: TypeText | None = None
    resource_id: IdOrWildcard | None = None
    relation: RelationText | None = None
    subject: FgaSubjectBody | None = None
    policy: str | None = None

    def to_warrant_body(self) -> WarrantBody:
        subject = None if self.subject is None else self.subject.to_subject_body()
        return WarrantBody(self.resource_type, self.resource_id, self.relation, subject, policy=self.policy)


class FgaSubjectAnswer(msgspec.Struct, omit_defaults=True):
    """Represents the subject of a warrant."""

    resource_type: str
    resource_id: str
    relation: str = ""


class FgaWarrantAnswer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Represents a stored warrant; `policy` is omitted when there is none."""

    resource_type: str
    resource_id: str
    relation: str
    subject: FgaSubjectAnswer
    policy: str = ""
    created_at: str = ""


class FgaWriteAnswer(msgspec.Struct):
    """Represents the outcome of a write: a token for reads that have to be as fresh."""

    warrant_token: str


FgaWarrantOrBatch = FgaWarrantBody | list[FgaWarrantBody]


async def write(call: Call[FgaWarrantOrBatch]) -> Answer[FgaWriteAnswer]:
    """Creates and deletes warrants, all or none."""
    is_batch = isinstance(call.body, list)
    bodies = call.body if isinstance(call.body, list) else [call.body]
    policies = await read_warrant_policies(body.to_warrant_body() for body in bodies[:MAX_BATCH] if body.op != DELETE)

    def read(body: FgaWarrantBody) -> NewWarrant:
        if body.op not in (None, CREATE, DELETE):
            raise InvalidParameter("op", f"must be {CREATE} or {DELETE}")
        named = body.to_warrant_body()
        return read_named_warrant(named) if body.op == DELETE else read_warrant(policies, named)

    read_warrants = read_batch(bodies, read) if is_batch else [*map(read, bodies)]
    _require_distinct(bodies, read_warrants)
    places = [place for place, body in enumerate(bodies) if body.op != DELETE]
    atomic_write = AtomicWrite(
        warrants_to_delete=[read_warrants[place] for place, body in enumerate(bodies) if body.op == DELETE],
        warrants=[read_warrants[place] for place in places],
    )
    element = (lambda index: f"[{places[index]}].") if is_batch else (lambda index: "")
    written = await warrants.write(call.context, atomic_write, call.stamp(), element)
    token = await find_token(call.context.store, written.revision)
    return Answer(FgaWriteAnswer(token), written.revision)


def _require_distinct(bodies: Sequence[FgaWarrantBody], new: Sequence[NewWarrant]) -> None:
    """Raises InvalidParameter if a batch creates and deletes the same warrant: deletions come first."""
    operations: dict[tuple[ObjectRef, RelationName, Subject, str], bool] = {}
    for place, (body, warrant) in enumerate(zip(bodies, new, strict=True)):
        deletes = body.op == DELETE
        key = (warrant.object, warrant.relation, warrant.subject, warrant.policy)
        if operations.setdefault(key, deletes) is not deletes:
            raise InvalidParameter(f"[{place}].op", "the same warrant cannot be created and deleted in one batch")


def render_fga_warrant(row: WarrantAnswer) -> FgaWarrantAnswer:
    subject = FgaSubjectAnswer(row.subject.object_type, row.subject.object_id, row.subject.relation)
    return FgaWarrantAnswer(
        resource_type=row.object_type,
        resource_id=row.object_id,
        relation=row.relation,
        subject=subject,
        policy=row.policy,
        created_at=row.created_at,
    )


list_page = fga_list(v2_warrants.list_page, FILTERS, "createdAt", render_fga_warrant)
