-- How far unfinished imports of files have come: so much from the beginning of the file is stored. See store/importing.py.
CREATE TABLE import (
    source           TEXT    PRIMARY KEY,
    lines            INTEGER NOT NULL,
    size_bytes       INTEGER NOT NULL,
    digest           TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
