-- Up to which revision changes may have been forgotten: what came or went before, nobody can say.
ALTER TABLE head ADD COLUMN changes_forgotten BIGINT NOT NULL DEFAULT 0;

-- Events are read in the order of time, then revision.
DROP INDEX revision_by_time;
CREATE UNIQUE INDEX revision_by_time ON revision (written_at, revision);

-- Which checks were decided, how, and when: the newest of them, if they are kept at all. key: as in change, the warrant
-- that was asked for, without policy. number: in the order they were written.
CREATE TABLE decision (
    number           BIGINT  PRIMARY KEY,
    decided_at       BIGINT  NOT NULL,
    action           TEXT COLLATE "C" NOT NULL,
    key              TEXT COLLATE "C" NOT NULL,
    context          TEXT COLLATE "C"
);
CREATE UNIQUE INDEX decision_by_time ON decision (decided_at, number);
