"""Collects what is wrong with a history."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

MAX_FINDINGS = 200
"""Bounds the findings that are kept; all are counted."""


class Fault(StrEnum):
    """Names what can be wrong with a history."""

    UNREADABLE = "a line is no operation"
    LOST_WRITE = "an acknowledged write is lost"
    REFUSED_WRITE_MADE = "a refused write was made"
    WRITTEN_TWICE = "a write was made twice"
    REVISION_TWICE = "a revision was given twice"
    WRITTEN_BY_NOBODY = "a revision was written by nobody"
    WRITES_OUT_OF_ORDER = "writes are not in the order of real time"
    UNJUSTIFIED_WRITE = "a write was made that had to be refused"
    READ_REFUSED = "a read was refused"
    UNJUSTIFIED_REFUSAL = "no state explains a refusal"
    WRONG_COUNTS = "the answer of a write is wrong"
    TOKEN_WENT_BACK = "the token of a process went back"
    DEMAND_NOT_MET = "an answer is older than the request demanded"
    STALE_ANSWER = "an answer misses a write that was acknowledged before"
    ANSWER_FROM_THE_FUTURE = "an answer shows a write that had not begun"
    OTHER_REVISION = "a read of the past is of another revision"
    WRONG_CHECK = "a check is wrong"
    WRONG_LIST = "a list is wrong"
    WRONG_PAST = "a read of the past is wrong"
    WRONG_DIFFERENCE = "a difference is wrong"
    EVENT_DUPLICATED = "a watch delivered a revision twice"
    EVENT_SKIPPED = "a watch left a revision out"
    EVENT_OUT_OF_ORDER = "a watch delivered revisions out of order"
    HALF_A_WRITE = "an event has a part of a write"
    WRONG_EVENT = "an event is not what was written"
    WRONG_ACCESS_EVENT = "the effective feed is not what access gained and lost"


class Finding(NamedTuple):
    """Is one fault: `line` is that of the operation in the file, from 1; 0 if it is of no single one."""

    fault: Fault
    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.fault}: {self.text}" if self.line else f"{self.fault}: {self.text}"


@dataclass(slots=True)
class Findings:
    """Has the first findings, and counts all of them by fault."""

    first: list[Finding] = field(default_factory=list)
    counts: Counter[Fault] = field(default_factory=Counter)

    def add(self, fault: Fault, line: int, text: str) -> None:
        self.counts[fault] += 1
        if len(self.first) < MAX_FINDINGS:
            self.first.append(Finding(fault, line, text))
