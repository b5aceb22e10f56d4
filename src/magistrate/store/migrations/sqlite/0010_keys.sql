-- Keys with which callers use a part of the API. See store/keys.py. Only the digests of keys are stored, SHA-256 in hex;
-- scopes and object_types are arrays in JSON. The key before the last rotation has previous_digest, and counts until previous_until.
CREATE TABLE caller_key (
    id               TEXT    PRIMARY KEY,
    name             TEXT    NOT NULL UNIQUE,
    prefix           TEXT    NOT NULL,
    digest           TEXT    NOT NULL,
    scopes           TEXT    NOT NULL,
    object_types     TEXT,
    created_at       INTEGER NOT NULL,
    created_by       TEXT    NOT NULL,
    last_used_at     INTEGER,
    expires_at       INTEGER,
    previous_digest       TEXT,
    previous_until        INTEGER
) STRICT, WITHOUT ROWID;

-- Grows with each change of a key, so that processes notice it by reading one row.
ALTER TABLE head ADD COLUMN keys_version INTEGER NOT NULL DEFAULT 0;
