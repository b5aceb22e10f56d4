-- A table WITHOUT ROWID stores the columns of its primary key first. Where they were not declared first as well, the
-- integrity check of SQLite 3.40 (Debian 12) looks at the wrong columns and reports healthy rows as NULL. So both tables
-- are declared anew, with what they hold.
ALTER TABLE object_type RENAME TO object_type_before;
CREATE TABLE object_type (
    type             TEXT    NOT NULL,
    deleted_revision INTEGER NOT NULL,
    definition       TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    PRIMARY KEY (type, deleted_revision)
) STRICT, WITHOUT ROWID;
INSERT INTO object_type (type, deleted_revision, definition, created_at, created_revision)
SELECT type, deleted_revision, definition, created_at, created_revision FROM object_type_before
ORDER BY type, deleted_revision;
DROP TABLE object_type_before;
CREATE INDEX object_type_by_name     ON object_type (deleted_revision, type);
CREATE INDEX object_type_by_creation ON object_type (deleted_revision, created_at, type);

ALTER TABLE object RENAME TO object_before;
CREATE TABLE object (
    object_type      TEXT    NOT NULL,
    object_id        TEXT    NOT NULL,
    deleted_revision INTEGER NOT NULL,
    meta             TEXT,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    PRIMARY KEY (object_type, object_id, deleted_revision)
) STRICT, WITHOUT ROWID;
INSERT INTO object (object_type, object_id, deleted_revision, meta, created_at, created_revision)
SELECT object_type, object_id, deleted_revision, meta, created_at, created_revision FROM object_before
ORDER BY object_type, object_id, deleted_revision;
DROP TABLE object_before;
CREATE INDEX object_by_id                ON object (deleted_revision, object_id, object_type);
CREATE INDEX object_by_creation          ON object (deleted_revision, created_at, object_id, object_type);
CREATE INDEX object_by_type_and_creation ON object (deleted_revision, object_type, created_at, object_id);
CREATE INDEX object_by_type              ON object (deleted_revision, object_type, object_id);
