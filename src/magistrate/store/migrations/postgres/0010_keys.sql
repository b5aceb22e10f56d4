-- Keys with which callers use a part of the API. See store/keys.py. Only the digests of keys are stored, SHA-256 in hex;
-- scopes and object_types are arrays in JSON. The key before the last rotation has previous_digest, and counts until previous_until.
CREATE TABLE caller_key (
    id               TEXT COLLATE "C" PRIMARY KEY,
    name             TEXT COLLATE "C" NOT NULL UNIQUE,
    prefix           TEXT COLLATE "C" NOT NULL,
    digest           TEXT COLLATE "C" NOT NULL,
    scopes           TEXT COLLATE "C" NOT NULL,
    object_types     TEXT COLLATE "C",
    created_at       BIGINT NOT NULL,
    created_by       TEXT COLLATE "C" NOT NULL,
    last_used_at     BIGINT,
    expires_at       BIGINT,
    previous_digest       TEXT COLLATE "C",
    previous_until        BIGINT
);

-- Grows with each change of a key, so that processes notice it by reading one row.
ALTER TABLE head ADD COLUMN keys_version BIGINT NOT NULL DEFAULT 0;
