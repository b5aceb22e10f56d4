-- Up to which revision changes may have been forgotten: what came or went before, nobody can say.
ALTER TABLE head ADD COLUMN changes_forgotten INTEGER NOT NULL DEFAULT 0;

-- revision_by_time stays as it is: here every index ends with the row's id, which is the revision.

-- Which checks were decided, how, and when: the newest of them, if they are kept at all. key: as in change, the warrant
-- that was asked for, without policy. number: in the order they were written.
CREATE TABLE decision (
    number           INTEGER PRIMARY KEY,
    decided_at       INTEGER NOT NULL,
    action           TEXT    NOT NULL,
    key              TEXT    NOT NULL,
    context          TEXT
) STRICT;
CREATE UNIQUE INDEX decision_by_time ON decision (decided_at, number);
