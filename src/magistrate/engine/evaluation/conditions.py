"""Evaluates the policies and time limits of warrants for one evaluation."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from magistrate.engine.names import PolicyName
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.engine.policy.policy import (
    LONG_POLICY,
    Policy,
    PolicyOutcome,
    PolicyProgram,
    is_kept,
    keep_policy,
    parse_policy,
    read_policy,
)
from magistrate.engine.policy.run import MAX_STEPS, STEPS_AT_ONCE
from magistrate.engine.truth import FALSE, TRUE, UNKNOWN, Truth
from magistrate.engine.warrants.warrant import NO_WARRANT, Warrant
from magistrate.engine.work import WARRANTS_BETWEEN_CHECKPOINTS, WARRANTS_FOR_A_NODE, Work
from magistrate.errors import InvalidParameter

T = TypeVar("T")

POLICY_STEPS_FOR_A_NODE = 20
POLICY_CHARACTERS_FOR_A_NODE = 4
"""Counts the steps of evaluating a policy, and the characters of parsing it, that usually take as long as one node:
about two microseconds."""

ALWAYS = 9_223_372_036_854_775_807
"""Stands for the end of a result that does not depend on the time."""

READS_CLOCK = "now"
"""Names the variable that policies which warrants name must not have: that the value changes with the time is noted of
texts of policies, whatever the model is."""

ANY_CONTEXT: Mapping[str, Any] = {"*": "any"}
"""Stands for a context of which nothing is known: policies that read it are UNKNOWN. No variable can be called `*`."""

_VALUES: dict[bool | None, Truth] = {True: TRUE, False: FALSE, None: UNKNOWN}


class LongStep(Generic[T]):
    """Represents parsing a policy, or compiling and evaluating it, which takes long. It may be taken in a thread."""

    __slots__ = ("_outcome", "_step")

    def __init__(self, step: Callable[[], T]) -> None:
        self._step = step
        self._outcome: T | None = None

    def complete(self) -> T:
        if self._outcome is None:
            self._outcome = self._step()
        return self._outcome


class PolicyEvaluator:
    """Evaluates policies with one context, at one time.

    `now` is in microseconds since 1970 UTC. `valid_until` is the time at which the first of the values may change; it
    is `now` when any policy read the clock. `depends_on_context`: with ANY_CONTEXT a policy was UNKNOWN. `named` are
    the named policies of the model.
    """

    def __init__(
        self,
        context: Mapping[str, Any],
        now: int,
        work: Work,
        named: Mapping[PolicyName, NamedPolicy] = MappingProxyType({}),
    ) -> None:
        self._named = named
        self._placeholders: dict[PolicyName, Warrant | None] = {}
        self._contexts: dict[int, Mapping[str, Any]] = {}
        self._context = context
        self._now = now
        self._work = work
        self._policies: dict[str, Policy | None] = {}
        self._values: dict[int, Truth] = {}
        self._long: dict[int, LongStep[tuple[PolicyOutcome, PolicyProgram]]] = {}
        self._parsing: dict[str, LongStep[Policy | InvalidParameter]] = {}
        self.valid_until = ALWAYS
        self.depends_on_context = False

    def value(self, warrant: Warrant) -> Truth:
        """Returns the value of a warrant's policy, TRUE when it has none, and FALSE outside its time limits. Each
        policy is evaluated once for a warrant."""
        if not (warrant.policy or warrant.expires_at or warrant.starts_at):  # not a property: this runs very often
            return TRUE
        value = self._values.get(warrant.number)
        if value is None:
            value = self._evaluate(warrant, MAX_STEPS)
            assert value is not None
            self._values[warrant.number] = value
        return value

    @property
    def values(self) -> Mapping[int, Truth]:
        """Returns the values that are known, by the number of the warrant."""
        return self._values

    def policy_value(self, warrant: Warrant) -> Truth:
        """Returns the value of a warrant's policy whatever its time limits, TRUE when it has none. Outside its time
        limits, it is UNKNOWN if the evaluation takes long: nothing is decided by it."""
        if not warrant.policy or warrant.is_in_force(self._now):
            return self.value(warrant) if warrant.policy else TRUE
        evaluated = self._resolve(warrant)
        if isinstance(evaluated, Truth):
            return evaluated
        policy, context = evaluated
        outcome = policy.outcome(context, warrant, self._now, STEPS_AT_ONCE)
        self._charge(policy.weight + outcome.steps)
        return UNKNOWN if outcome.is_cut_off else _VALUES[outcome.value]

    def is_known(self, warrant: Warrant) -> bool:
        """Returns whether `value` takes no time."""
        is_conditional = warrant.policy or warrant.expires_at or warrant.starts_at
        return not is_conditional or warrant.number in self._values

    def attempt(self, warrant: Warrant) -> bool:
        """Evaluates the policy of a warrant, so that `value` takes no time, and returns whether it has; if not, the
        time slice is over. A policy is parsed in one time slice and evaluated in the next; what takes long of that is
        offloaded (see Work.offload) for the one after that, in which the attempt goes on."""
        if self.is_known(warrant):
            return True
        if warrant.policy and not self._parse(warrant.policy):
            return False
        value = self._evaluate(warrant, STEPS_AT_ONCE)
        if value is not None:
            self._values[warrant.number] = value
        return value is not None

    def evaluate_each(self, warrants: Iterable[Warrant]) -> Generator[None, Any, None]:
        """Evaluates the policies of all these, so that `value` takes no time. Yields when the time slice is over."""
        for number, warrant in enumerate(warrants, 1):
            if not number % WARRANTS_FOR_A_NODE:
                self._work.hasten_checkpoint(1)
            if not self.is_known(warrant) or not number % WARRANTS_BETWEEN_CHECKPOINTS:
                yield from self._work.checkpoint()
                while not self.attempt(warrant):
                    yield None

    def evaluate_named(self, name: PolicyName) -> Truth:
        """Returns the value of a named policy; UNKNOWN if there is none of this name, or the context lacks one of its
        parameters or has another type for it."""
        placeholders = self.list_placeholders(name)
        return self.value(placeholders[0]) if placeholders else UNKNOWN

    def list_placeholders(self, name: PolicyName | None) -> Sequence[Warrant]:
        """Returns the warrant that has to be evaluated for a named policy, if any. It has the expression as its policy,
        and a number that no warrant has; its context consists of the parameters alone."""
        if name is None:
            return ()
        if name not in self._placeholders:
            named, number = self._named.get(name), -1 - len(self._placeholders)
            context = None if named is None else self._select_context(named)
            self._placeholders[name] = None
            if named is not None and context is not None:
                self._placeholders[name] = replace(NO_WARRANT, policy=named.expression, number=number)
                self._contexts[number] = context
        placeholder = self._placeholders[name]
        return () if placeholder is None else (placeholder,)

    def _select_context(self, named: NamedPolicy) -> Mapping[str, Any] | None:
        """Returns the parameters of a named policy, None if they are not all known: with ANY_CONTEXT, if it has any."""
        return self._bind(named, {})

    def _evaluate(self, warrant: Warrant, max_steps: int) -> Truth | None:
        """Returns the value, None if that takes more steps."""
        if not self._is_in_force(warrant):
            return FALSE
        value = self._evaluate_policy(warrant, max_steps) if warrant.policy else TRUE
        if value is UNKNOWN:
            self._work.has_unknown = True
        return value

    def _is_in_force(self, warrant: Warrant) -> bool:
        for limit in (warrant.starts_at, warrant.expires_at):
            if limit is not None and self._now < limit:
                self.valid_until = min(self.valid_until, limit)
        return warrant.is_in_force(self._now)

    def _evaluate_policy(self, warrant: Warrant, max_steps: int) -> Truth | None:
        evaluated = self._resolve(warrant)
        if isinstance(evaluated, Truth):
            return evaluated
        policy, context = evaluated
        begun = self._long.pop(warrant.number, None)
        outcome = None
        if begun is not None:
            outcome, program = begun.complete()
            policy.keep_program(program)
        elif max_steps == MAX_STEPS or policy.is_ready(context):
            outcome = policy.outcome(context, warrant, self._now, max_steps)
        if outcome is None or outcome.is_cut_off:
            evaluation = LongStep(policy.prepare(context, warrant, self._now))
            self._long[warrant.number] = evaluation
            self._work.offload(evaluation.complete)
            return None
        self._charge(policy.weight + outcome.steps)
        if outcome.read_clock:
            self.valid_until = self._now
        return _VALUES[outcome.value]

    def _resolve(self, warrant: Warrant) -> tuple[Policy, Mapping[str, Any]] | Truth:
        """Returns the policy that is evaluated for that of a warrant, with its context; or the value, if that is known
        without an evaluation. A warrant that names a policy which the model does not have counts for nothing."""
        policy = self._policy(warrant.policy)
        if policy is None:
            return UNKNOWN
        if policy.reference is None:
            if self._context is ANY_CONTEXT and policy.reads_context:
                self.depends_on_context = True
                return UNKNOWN
            return policy, self._contexts.get(warrant.number, self._context)
        named = self._named.get(policy.reference.name)
        if named is None:
            return FALSE
        context = self._bind(named, policy.reference.values)
        expression = self._policy(named.expression)
        if context is None or expression is None or READS_CLOCK in expression.names:
            return UNKNOWN
        return expression, context

    def _bind(self, named: NamedPolicy, values: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Returns the parameters of a named policy, with the values that a warrant gives; None if one lacks."""
        if self._context is not ANY_CONTEXT:
            return named.bind(values, self._context)
        if values.keys() >= named.parameters.keys():
            return named.bind(values, {})
        self.depends_on_context = True
        return None

    def _parse(self, text: str) -> bool:
        """Parses the policy of a warrant, and the named policy that it refers to, in a time slice each; returns whether
        both are parsed and the time slice goes on."""
        if not self._parse_one(text):
            return False
        policy = self._policies[text]
        reference = None if policy is None else policy.reference
        named = None if reference is None else self._named.get(reference.name)
        return named is None or self._parse_one(named.expression)

    def _parse_one(self, text: str) -> bool:
        if text in self._policies:
            return True
        if self._offloads_parsing(text):
            return False
        self._policy(text)
        return not self._work.needs_checkpoint

    def _charge(self, steps: int) -> None:
        self._work.spend(1 + steps // POLICY_STEPS_FOR_A_NODE)
        # The slowest policies take five times as long as usual.
        self._work.hasten_checkpoint(steps * 4 // POLICY_STEPS_FOR_A_NODE)

    def _offloads_parsing(self, text: str) -> bool:
        """Offloads parsing a policy if it is long, and returns whether it does."""
        if len(text) < LONG_POLICY or text in self._parsing or is_kept(text):
            return False
        self._charge_parsing(text)
        self._parsing[text] = parsing = LongStep(partial(parse_policy, text))
        self._work.offload(parsing.complete)
        return True

    def _charge_parsing(self, text: str) -> None:
        self._work.spend(len(text) // POLICY_CHARACTERS_FOR_A_NODE)
        self._work.hasten_checkpoint(len(text))  # the slowest policies take four times as long as usual

    def _policy(self, text: str) -> Policy | None:
        """Returns the parsed policy, or None when it is not valid any more because the language had more when it was
        written."""
        if text not in self._policies:
            self._policies[text] = self._read(text)
        return self._policies[text]

    def _read(self, text: str) -> Policy | None:
        parsing = self._parsing.pop(text, None)
        if parsing is not None:
            parsed = parsing.complete()
        elif is_kept(text):
            return read_policy(text)
        else:
            self._charge_parsing(text)
            parsed = parse_policy(text)
        if isinstance(parsed, InvalidParameter):
            return None
        keep_policy(parsed)
        return parsed
