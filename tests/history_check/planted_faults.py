"""Faults to plant into a correct history: each is what a service with that fault would have answered."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

from history_check.findings import Fault
from history_check.operations import (
    AccessEvent,
    AnyOperation,
    Check,
    Difference,
    Event,
    Header,
    Listing,
    Operation,
    Outcome,
    Write,
)
from history_check.tokens import read_revision

Kind = TypeVar("Kind", bound=Operation)


class History:
    """Holds the operations of a history, to be changed."""

    def __init__(self, text: bytes) -> None:
        first, *lines = text.splitlines()
        self.header = msgspec.json.decode(first, type=Header)
        decoder: msgspec.json.Decoder[AnyOperation] = msgspec.json.Decoder(AnyOperation)
        self.operations: list[AnyOperation] = [decoder.decode(line) for line in lines]
        self.garbage = b""

    def encode(self) -> bytes:
        lines = [self.header, *self.operations]
        return b"".join(msgspec.json.encode(line) + b"\n" for line in lines) + self.garbage

    def each(self, kind: type[Kind]) -> Iterator[Kind]:
        yield from (operation for operation in self.operations if isinstance(operation, kind))

    def first(self, kind: type[Kind], is_so: Callable[[Kind], object]) -> Kind:
        """Returns the first such operation behind the first quarter, when there is something to read."""
        later = self.operations[len(self.operations) // 4 :]
        return next(operation for operation in later if isinstance(operation, kind) and is_so(operation))

    def made(self, is_so: Callable[[Write], object] = bool) -> Write:
        return self.first(Write, lambda write: write.outcome == Outcome.ACKNOWLEDGED and is_so(write))

    def events_of(self, write: Write) -> list[Event]:
        return [event for event in self.each(Event) if event.event == "revision" and event.token == write.token]

    def remove(self, *removed: AnyOperation) -> None:
        self.operations = [one for one in self.operations if all(one is not other for other in removed)]

    def writes(self) -> list[Write]:
        """Returns the acknowledged writes by revision."""
        return sorted((write for write in self.each(Write) if write.token), key=revision_of)


def revision_of(operation: Operation) -> int:
    return read_revision(operation.token)


def has_answer(check: Check) -> bool:
    return bool(check.allowed and not check.as_of)


def lose_a_write(history: History) -> Fault:
    history.remove(*history.events_of(history.made()))
    return Fault.LOST_WRITE


def make_a_refused_write(history: History) -> Fault:
    write = history.made()
    write.outcome, write.token, write.refusal = Outcome.REFUSED, "", "not_found"
    return Fault.REFUSED_WRITE_MADE


def make_a_write_twice(history: History) -> Fault:
    first, second = [write for write in history.writes() if not write.define][10:12]
    for event in history.events_of(second):
        [mark] = [text for text in first.create_objects if text.startswith("mark:")]
        event.created_objects, event.updated_objects = (), (mark,)
    history.remove(second)
    return Fault.WRITTEN_TWICE


def acknowledge_another_revision(history: History) -> Fault:
    """The answer names a revision that another client wrote."""
    first, second = history.writes()[10:12]
    second.token = first.token
    return Fault.REVISION_TWICE


def draw_the_bits_of_a_token_again(history: History) -> Fault:
    check = history.first(Check, has_answer)
    check.token = check.token[:-6] + ("AAAAAA" if check.token[-6:] != "AAAAAA" else "AAAAAQ")
    return Fault.REVISION_TWICE


def write_by_nobody(history: History) -> Fault:
    history.remove(history.made())
    return Fault.WRITTEN_BY_NOBODY


def swap_two_writes(history: History) -> Fault:
    """Two writes of one process get their revisions in the other order."""
    writes = [write for write in history.writes() if write.process == "c0"]
    first, second = writes[3:5]
    events = (history.events_of(first), history.events_of(second))
    first.token, second.token = second.token, first.token
    for event in events[0]:
        event.token = first.token
    for event in events[1]:
        event.token = second.token
    return Fault.WRITES_OUT_OF_ORDER


def make_a_write_in_spite_of_its_precondition(history: History) -> Fault:
    history.made(lambda write: not write.define).exists = ("document:none#viewer@user:none",)
    return Fault.UNJUSTIFIED_WRITE


def delete_what_does_not_exist(history: History) -> Fault:
    write = history.made(lambda write: not write.define)
    write.delete_warrants = (*write.delete_warrants, "document:none#viewer@user:none")
    return Fault.UNJUSTIFIED_WRITE


def refuse_without_a_reason(history: History) -> Fault:
    write = history.first(Write, lambda write: write.refusal == "not_found")
    write.delete_warrants, write.delete_objects = (), ()
    return Fault.UNJUSTIFIED_REFUSAL


def refuse_with_another_reason(history: History) -> Fault:
    history.first(Write, lambda write: write.refusal == "not_found" and not write.exists).refusal = "revision_lost"
    return Fault.UNJUSTIFIED_REFUSAL


def count_wrongly(history: History) -> Fault:
    write = history.made(lambda write: write.counts)
    assert write.counts is not None
    write.counts = (write.counts[0] + 1, *write.counts[1:])
    return Fault.WRONG_COUNTS


def answer_with_an_older_token(history: History) -> Fault:
    """A process reads behind what it has written."""
    write = history.made(lambda write: write.process == "c1")
    place = history.operations.index(write)
    check = next(
        one for one in history.operations[place:] if isinstance(one, Check) and one.process == "c1" and has_answer(one)
    )
    check.token, check.at_least = history.header.base, ""
    return Fault.TOKEN_WENT_BACK


def ignore_the_demand(history: History) -> Fault:
    check = history.first(Check, lambda check: has_answer(check) and read_revision_or_0(check.at_least) > 5)
    check.token = history.header.base
    return Fault.DEMAND_NOT_MET


def miss_what_another_process_wrote(history: History) -> Fault:
    """A process that has seen nothing is answered at the base, though others have been acknowledged."""
    check = history.first(Check, has_answer)
    check.process, check.token, check.at_least = "another", history.header.base, ""
    return Fault.STALE_ANSWER


def miss_what_latest_demands(history: History) -> Fault:
    history.header = msgspec.structs.replace(history.header, stale_seconds=1e9)
    check = history.first(Check, has_answer)
    check.process, check.token, check.at_least = "another", history.header.base, "latest"
    return Fault.STALE_ANSWER


def show_a_write_before_it_began(history: History) -> Fault:
    check = history.first(Check, has_answer)
    check.token = history.writes()[-1].token
    return Fault.ANSWER_FROM_THE_FUTURE


def refuse_the_token_of_a_write(history: History) -> Fault:
    check = history.first(Check, has_answer)
    check.outcome, check.token, check.refusal = Outcome.REFUSED, "", "revision_lost"
    return Fault.READ_REFUSED


def allow_what_is_denied(history: History) -> Fault:
    check = history.first(Check, lambda check: has_answer(check) and not all(check.allowed))
    check.allowed = tuple(True for _ in check.allowed)
    return Fault.WRONG_CHECK


def deny_what_is_allowed(history: History) -> Fault:
    check = history.first(Check, lambda check: has_answer(check) and any(check.allowed))
    check.allowed = tuple(False for _ in check.allowed)
    return Fault.WRONG_CHECK


def lacks_rows(listing: Listing) -> bool:
    return bool(listing.rows and not listing.as_of)


def leave_a_row_out(history: History) -> Fault:
    listing = history.first(Listing, lacks_rows)
    listing.rows = listing.rows[1:]
    return Fault.WRONG_LIST


def list_a_row_twice(history: History) -> Fault:
    listing = history.first(Listing, lacks_rows)
    listing.rows = (*listing.rows, listing.rows[0])
    return Fault.WRONG_LIST


def list_one_object_too_many(history: History) -> Fault:
    listing = history.first(Listing, lambda listing: listing.lists == "objects with" and not listing.as_of)
    listing.rows = (*listing.rows, "document:none")
    return Fault.WRONG_LIST


def resurrect_what_was_deleted(history: History) -> Fault:
    """A list shows a warrant whose deletion was acknowledged before."""
    deleted = [text for write in history.writes() for text in write.delete_warrants if text.startswith("document:")]
    listing = next(one for one in history.each(Listing) if one.process == "last" and one.lists == "warrants")
    listing.rows = (*listing.rows, next(text for text in deleted if text not in listing.rows))
    return Fault.WRONG_LIST


def show_an_older_value_of_an_object(history: History) -> Fault:
    listing = [one for one in history.each(Listing) if one.type == "mark" and one.rows and not one.as_of][-1]
    listing.rows = ("mark:c0=c0.1", *(row for row in listing.rows if not row.startswith("mark:c0=")))
    return Fault.WRONG_LIST


def answer_the_past_with_the_present(history: History) -> Fault:
    check = history.first(Check, lambda check: check.as_of and check.allowed)
    check.allowed = tuple(not is_allowed for is_allowed in check.allowed)
    return Fault.WRONG_PAST


def list_the_past_wrongly(history: History) -> Fault:
    listing = history.first(Listing, lambda listing: listing.as_of and listing.rows)
    listing.rows = listing.rows[:-1]
    return Fault.WRONG_PAST


def read_the_past_of_another_revision(history: History) -> Fault:
    check = history.first(Check, lambda check: check.as_of and check.allowed)
    check.token = next(write.token for write in history.writes() if write.token != check.as_of)
    return Fault.OTHER_REVISION


def compare_without_one_row(history: History) -> Fault:
    difference = history.first(Difference, lambda difference: difference.rows)
    difference.rows = difference.rows[1:]
    return Fault.WRONG_DIFFERENCE


def compare_with_one_row_too_many(history: History) -> Fault:
    difference = history.first(Difference, lambda difference: difference.token)
    difference.rows = (*difference.rows, f"+document:none#{difference.of.partition('#')[2]}:none")
    return Fault.WRONG_DIFFERENCE


def exchange_gained_and_lost(history: History) -> Fault:
    difference = history.first(Difference, lambda difference: difference.rows)
    difference.rows = tuple({"+": "-", "-": "+"}[row[0]] + row[1:] for row in difference.rows)
    return Fault.WRONG_DIFFERENCE


def watched(event: Event) -> bool:
    return event.event == "revision" and event.process == "rr0"


def deliver_an_event_twice(history: History) -> Fault:
    event = history.first(Event, watched)
    history.operations.insert(history.operations.index(event) + 1, event)
    return Fault.EVENT_DUPLICATED


def leave_an_event_out(history: History) -> Fault:
    """The log has it, and the other reader too."""
    history.remove(history.first(Event, watched))
    return Fault.EVENT_SKIPPED


def leave_the_last_event_out(history: History) -> Fault:
    """The checkpoint that follows says that everything was sent."""
    events = [event for event in history.each(Event) if event.process == "log" and event.event == "revision"]
    history.remove(events[-1])
    last = msgspec.structs.replace(events[-1], event="checkpoint", created_objects=(), updated_objects=())
    history.operations.append(last)
    return Fault.EVENT_SKIPPED


def deliver_events_in_another_order(history: History) -> Fault:
    event = history.first(Event, watched)
    place = history.operations.index(event)
    history.operations[place : place + 2] = reversed(history.operations[place : place + 2])
    return Fault.EVENT_OUT_OF_ORDER


def make_half_a_write(history: History) -> Fault:
    write = history.made(lambda write: any(event.created_warrants for event in history.events_of(write)))
    for event in history.events_of(write):
        event.created_warrants = event.created_warrants[1:]
    return Fault.HALF_A_WRITE


def leave_the_warrants_of_a_deleted_object(history: History) -> Fault:
    write = history.made(
        lambda write: write.delete_objects and any(event.deleted_warrants for event in history.events_of(write))
    )
    for event in history.events_of(write):
        event.deleted_warrants = ()
    return Fault.HALF_A_WRITE


def watch_what_was_not_written(history: History) -> Fault:
    event = history.first(Event, watched)
    event.created_warrants = (*event.created_warrants, "document:none#viewer@user:none")
    return Fault.WRONG_EVENT


def follow_access_without_one_row(history: History) -> Fault:
    event = history.first(AccessEvent, lambda event: event.rows)
    event.rows = event.rows[1:]
    return Fault.WRONG_ACCESS_EVENT


def leave_access_out(history: History) -> Fault:
    history.remove(history.first(AccessEvent, lambda event: event.rows))
    return Fault.WRONG_ACCESS_EVENT


def cut_a_line(history: History) -> Fault:
    history.garbage = history.encode().splitlines()[-1][:40] + b"\n"
    return Fault.UNREADABLE


def read_revision_or_0(token: str) -> int:
    return read_revision(token) if token and token != "latest" else 0


def list_faults() -> list[Callable[[History], Fault]]:
    """Returns every function that plants a fault: those of this module that return one."""
    functions: list[Any] = [value for value in globals().values() if callable(value)]
    return [each for each in functions if getattr(each, "__annotations__", {}).get("return") is Fault]
