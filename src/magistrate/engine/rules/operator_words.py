"""Defines the words that an operator over rules has wherever people or programs read or write it.

They are part of the operator, beside its keyword in JSON: texts of models, `/fga/v1`, the command line and the console
take them from the registry (`./run docs` writes the table of the console).
"""

from typing import NamedTuple


class OperatorWords(NamedTuple):
    """Holds the words of one operator.

    `text` begins a group of rules in texts of models. `fga` is the operator in `/fga/v1`, None if that API cannot say
    it. The command line writes `between` two rules and `before` each; if `between` is None, it writes the keyword and
    the rules in brackets. `phrase` stands above the rules in the console.
    """

    text: str
    fga: str | None
    between: str | None
    before: str
    phrase: str
