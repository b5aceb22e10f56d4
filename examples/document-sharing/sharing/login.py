"""A STUB in place of a login: it believes whatever name it is given. Put your identity provider here.

The rest of the application needs only what `user_of` promises: the name of the user, or None.
"""

import hashlib
import hmac


def token_for(user: str, secret: str) -> str:
    """A bearer token that nobody without the secret can make. It has no end, as no stub should."""
    return f"{user}.{_signature(user, secret)}"


def user_of(token: str, secret: str) -> str | None:
    """The user a token was made for; None if it was not made with this secret."""
    user, _, signature = token.rpartition(".")
    return user if hmac.compare_digest(signature.encode(), _signature(user, secret).encode()) else None


def _signature(user: str, secret: str) -> str:
    return hmac.new(secret.encode(), user.encode(), hashlib.sha256).hexdigest()
