-- What session tokens are signed with. See store/session_keys.py.
CREATE TABLE session_key (
    id               TEXT    PRIMARY KEY,
    secret           TEXT    NOT NULL,
    created_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
