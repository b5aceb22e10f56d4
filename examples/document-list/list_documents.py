"""Lists the documents that a user can read, the newest first, page by page, in one statement of SQL.

`make` makes the application's own table in documents.db, in which `magistrate mirror` keeps the table of access."""

import sqlite3
import sys
from contextlib import closing
from typing import NamedTuple

DATABASE = "documents.db"
PAGE_SIZE = 2

MAKE = """
    CREATE TABLE documents (id TEXT PRIMARY KEY, title TEXT NOT NULL, updated TEXT NOT NULL);
    CREATE INDEX documents_by_update ON documents (updated, id);
    INSERT INTO documents VALUES
        ('handbook', 'Handbook', '2026-11-02'),
        ('payroll', 'Payroll of November', '2026-11-24'),
        ('roadmap', 'Roadmap', '2026-11-20'),
        ('minutes', 'Minutes', '2026-11-26')"""
LIST = """
    SELECT documents.id, documents.title, documents.updated
    FROM documents JOIN access ON access.object_id = documents.id
    WHERE access.object_type = 'document' AND access.relation = 'can-read'
        AND access.subject_type = 'user' AND access.subject_id = :user AND NOT access.conditional
        AND (documents.updated, documents.id) < (:updated, :id)
    ORDER BY documents.updated DESC, documents.id DESC
    LIMIT :size"""


class Document(NamedTuple):
    id: str
    title: str
    updated: str


FROM_THE_NEWEST = Document("", "", "9999")


def list_documents(
    connection: sqlite3.Connection, user: str, behind: Document = FROM_THE_NEWEST, size: int = PAGE_SIZE
) -> list[Document]:
    """Returns the documents that the user can read which follow another one."""
    parameters = {"user": user, "updated": behind.updated, "id": behind.id, "size": size}
    return [Document(*row) for row in connection.execute(LIST, parameters)]


def print_pages(connection: sqlite3.Connection, user: str) -> None:
    page = list_documents(connection, user)
    while page:
        for document in page:
            print(f"{document.updated}  {document.title}")
        page = list_documents(connection, user, page[-1])


def main(argument: str) -> None:
    with closing(sqlite3.connect(DATABASE)) as connection:
        if argument == "make":
            connection.executescript(MAKE)
        else:
            print_pages(connection, argument)


if __name__ == "__main__":
    main(sys.argv[1])
