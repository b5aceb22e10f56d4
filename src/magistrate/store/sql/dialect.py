"""Defines what statements are made of. Parameters are `?`, in order.

One text serves SQLite and PostgreSQL: it uses only what both understand, and nothing that a wire-compatible database
would lack (no advisory locks). Where they differ, the pieces of a Dialect are filled in."""

from dataclasses import dataclass

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
    following: str
    between: str
    all_following: str
