"""Translates expressions of CEL, the language of conditions and caveats, to the language of policies.

What is translated has the same value for the same context, and is unknown where CEL reports an error; everything else
is refused with its offset. `tokens.py` reads words and signs, `translator.py` parses them, and `operators.py` and
`functions.py` say what becomes of each operator and function for the types of its operands.
"""

from magistrate.engine.foreign.cel.pieces import CelRefusal, Piece
from magistrate.engine.foreign.cel.translator import translate_cel

__all__ = ["CelRefusal", "Piece", "translate_cel"]
