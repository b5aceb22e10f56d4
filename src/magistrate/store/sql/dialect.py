"""Defines what statements are made of. Parameters are `?`, in order, and `:store`, the number of the store that runs
the statement, which whoever runs it adds (`bind_store`). `:moved` stands for the next value of the column `moved`,
`:first_moved` for the one from which on all changes have to be looked for that are not seen yet, and `:end_of_moved`
for one that no change has reached.

One text serves SQLite and PostgreSQL: it uses only what both understand, and nothing that a wire-compatible database
would lack (no advisory locks). Where they differ, the pieces of a Dialect are filled in."""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

Parameter = str | int | None

COMMIT, ROLL_BACK = "COMMIT", "ROLLBACK"
SAVEPOINT = "SAVEPOINT one_write"
ROLL_BACK_TO_SAVEPOINT, RELEASE = f"ROLLBACK TO {SAVEPOINT}", f"RELEASE {SAVEPOINT}"


@dataclass(frozen=True, slots=True)
class Clause:
    """Holds a piece of SQL with the values of its parameters, in order."""

    sql: str
    values: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialect:
    """Holds the pieces of SQL in which databases differ: how tables are read and joined, and how JSON is read.

    In lists, `index_hint` follows the name of a table; `{}` stands for the name of an index. `member_key` is an
    expression for a member of `meta`, whose name replaces `{}`: `1` followed by the text if the member is a text,
    otherwise `0`. A meta with a NUL character counts as having no text, because PostgreSQL cannot store that character.

    `indexed` reads `warrant w` by an index, `many_ids` and `many_objects` join `warrant w` or `object o` to a JSON
    array of ids, and `texts` extracts the texts of a JSON array. `changes` reads `change c` with its `revision r`, and
    `decisions` reads `decision r`, in the order of their keys; `name` extracts a text of a `key`. `{condition}`,
    `{index}`, `{column}`, `{row}` and `{place}` are filled in.

    `delete_some` deletes rows of `{table}` that are found by `{which}`, which names an order and a limit, and returns
    their `{key}`.

    `following` reads `warrant w` beside `reached u`, the rows that a recursion has found before, and `{columns}` of
    them; several of these are joined by `between`, and the recursion reads them by `all_following`."""

    index_hint: str
    member_key: str
    indexed: str
    many_ids: str
    many_objects: str
    texts: str
    changes: str
    decisions: str
    name: str
    delete_some: str
    following: str
    between: str
    all_following: str


STORE_PARAMETER, MOVED, FIRST_MOVED, END_OF_MOVED = ":store", ":moved", ":first_moved", ":end_of_moved"


def bind_store(statement: str, store: int, values: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    """Returns the values of a statement for a store, as `number_parameters` numbers them."""
    return (store, *values) if STORE_PARAMETER in statement else values


_PARAMETERS = re.compile(r":store\b|\?")


@lru_cache(maxsize=2_048)
def number_parameters(
    statement: str, sign: str, moved: str = "0", first_moved: str = "0", end_of_moved: str = "0"
) -> str:
    """Returns a statement with numbered parameters, as databases read them: the first is the number of the store, if
    the statement has `:store`, and those behind it are the `?`, in order. `sign` is what the database writes before a
    number; `moved`, `first_moved` and `end_of_moved` are its expressions for these. None of our statements has a
    question mark elsewhere."""
    of_store = f"{sign}1"
    numbers = count(2 if STORE_PARAMETER in statement else 1)
    numbered = _PARAMETERS.sub(lambda matched: of_store if matched[0] != "?" else f"{sign}{next(numbers)}", statement)
    return numbered.replace(MOVED, moved).replace(FIRST_MOVED, first_moved).replace(END_OF_MOVED, end_of_moved)
