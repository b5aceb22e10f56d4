"""Which store a token is of."""

from base64 import urlsafe_b64decode

from magistrate.store.contract.stored_rows import Identity


def find_identity(token: str) -> Identity:
    """The identity of the store that gave a token, as far as tokens have it."""
    decoded = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    return Identity(store_id=decoded[1:9].hex(), cursor_key="")
