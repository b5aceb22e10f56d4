"""Translates expressions of CEL, the language of conditions and caveats, to the language of policies."""
