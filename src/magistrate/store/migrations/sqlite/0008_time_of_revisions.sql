-- When a revision was reached: the latest time that it or one before it is stamped with. Clocks of writers differ, so
-- written_at may go back from one revision to the next; this never does, and an index can find the revision of a time.
ALTER TABLE revision ADD COLUMN reached_at INTEGER NOT NULL DEFAULT 0;
UPDATE revision SET reached_at = reached.at FROM (
    SELECT revision AS number, max(written_at) OVER (ORDER BY revision) AS at FROM revision
) reached WHERE reached.number = revision.revision;
CREATE INDEX revision_by_reached ON revision (reached_at, revision);
