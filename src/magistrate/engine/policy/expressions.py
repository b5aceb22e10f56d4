"""Reads expressions that belong to no warrant and declare the variables that they read, with their types."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from magistrate.engine.policy.environment import Environment
from magistrate.engine.policy.node import Refusal
from magistrate.engine.policy.policy import Policy, compile_text, describe_refusal, read_policy
from magistrate.engine.policy.tokenizer import Token, read_tokens
from magistrate.engine.policy.types import TYPES_OF_VALUES
from magistrate.errors import InvalidParameter

_NOW = "now"
_OF_WARRANTS = ("warrant", "expiresIn")


def read_expression(text: str, kinds: Mapping[str, type], parameter: str) -> Policy:
    """Returns the policy of a text whose variables are these, each with values of one type.

    Raises InvalidParameter for this parameter if it is not in the language, reads anything else, or cannot work with
    these types."""
    try:
        policy = read_policy(text)
        declared = _list_declared(text)
        for name in _list_names(text):
            if name.text not in kinds and name.text not in declared:
                _check_undeclared(name, policy)
        compile_text(text, Environment({name: TYPES_OF_VALUES[kind] for name, kind in kinds.items()}))
    except InvalidParameter as fault:
        raise InvalidParameter(parameter, fault.message) from None
    except Refusal as refusal:
        raise InvalidParameter(parameter, describe_refusal(text, refusal)) from None
    return policy


def _list_names(text: str) -> Iterator[Token]:
    """Yields the names in a text that are not those of members."""
    before = ""
    for token in read_tokens(text):
        if token.kind == "name" and before not in (".", "?."):
            yield token
        before = token.text


def _list_declared(text: str) -> set[str]:
    """Returns the names that `let` declares somewhere in a text. The evaluation has no other variables than the
    parameters, so that such a name is nil wherever it is not declared."""
    tokens = [*read_tokens(text)]
    return {name.text for let, name in pairwise(tokens) if let.kind == "let" and name.text != "$env"}


def _check_undeclared(name: Token, policy: Policy) -> None:
    """Raises Refusal if a name that is not declared stands for more than a function or the time."""
    if name.text in _OF_WARRANTS:
        raise Refusal(f"{name.text} is for the policies of warrants", name.offset)
    if name.text.startswith("$"):
        raise Refusal(f"{name.text} is for the policies of warrants; name the parameters", name.offset)
    if name.text in policy.names and name.text != _NOW:
        raise Refusal(f"{name.text} is not one of the parameters", name.offset)
