"""Finds values of variables with which a policy holds, or does not.

The values that are tried come from the text of the policy: what a variable is compared with, other literals and numbers
beside them. An assignment is returned only if the policy has the wanted value with it; there may be others.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from magistrate.engine.evaluation.conditions import POLICY_STEPS_FOR_A_NODE
from magistrate.engine.names import PolicyName
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.engine.policy.policy import Policy, read_policy
from magistrate.engine.policy.tokens import Token, read_decimal, read_integer, read_string, read_tokens
from magistrate.engine.policy.value_types import READ_AS
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from magistrate.errors import InvalidParameter

MAX_VARIABLES = 4
"""Limits the variables of one assignment."""
MAX_CANDIDATES = 8
"""Limits the variables that are tried at all, those first that are missing."""
MAX_LITERALS = 40
"""Limits the literals of a policy that are tried."""
MAX_ASSIGNMENTS = 3
"""Limits the assignments that are returned, all with as few variables as possible."""
MAX_TRIES = 150
"""Limits the assignments of each number of variables that are tried."""
MAX_VALUES = (12, 6, 4, 3)
"""Limits the values tried for each variable when one variable, two and so on are assigned at once."""
CHARACTERS_FOR_A_NODE = 4
"""Counts the characters of a policy that take as long to examine as one unit of work."""

MAX_TOKENS = 20
"""Limits how far behind a variable a comparison of it is looked for: it may have members."""

_OTHER_TEXT = "x"
_TOKENS_OF_TYPE = 3
"""Counts the comma, the type and the bracket behind a variable that is read as a type."""
_GENERAL = (True, False, 0, 1, _OTHER_TEXT)

Assignment = Mapping[str, Any]


def list_variables(policy: Policy) -> list[str]:
    """Returns the variables of the context that a policy has, in the order of their appearance."""
    return [name for name in policy.names if name != "warrant" and not name.startswith("$")]


def find_assignments(
    warrant: Warrant,
    context: Mapping[str, Any],
    now: int,
    holds: bool,
    *,
    work: Work,
    named: Mapping[PolicyName, NamedPolicy],
) -> Generator[None, Any, list[Assignment]]:
    """Returns values of variables with which the policy of the warrant holds, or does not hold. `named` are the
    policies of the model, of which it may name one.

    Yields when the time slice is over. Raises BudgetExceeded.
    """
    try:
        policy = read_policy(warrant.policy)
    except InvalidParameter:  # the language had more when it was written
        return []
    fixed: Mapping[str, Any] = {}
    if policy.reference is not None:
        if policy.reference.name not in named:
            return []
        fixed = policy.reference.values
        policy = read_policy(named[policy.reference.name].expression)
        context = {**context, **fixed}
    variables = [name for name in list_variables(policy) if name not in fixed]
    variables.sort(key=lambda name: name in context)
    del variables[MAX_CANDIDATES:]
    work.spend(1 + len(policy.text) // CHARACTERS_FOR_A_NODE)
    values = _Candidates(policy.text, set(variables), context, fixed.values())
    pools = {name: values.list_for(name) for name in variables}
    for count in range(1, min(len(variables), MAX_VARIABLES) + 1):
        assignments: list[Assignment] = []
        for assignment in _assign(variables, pools, count):
            outcome = policy.outcome({**context, **assignment}, warrant, now)
            work.spend(1 + (policy.weight + outcome.steps) // POLICY_STEPS_FOR_A_NODE)
            if outcome.value is holds and not any(other.keys() == assignment.keys() for other in assignments):
                assignments.append(assignment)
            yield from work.checkpoint()
            if len(assignments) == MAX_ASSIGNMENTS:
                break
        if assignments:
            return assignments
    return []


def _assign(variables: Sequence[str], pools: Mapping[str, Sequence[Any]], count: int) -> Iterator[Assignment]:
    """Yields assignments of values to `count` of the variables, the likeliest values first."""
    tries_left = MAX_TRIES
    for names in combinations(variables, count):
        for values in product(*(pools[name][: MAX_VALUES[count - 1]] for name in names)):
            if not tries_left:
                return
            tries_left -= 1
            yield dict(zip(names, values, strict=True))


class _Candidates:
    """Collects the values that are worth trying from the text of a policy."""

    def __init__(self, text: str, variables: set[str], context: Mapping[str, Any], values: Iterable[Any] = ()) -> None:
        """Takes the values that a warrant gives, which count like literals in the text."""
        self._context = context
        self._literals: list[Any] = []
        for value in values:
            if type(value) in (str, int, float) and len(self._literals) < MAX_LITERALS:
                self._literals += [value, *_neighbours(value)]
        self._compared: dict[str, list[tuple[tuple[str, ...], Any]]] = {name: [] for name in variables}
        """Maps a variable to the members of it that are used, with values they are compared with."""
        tokens = [*read_tokens(text)]
        for place, token in enumerate(tokens):
            literal = _literal(token)
            if literal is not None and len(self._literals) < MAX_LITERALS:
                self._literals += [literal, *_neighbours(literal)]
            elif token.text in variables and token.kind == "name":
                is_typed = [previous.text for previous in tokens[max(place - 2, 0) : place]] == [READ_AS, "("]
                behind = place + 1 + _TOKENS_OF_TYPE * is_typed
                self._compare(token.text, tokens[behind : behind + MAX_TOKENS])

    def _compare(self, name: str, tokens: Sequence[Token]) -> None:
        """Notes the members that follow a variable, and what stands behind them if that is a comparison."""
        members: list[str] = []
        while len(tokens) > 2 and tokens[0].text in (".", "?.") and tokens[1].is_word:
            members.append(tokens[1].text)
            tokens = tokens[2:]
        literals = [literal for literal in map(_literal, tokens[1:3]) if literal is not None]
        if literals and tokens[0].kind in ("comparison", "relation"):
            self._compared[name].append((tuple(members), _satisfy(tokens[0].text, literals[0])))
        elif members:
            self._compared[name].append((tuple(members), True))

    def list_for(self, name: str) -> list[Any]:
        """Returns the values to try for a variable, the likeliest first, each once and other than that of the
        context."""
        compared = self._compared[name]
        if any(members for members, _ in compared):
            values = [self._nest(name, compared)]
            members = compared[0][0]
            values += [self._nest(name, [(members, value)]) for value in (*self._literals, *_GENERAL)]
        else:
            values = [*(value for _, value in compared), *self._literals, *_GENERAL]
        distinct: list[Any] = []
        for value in values:
            if not any(_is_same(value, other) for other in distinct):
                distinct.append(value)
        present = [self._context[name]] if name in self._context else []
        return [value for value in distinct if not any(_is_same(value, other) for other in present)]

    def _nest(self, name: str, compared: Sequence[tuple[tuple[str, ...], Any]]) -> Any:
        """Returns an object with these members, otherwise as in the context."""
        present = self._context.get(name)
        nested: dict[str, Any] = dict(present) if isinstance(present, dict) else {}
        for members, value in compared:
            inner = nested
            for member in members[:-1]:
                inner[member] = dict(inner[member]) if isinstance(inner.get(member), dict) else {}
                inner = inner[member]
            if members:
                inner[members[-1]] = value
        return nested


def _literal(token: Token) -> Any:
    """Returns the value of a literal, None if the token is none."""
    if token.kind == "string":
        return read_string(token.text, token.offset)
    if token.kind in ("integer", "hexadecimal"):
        return read_integer(token.text, token.offset)
    if token.kind == "decimal":
        return read_decimal(token.text, token.offset)
    return {"true": True, "false": False}.get(token.text) if token.kind == "constant" else None


def _neighbours(literal: Any) -> list[Any]:
    return [] if isinstance(literal, str | bool) else [literal + 1, literal - 1]


def _satisfy(comparison: str, literal: Any) -> Any:
    """Returns a value that compares so with the literal."""
    if comparison == "!=":
        return (
            not literal if isinstance(literal, bool) else f"not {literal}" if isinstance(literal, str) else literal + 1
        )
    if isinstance(literal, str | bool):
        return literal
    return literal - 1 if comparison == "<" else literal + 1 if comparison == ">" else literal


def _is_same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and bool(value == other)
