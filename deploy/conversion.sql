-- Converts a store that was made before the first release, at schema 16, to the schema of the first release. The same
-- statements serve SQLite and PostgreSQL:
--     sqlite3 -bail magistrate.db < conversion.sql
--     psql -v ON_ERROR_STOP=1 -f conversion.sql postgresql://...
-- Stop all services and make a backup first. If anything fails, nothing is changed.
BEGIN;

-- Fails, because there is a row with this number, unless the store is at schema 16.
INSERT INTO migration (number, name) SELECT 1, 'only schema 16 can be converted' FROM head
WHERE (SELECT max(number) FROM migration) <> 16;

UPDATE revision SET called_revision = revision WHERE called_revision IS NULL;
UPDATE revision SET bits = written_at % 4294967296 WHERE bits IS NULL;
UPDATE head SET bits = (SELECT bits FROM revision WHERE revision.revision = head.revision);
ALTER TABLE head DROP COLUMN bits_of;
ALTER TABLE head RENAME COLUMN changes_forgotten TO changes_deleted;

-- The deletion of an object names it in the warrants that ended with it.
UPDATE change SET after = (SELECT o.key FROM change o WHERE o.revision = change.revision AND o.position = 0)
WHERE kind = 'warrant' AND action = 'deleted' AND after IS NULL AND EXISTS (
    SELECT 1 FROM change o
    WHERE o.revision = change.revision AND o.position = 0 AND o.kind = 'object' AND o.action = 'deleted'
);

UPDATE decision SET revision = stored_revision WHERE revision IS NULL;
ALTER TABLE idempotency RENAME COLUMN actor TO owner;
ALTER TABLE import RENAME COLUMN digest TO mark;
ALTER TABLE warrant_form RENAME TO warrant_pattern;

DELETE FROM migration;
INSERT INTO migration (number, name) VALUES (1, 'baseline');
COMMIT;
