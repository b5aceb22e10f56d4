"""Implements policies: conditions in text form that a warrant may carry (docs/compatibility.md#policies).

A policy is compiled into functions that call each other, and evaluated as often as needed. As in Go `expr`, its types
are checked against those of the context before it is evaluated. See docs/policies.md for the language.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from magistrate.engine.byte_sizes import CacheBytes
from magistrate.engine.policy.environment import Environment
from magistrate.engine.policy.node import Evaluate, PolicyNode, Refusal
from magistrate.engine.policy.parser import parse
from magistrate.engine.policy.references import PolicyReference, read_reference
from magistrate.engine.policy.run import MAX_STEPS, Fault, NotingRun, PolicyRun
from magistrate.engine.policy.texts import MAX_PATTERNS
from magistrate.engine.policy.tokens import is_variable, render_string
from magistrate.engine.policy.types import BOOL, TYPES_OF_VALUES, may_be_bool
from magistrate.engine.policy.value_types import read_first
from magistrate.engine.text.positions import position
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import InvalidParameter

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

MAX_BYTES = 16_777_216
"""Limits the bytes of each cache (16 MiB). Usual policies take one or two kilobytes."""


class TextCache(Generic[Key, Value]):
    """Evicts at random. With LRU eviction, requests that cycle through more policies than the capacity would never hit;
    at random, most of them do."""

    def __init__(self, max_bytes: int) -> None:
        self.bytes = 0
        self._max_bytes = max_bytes
        self._values: dict[Key, tuple[Value, int]] = {}
        self._keys: list[Key] = []
        self._random = 1

    def find(self, key: Key) -> Value | None:
        kept = self._values.get(key)
        return None if kept is None else kept[0]

    def measure(self, cache: str) -> CacheBytes:
        return CacheBytes(cache, self.bytes, self._max_bytes)

    def keep(self, key: Key, value: Value, size: int) -> None:
        """Keeps the value of a key that is not cached, which takes these bytes."""
        self.bytes += size
        while self._keys and self.bytes > self._max_bytes:
            self._evict()
        self._values[key] = (value, size)
        self._keys.append(key)

    def _evict(self) -> None:
        # Knuth's linear congruential generator; its upper bits are random enough for this choice.
        self._random = (self._random * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        place = (self._random >> 33) % len(self._keys)
        self._keys[place], self._keys[-1] = self._keys[-1], self._keys[place]
        _, size = self._values.pop(self._keys.pop())
        self.bytes -= size


MAX_POLICY_LENGTH = 4_096
"""Limits a policy in bytes of UTF-8 (4 KiB)."""

LONG_POLICY = 500
"""Counts the characters of a policy that takes one to three milliseconds to parse, and as long to compile."""

_STEPS_FOR_A_CHARACTER = 5
_BYTES_OF_A_POLICY, _BYTES_OF_A_CHARACTER, _BYTES_OF_A_NODE = 1_500, 10, 260
_MISSING = object()
_RESERVED_NAME = "$env"
_NEVER_FROM_CONTEXT = ("now", "warrant")


class PolicyOutcome(msgspec.Struct, frozen=True, gc=False):
    """Holds whether a policy is true, None if that is unknown, the steps that grew with the context or were spent on
    compiling, whether the result may differ at another time, and whether there is none because the evaluation needs
    more steps than it had."""

    value: bool | None
    steps: int
    read_clock: bool
    is_cut_off: bool = False


class PolicyProgram(NamedTuple):
    """Holds a policy compiled for one combination of types: `kinds` are those of its variables. `evaluate` is None if
    the policy does not take them; it is unknown then."""

    kinds: tuple[tuple[str, type], ...]
    evaluate: Evaluate | None


@dataclass(slots=True, eq=False)
class Policy:
    """Represents a valid policy; only `read_policy` makes one. `names` are its variables. `weight`: how many parts one
    evaluation runs through at most, loops once. `is_bool`: whether its type is bool whatever the variables are.
    `lifetime`: how long after the creation of its warrant it may hold, in microseconds, because of `expiresIn`; None if
    it is not known that this ever ends. `fault`: why no new warrant may have it, although stored ones do; "" if one
    may. `reference`: what it refers to if it names a policy of the model; then the model has the expression, and
    nothing can be evaluated without it."""

    text: str
    names: tuple[str, ...]
    weight: int
    is_bool: bool
    lifetime: int | None = None
    fault: str = ""
    reference: PolicyReference | None = None
    _last: PolicyProgram | None = None  # for the types of the context before: most contexts are alike

    @property
    def bytes(self) -> int:
        """Returns what the policy takes in memory, or a program of it: rather too much than too little."""
        return _BYTES_OF_A_POLICY + _BYTES_OF_A_CHARACTER * len(self.text) + _BYTES_OF_A_NODE * self.weight

    @property
    def steps_of_compiling(self) -> int:
        return len(self.text) * _STEPS_FOR_A_CHARACTER

    @property
    def reads_context(self) -> bool:
        """Returns whether the policy may depend on variables of the context. One that only declares variables of its
        own counts as well."""
        return any(name not in _NEVER_FROM_CONTEXT for name in self.names) or _RESERVED_NAME in self.text

    def outcome(
        self, context: Mapping[str, Any], warrant: Warrant, now: int, max_steps: int = MAX_STEPS
    ) -> PolicyOutcome:
        """Returns whether the condition is true of this context, and what that took.

        Context values are what JSON can hold. `now` is in microseconds since 1970 UTC. Never raises; the work is
        bounded by MAX_STEPS whatever the policy and the context."""
        program, compiling = self._choose_program(context), 0
        if program is None:
            program, compiling = _compile_program(self, self.list_kinds(context)), self.steps_of_compiling
            self.keep_program(program)
        return _run(program, compiling, context, warrant, now=now, max_steps=max_steps)

    def list_absent(
        self, context: Mapping[str, Any], warrant: Warrant, now: int, max_steps: int = MAX_STEPS
    ) -> list[str] | None:
        """Returns the variables whose absence keeps the policy from being true or false, in the order in which they are
        read; None if that takes more steps. There are none if the policy is one of both, or is neither for another
        reason, such as the type of a value that is there. It uses nothing that is shared, so that it may run in a
        thread."""
        evaluate = _compile_program(self, self.list_kinds(context), notes_absent=True).evaluate
        if evaluate is None or _RESERVED_NAME in context:
            return []
        run = NotingRun(context, warrant, now, steps=max_steps)
        try:
            value = evaluate(run)
        except (Fault, ArithmeticError):
            value = None
        if run.steps < 0:
            return None if max_steps < MAX_STEPS else []
        return [] if type(value) is bool else [*dict.fromkeys(run.absent)]

    def is_ready(self, context: Mapping[str, Any]) -> bool:
        """Returns whether `outcome` begins at once: the policy need not be compiled for this context, or is short."""
        return len(self.text) < LONG_POLICY or self._choose_program(context) is not None

    def prepare(
        self, context: Mapping[str, Any], warrant: Warrant, now: int
    ) -> Callable[[], tuple[PolicyOutcome, PolicyProgram]]:
        """Returns a function that returns `outcome` and the program, which `keep_program` takes. It uses nothing
        that is shared, so that it may run in a thread."""
        return partial(_compile_and_run, self, self._choose_program(context), context, warrant, now)

    def keep_program(self, program: PolicyProgram) -> None:
        """Caches a program that was compiled for this policy."""
        self._last, key = program, (self.text, program.kinds)
        if _PROGRAMS.find(key) is None:
            _PROGRAMS.keep(key, program, self.bytes)

    def _choose_program(self, context: Mapping[str, Any]) -> PolicyProgram | None:
        """Returns the program for the types of a context, or None if it has to be compiled."""
        program = self._last
        if program is not None:
            for name, kind in program.kinds:
                if type(context.get(name, _MISSING)) is not kind:
                    break
            else:
                return program
        program = _PROGRAMS.find((self.text, self.list_kinds(context)))
        self._last = program or self._last
        return program

    def list_kinds(self, context: Mapping[str, Any]) -> tuple[tuple[str, type], ...]:
        return tuple((name, type(context.get(name, _MISSING))) for name in self.names)


def _compile_and_run(
    policy: Policy, program: PolicyProgram | None, context: Mapping[str, Any], warrant: Warrant, now: int
) -> tuple[PolicyOutcome, PolicyProgram]:
    compiling = 0 if program else policy.steps_of_compiling
    program = program or _compile_program(policy, policy.list_kinds(context))
    return _run(program, compiling, context, warrant, now=now, max_steps=MAX_STEPS), program


def _run(
    program: PolicyProgram, compiling: int, context: Mapping[str, Any], warrant: Warrant, now: int, max_steps: int
) -> PolicyOutcome:
    if program.evaluate is None or _RESERVED_NAME in context:
        return PolicyOutcome(None, compiling, False)
    run = PolicyRun(context, warrant, now, steps=max_steps)
    try:
        value = program.evaluate(run)
    except (Fault, ArithmeticError):  # Python itself raises on division by zero and on float overflow
        value = None
    steps = max_steps - run.steps + compiling
    if run.steps < 0 and max_steps < MAX_STEPS:
        return PolicyOutcome(None, steps, False, is_cut_off=True)
    return PolicyOutcome(value if type(value) is bool else None, steps, run.read_clock)


_POLICIES: TextCache[str, Policy] = TextCache(MAX_BYTES)
_PROGRAMS: TextCache[tuple[str, tuple[tuple[str, type], ...]], PolicyProgram] = TextCache(MAX_BYTES)


def measure_policies() -> Sequence[CacheBytes]:
    """Returns how many bytes the cached policies and programs take, and the limits on them."""
    return _POLICIES.measure("policies"), _PROGRAMS.measure("programs")


def read_new_policy(text: str) -> Policy:
    """Returns the policy of a warrant that is to be written.

    Raises InvalidParameter as `read_policy` does, and for an operator that follows a `??` without brackets around it:
    Go `expr` refuses that, too, because it is not clear what `a ?? 1 == b` compares. Policies that were stored while it
    was accepted keep their meaning."""
    policy = read_policy(text)
    if policy.fault:
        raise InvalidParameter("policy", policy.fault)
    return policy


def read_policy(text: str) -> Policy:
    """Returns the policy of a text, compiled now unless it is cached.

    Raises InvalidParameter, parameter `policy`, if it is too long, is not in the language, or cannot be a bool. The
    message names the line and the column, both from 1, and shows the line."""
    policy = _POLICIES.find(text)
    if policy is None:
        policy = compile_policy(text)
        keep_policy(policy)
    return policy


def parse_policy(text: str) -> Policy | InvalidParameter:
    """Returns the policy of a text, or the error that `read_policy` raises. It uses nothing that is shared, so that
    it may run in a thread; `keep_policy` takes the result."""
    try:
        return compile_policy(text)
    except InvalidParameter as error:
        return error


def keep_policy(policy: Policy) -> None:
    """Caches a policy that was parsed."""
    if not is_kept(policy.text):
        _POLICIES.keep(policy.text, policy, policy.bytes)


def is_kept(text: str) -> bool:
    """Returns whether the policy is cached, so that `read_policy` takes no time."""
    return _POLICIES.find(text) is not None


def may_read_clock(text: str) -> bool:
    """Returns whether the value of a policy may depend on the time. It compiles nothing: a text without these words
    cannot."""
    return "now" in text or "expiresIn" in text


def compile_policy(text: str) -> Policy:
    """Returns the policy of a text. Raises InvalidParameter: see `read_policy`."""
    try:
        reference = read_reference(text)
    except Refusal as refusal:
        raise InvalidParameter("policy", describe_refusal(text[:MAX_POLICY_LENGTH], refusal)) from None
    if reference is not None:
        return Policy(text, (), 1, is_bool=True, reference=reference)
    if len(text.encode(errors="surrogatepass")) > MAX_POLICY_LENGTH:
        raise InvalidParameter("policy", f"must be at most {MAX_POLICY_LENGTH} bytes long")
    environment = Environment()
    try:
        root = compile_text(text, environment)
    except Refusal as refusal:
        raise InvalidParameter("policy", describe_refusal(text, refusal)) from refusal
    fault = ""
    if environment.mixed_at is not None:
        mix = Refusal('put brackets around the "??" before this operator', environment.mixed_at)
        fault = describe_refusal(text, mix)
    return Policy(text, tuple(environment.names), root.weight, root.type is BOOL, lifetime=root.lifetime, fault=fault)


def _compile_program(policy: Policy, kinds: tuple[tuple[str, type], ...], notes_absent: bool = False) -> PolicyProgram:
    types = {name: TYPES_OF_VALUES[kind] for name, kind in kinds if kind in TYPES_OF_VALUES}
    environment = Environment(types, notes_absent)
    try:
        root = compile_text(policy.text, environment)
    except Refusal:
        return PolicyProgram(kinds, None)
    if policy.is_bool and root.type is not BOOL:
        return PolicyProgram(kinds, None)
    return PolicyProgram(kinds, read_first(environment, root.evaluate))


def policy_of_context(context: Mapping[str, str]) -> str:
    """Returns the policy that requires every member of a context, in the order of their names; "" for the empty one.

    Raises InvalidParameter, parameter `context`, for a name that cannot be a variable."""
    for name in context:
        if not is_variable(name) or name == "warrant":
            raise InvalidParameter("context", f"'{name}' cannot be the name of a variable in a policy")
    return " && ".join(f"{name} == {render_string(context[name])}" for name in sorted(context))


def compile_text(text: str, environment: Environment) -> PolicyNode:
    """Returns the root node of a policy. Raises Refusal."""
    root = parse(text, environment)
    if "\0" in text:  # it could be in a string or a comment; PostgreSQL could not store it
        raise Refusal("unrecognized character U+0000", text.index("\0"))
    if root.patterns > MAX_PATTERNS:
        raise Refusal(f"a policy can have at most {MAX_PATTERNS} regular expressions", None)
    if not may_be_bool(root.type):
        raise Refusal(f"expected bool, but got {root.type.name}", None)
    return root


def describe_refusal(text: str, refusal: Refusal) -> str:
    """Returns the message for a policy: the reason, with the position and the line it is on if it is known."""
    message = f"error validating policy '{text}': {refusal.reason}"
    if refusal.offset is None:
        return message
    at = position(text, refusal.offset)
    shown = at.text.rstrip("\r").replace("\t", " ")
    return f"{message} ({at}){at.mark_in(shown)}"
