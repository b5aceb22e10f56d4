-- What tells a write from another that got the same number after the store was restored: 32 bits, drawn at random when
-- the revision was written. NULL in revisions of earlier versions, but for the newest.
ALTER TABLE revision ADD COLUMN bits BIGINT;
-- Those of the newest revision. They count while bits_of is that revision: an earlier version moves neither.
ALTER TABLE head ADD COLUMN bits BIGINT;
ALTER TABLE head ADD COLUMN bits_of BIGINT;
UPDATE revision SET bits = floor(random() * 4294967296)::bigint WHERE revision = (SELECT revision FROM head);
UPDATE head SET (bits, bits_of) = (SELECT r.bits, r.revision FROM revision r WHERE r.revision = head.revision);

-- The newest revision that a caller has written, up to this one: others end what has expired. NULL means this one.
ALTER TABLE revision ADD COLUMN called_revision BIGINT;

-- The bits of the revision at which a decision was made.
ALTER TABLE decision ADD COLUMN bits BIGINT;
