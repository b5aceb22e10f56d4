CREATE TABLE head (
    only_row         BIGINT  PRIMARY KEY CHECK (only_row = 1),
    store_id         TEXT COLLATE "C" NOT NULL,
    cursor_key       TEXT COLLATE "C" NOT NULL,
    revision         BIGINT  NOT NULL,
    horizon          BIGINT  NOT NULL
);

CREATE TABLE revision (
    revision         BIGINT  PRIMARY KEY,
    written_at       BIGINT  NOT NULL,
    actor            TEXT COLLATE "C" NOT NULL
);
CREATE INDEX revision_by_time ON revision (written_at);

CREATE TABLE change (
    revision         BIGINT  NOT NULL,
    position         BIGINT  NOT NULL,
    action           TEXT COLLATE "C" NOT NULL,
    kind             TEXT COLLATE "C" NOT NULL,
    key              TEXT COLLATE "C" NOT NULL,
    before           TEXT COLLATE "C",
    after            TEXT COLLATE "C",
    PRIMARY KEY (revision, position)
);

CREATE TABLE object_type (
    type             TEXT COLLATE "C" NOT NULL,
    definition       TEXT COLLATE "C" NOT NULL,
    created_at       BIGINT  NOT NULL,
    created_revision BIGINT  NOT NULL,
    deleted_revision BIGINT  NOT NULL,
    PRIMARY KEY (type, deleted_revision)
);
CREATE INDEX object_type_by_name     ON object_type (deleted_revision, type);
CREATE INDEX object_type_by_creation ON object_type (deleted_revision, created_at, type);

CREATE TABLE object (
    object_type      TEXT COLLATE "C" NOT NULL,
    object_id        TEXT COLLATE "C" NOT NULL,
    meta             TEXT COLLATE "C",
    created_at       BIGINT  NOT NULL,
    created_revision BIGINT  NOT NULL,
    deleted_revision BIGINT  NOT NULL,
    PRIMARY KEY (object_type, object_id, deleted_revision)
);
CREATE INDEX object_by_id                ON object (deleted_revision, object_id, object_type);
CREATE INDEX object_by_creation          ON object (deleted_revision, created_at, object_id, object_type);
CREATE INDEX object_by_type_and_creation ON object (deleted_revision, object_type, created_at, object_id);
-- Last, because on an empty table PostgreSQL takes the last of equally cheap indexes, and keeps to it until it has statistics.
CREATE INDEX object_by_type              ON object (deleted_revision, object_type, object_id);

CREATE TABLE idempotency (
    actor            TEXT COLLATE "C" NOT NULL,
    key              TEXT COLLATE "C" NOT NULL,
    fingerprint      TEXT COLLATE "C" NOT NULL,
    revision         BIGINT  NOT NULL,
    answer           TEXT COLLATE "C" NOT NULL,
    written_at       BIGINT  NOT NULL,
    PRIMARY KEY (actor, key)
);
CREATE INDEX idempotency_by_time ON idempotency (written_at);

CREATE TABLE api_key (
    digest           TEXT COLLATE "C" PRIMARY KEY,
    created_at       BIGINT  NOT NULL
);
