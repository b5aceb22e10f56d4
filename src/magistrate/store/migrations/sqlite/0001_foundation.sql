CREATE TABLE head (
    only_row         INTEGER PRIMARY KEY CHECK (only_row = 1),
    store_id         TEXT    NOT NULL,
    cursor_key       TEXT    NOT NULL,
    revision         INTEGER NOT NULL,
    horizon          INTEGER NOT NULL
) STRICT;

CREATE TABLE revision (
    revision         INTEGER PRIMARY KEY,
    written_at       INTEGER NOT NULL,
    actor            TEXT    NOT NULL
) STRICT;
CREATE INDEX revision_by_time ON revision (written_at);

CREATE TABLE change (
    revision         INTEGER NOT NULL,
    position         INTEGER NOT NULL,
    action           TEXT    NOT NULL,
    kind             TEXT    NOT NULL,
    key              TEXT    NOT NULL,
    before           TEXT,
    after            TEXT,
    PRIMARY KEY (revision, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE object_type (
    type             TEXT    NOT NULL,
    definition       TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    deleted_revision INTEGER NOT NULL,
    PRIMARY KEY (type, deleted_revision)
) STRICT, WITHOUT ROWID;
CREATE INDEX object_type_by_name     ON object_type (deleted_revision, type);
CREATE INDEX object_type_by_creation ON object_type (deleted_revision, created_at, type);

CREATE TABLE object (
    object_type      TEXT    NOT NULL,
    object_id        TEXT    NOT NULL,
    meta             TEXT,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    deleted_revision INTEGER NOT NULL,
    PRIMARY KEY (object_type, object_id, deleted_revision)
) STRICT, WITHOUT ROWID;
CREATE INDEX object_by_id                ON object (deleted_revision, object_id, object_type);
CREATE INDEX object_by_creation          ON object (deleted_revision, created_at, object_id, object_type);
CREATE INDEX object_by_type_and_creation ON object (deleted_revision, object_type, created_at, object_id);
CREATE INDEX object_by_type              ON object (deleted_revision, object_type, object_id);

CREATE TABLE idempotency (
    actor            TEXT    NOT NULL,
    key              TEXT    NOT NULL,
    fingerprint      TEXT    NOT NULL,
    revision         INTEGER NOT NULL,
    answer           TEXT    NOT NULL,
    written_at       INTEGER NOT NULL,
    PRIMARY KEY (actor, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_time ON idempotency (written_at);

CREATE TABLE api_key (
    digest           TEXT    PRIMARY KEY,
    created_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
