"""Writes statements as PostgreSQL takes them."""

import re
from functools import lru_cache
from itertools import count


@lru_cache(maxsize=64)
def find_each(one: str) -> str:
    """Returns a statement that finds the rows of all keys in a JSON array, given the one for a single key. Each key is
    looked up by itself: OFFSET 0 keeps the planner from joining them with the whole table."""
    numbers = count()
    found = re.sub(r"\?", lambda _: f"k.key_{next(numbers)}", one)
    columns = ", ".join(f"key ->> {number} AS key_{number}" for number in range(one.count("?")))
    keys = f"SELECT {columns} FROM json_array_elements(?::json) k (key) OFFSET 0"
    return f"SELECT f.* FROM ({keys}) k CROSS JOIN LATERAL ({found} OFFSET 0) f"


@lru_cache(maxsize=1024)
def number_placeholders(statement: str) -> str:
    """Returns a statement with PostgreSQL's placeholders, `$1` for the first `?`; none of our statements has a
    question mark elsewhere."""
    places = count(1)
    return re.sub(r"\?", lambda _: f"${next(places)}", statement)
