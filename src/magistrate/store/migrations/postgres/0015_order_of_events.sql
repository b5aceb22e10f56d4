-- Decisions have a place among the revisions: stored_revision is the newest one when they were stored, which never goes back
-- from one number to the next. reached_at: the latest time that the decision or one before it was made for.
ALTER TABLE decision ADD COLUMN stored_revision BIGINT NOT NULL DEFAULT 0;
ALTER TABLE decision ADD COLUMN reached_at BIGINT NOT NULL DEFAULT 0;
UPDATE decision SET reached_at = reached.at FROM (
    SELECT number AS decided, max(decided_at) OVER (ORDER BY number) AS at FROM decision
) reached WHERE reached.decided = decision.number;
UPDATE decision SET stored_revision = coalesce((
    SELECT revision FROM revision WHERE revision.reached_at <= decision.reached_at
    ORDER BY revision.reached_at DESC, revision DESC LIMIT 1
), 0);
DROP INDEX revision_by_time;
DROP INDEX decision_by_time;
CREATE INDEX decision_by_time     ON decision (reached_at, number);
CREATE INDEX decision_by_revision ON decision (stored_revision, number);

-- The last decision that is not kept any more, and its place. Numbers go on behind it, so none comes twice.
ALTER TABLE head ADD COLUMN decisions_deleted BIGINT NOT NULL DEFAULT 0;
ALTER TABLE head ADD COLUMN decisions_deleted_at BIGINT NOT NULL DEFAULT 0;
UPDATE head SET decisions_deleted = (SELECT coalesce(min(number), 1) - 1 FROM decision);
