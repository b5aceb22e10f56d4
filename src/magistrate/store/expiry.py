"""Says which rows of warrants have expired, and how their end is logged."""

from magistrate.store.database import Row
from magistrate.store.versioned import Effect


def has_expired(row: Row, at: int) -> bool:
    """Returns whether a warrant, whose row begins with (*key, number, starts_at, expires_at), has expired at a time."""
    expires_at = row[9]
    return expires_at is not None and expires_at <= at


def describe_expiry(row: Row) -> Effect:
    """Returns the end of a warrant that has expired, from a row that begins with (*key, number, starts_at, expires_at,
    text)."""
    return Effect("expired", "warrant", row[:7], row[10], None, *row[8:10])
