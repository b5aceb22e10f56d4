-- Whether a policy may read the clock, so that its warrants may come to count, or cease to, without a write. A process
-- of an earlier version does not say so: then it may.
ALTER TABLE policy ADD COLUMN reads_clock BIGINT NOT NULL DEFAULT 1;
UPDATE policy SET reads_clock = 0 WHERE text NOT LIKE '%now%' AND text NOT LIKE '%expiresIn%';
CREATE INDEX policy_by_clock ON policy (reads_clock, digest);

-- Partial, so that warrants without a policy or a limit cost nothing.
CREATE INDEX warrant_by_policy ON warrant (policy, deleted_revision) WHERE policy <> '';
CREATE INDEX warrant_by_start  ON warrant (deleted_revision, starts_at) WHERE starts_at IS NOT NULL;
