"""Takes tickets out of query strings, so that nothing that parses, keeps or shows a query string has them."""

from urllib.parse import unquote_plus

TICKET = "ticket"
"""Names the parameter."""


def divide_query(query: bytes) -> tuple[str | None, bytes]:
    """Returns the ticket in a query string, None if there is none, and the query string without it."""
    if not query:
        return None, query
    ticket, others = None, []
    for pair in query.split(b"&"):
        name, _, value = pair.decode("latin-1").partition("=")
        if unquote_plus(name) != TICKET:
            others.append(pair)
        elif ticket is None:
            ticket = unquote_plus(value)
    return ticket, b"&".join(others)
