"""Removes secrets from texts that are logged or shown: passwords, keys, tokens, and the credentials of URLs."""

import re
from collections.abc import Iterable
from typing import Any

HIDDEN = "..."
MIN_CONFIGURED_CHARACTERS = 6
"""Sets the length from which a configured secret is searched for wherever it stands; shorter ones would be found in
ordinary words."""

_PATTERNS = (
    (re.compile(r"(://)[^\s\"'<>]*@"), rf"\1{HIDDEN}@"),
    (
        re.compile(r"(?i)\b(password|passwd|secret|sslpassword)(\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s,;&'\")]+)"),
        rf"\1\2{HIDDEN}",
    ),
    (re.compile(r"(?i)([?&](?:key|token|ticket|password|secret|access_token)=)[^&\s\"']+"), rf"\1{HIDDEN}"),
    (re.compile(r"(?i)\b(apikey|bearer)\s+[^\s\"',]+"), rf"\1 {HIDDEN}"),
    (re.compile(r"\bmagistrate_[A-Za-z0-9_-]{40,}"), f"magistrate_{HIDDEN}"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), HIDDEN),
)
"""Lists what secrets look like, and what is shown instead."""

_configured: tuple[str, ...] = ()


def hide_secrets(secrets: Iterable[str]) -> None:
    """Makes this process hide these secrets, too, wherever they stand in a text."""
    global _configured
    _configured = tuple(
        sorted({one for one in secrets if len(one) >= MIN_CONFIGURED_CHARACTERS}, key=len, reverse=True)
    )


def redact(value: Any) -> Any:
    """Returns a value for JSON, of which all texts are without secrets."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict):
        return {str(redact(key)): redact(member) for key, member in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redact(member) for member in value]
    return redact_text(value if isinstance(value, str) else repr(value))


def redact_text(text: str) -> str:
    """Returns the text without secrets."""
    for secret in _configured:
        text = text.replace(secret, HIDDEN)
    for pattern, shown in _PATTERNS:
        text = pattern.sub(shown, text)
    return text
