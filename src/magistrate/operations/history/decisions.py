"""Finds recorded decisions, and makes them again as of that time (docs/history.md#replaying-a-decision)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from magistrate.engine.evaluation.check import Check
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import warrant_names
from magistrate.errors import NotFound, NotReplayable
from magistrate.operations.checks.decision_log import MAX_CHARACTERS, read_contextual_warrants
from magistrate.operations.checks.explain import ExplainedCheck, explain_check
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.history.events import find_decision_place
from magistrate.operations.history.points_in_time import AsOf
from magistrate.store.contract.events import DecisionRecord
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewWarrant

_KIND = "Decision"
"""Names the kind in errors."""


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """Holds a recorded decision with the check and the contextual warrants that it was made for, as far as they were
    kept (see `record.is_partial`)."""

    id: str
    check: Check
    contextual: Sequence[NewWarrant]
    record: DecisionRecord


@dataclass(frozen=True, slots=True)
class Replay:
    """Holds a recorded decision, and the explanation of the same check as of that time."""

    recorded: RecordedDecision
    explained: ExplainedCheck

    @property
    def agrees(self) -> bool:
        """Returns whether the decision is the same again."""
        return self.explained.explanation.is_allowed is self.recorded.record.is_authorized


async def find_decision(ctx: Context, decision_id: str, freshness: Freshness) -> Snapshot[RecordedDecision]:
    """Returns the decision whose event has this id. Raises NotFound, and InvalidParameter if the token is from the
    future."""
    place = find_decision_place(ctx.store.identity, decision_id)
    if place is None:
        raise NotFound(_KIND, decision_id, ": the id of a decision is that of an event access_allowed or access_denied")
    stored_at, _, number = place
    decision = await ctx.store.find_decision(number, stored_at)
    freshness.demand(decision.revision)
    if decision.value is None:
        raise NotFound(_KIND, decision_id, ": it is not kept any more")
    return Snapshot(decision.revision, _read_record(decision_id, decision.value))


async def replay_decision(ctx: Context, decision_id: str, freshness: Freshness) -> Snapshot[Replay]:
    """Makes a recorded decision again, with the warrants, model, time and context of that time. Returns it with its
    explanation. Nothing is written.

    Raises NotReplayable if what it takes was not kept, NotRetained if its revision is not kept any more, and what
    `find_decision` and `explain_check` raise."""
    recorded = (await find_decision(ctx, decision_id, freshness)).value
    record = recorded.record
    if record.is_partial:
        raise NotReplayable(
            f"was made with more context, or more contextual warrants, than the {MAX_CHARACTERS:,} characters that "
            "are kept of either"
        )
    as_of = AsOf(record.revision, record.at, record.bits)
    explanation = await explain_check(
        ctx, recorded.check, freshness, is_strict=False, as_of=as_of, contextual=recorded.contextual
    )
    return Snapshot(explanation.revision, Replay(recorded, explanation.value))


def _read_record(decision_id: str, record: DecisionRecord) -> RecordedDecision:
    names = warrant_names(*record.names)
    context: Mapping[str, Any] = {} if record.context is None else msgspec.json.decode(record.context)
    check = Check(ObjectRef(names.object_type, names.object_id), names.relation, names.subject, context)
    return RecordedDecision(decision_id, check, read_contextual_warrants(record), record)
