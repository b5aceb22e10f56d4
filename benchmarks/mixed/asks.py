"""What is sent: whole requests as bytes, and how each answer is compared once the clock has stopped."""

from collections.abc import Callable
from typing import NamedTuple


class Verdict(NamedTuple):
    """How many decisions of an answer were compared with what is known, and how many of them are wrong."""

    compared: int
    wrong: int


class Ask(NamedTuple):
    """`validate` is given the body of the answer; None where there is nothing to compare."""

    request: bytes
    validate: Callable[[bytes], Verdict] | None = None


class Answer(NamedTuple):
    """The body of the answer."""

    ask: Ask
    body: bytes


class WrongAnswer(Exception):
    """A server answered otherwise than the data set does: no figure of it is worth anything."""


def judged(answers: list[Answer]) -> Verdict:
    """All verdicts together."""
    verdicts = [answer.ask.validate(answer.body) for answer in answers if answer.ask.validate]
    return Verdict(sum(one.compared for one in verdicts), sum(one.wrong for one in verdicts))
