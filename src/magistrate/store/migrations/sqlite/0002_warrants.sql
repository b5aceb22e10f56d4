-- The revision that last wrote an object type or a wildcard: whoever holds the model of that revision has the newest.
ALTER TABLE head ADD COLUMN model_revision INTEGER NOT NULL DEFAULT 0;
UPDATE head SET model_revision = revision;

-- Texts of policies, each once: an index over warrants can then tell them apart without holding them.
CREATE TABLE policy (
    digest           TEXT    PRIMARY KEY,
    text             TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- On which relations warrants have ever said `*`, in place of the object or of the subject: elsewhere nobody need look.
CREATE TABLE wildcard (
    object_type      TEXT NOT NULL,
    relation         TEXT NOT NULL,
    place            TEXT NOT NULL,
    PRIMARY KEY (object_type, relation, place)
) STRICT, WITHOUT ROWID;

-- An absent subject_relation or policy is the empty text; policy is a digest. number: see store/warrants.py.
CREATE TABLE warrant (
    number           INTEGER PRIMARY KEY,
    object_type      TEXT    NOT NULL,
    object_id        TEXT    NOT NULL,
    relation         TEXT    NOT NULL,
    subject_type     TEXT    NOT NULL,
    subject_id       TEXT    NOT NULL,
    subject_relation TEXT    NOT NULL,
    policy           TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    deleted_revision INTEGER NOT NULL
) STRICT;
CREATE INDEX warrant_by_creation ON warrant (deleted_revision, created_at, number);
-- Of an expression, so that only reads of every object of a type can use it: to a planner without statistics, columns
-- would look as selective as the id of an object.
CREATE INDEX warrant_by_type     ON warrant
    ((object_type || '#' || relation), subject_relation, subject_type, deleted_revision);
CREATE INDEX warrant_by_subject  ON warrant
    (subject_id, subject_type, subject_relation, object_type, relation, object_id, deleted_revision);
CREATE UNIQUE INDEX warrant_by_object ON warrant
    (object_id, object_type, relation, subject_relation, subject_type, subject_id, policy, deleted_revision);
