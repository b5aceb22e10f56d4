-- A warrant counts from starts_at on and until expires_at, in microseconds since 1970; NULL means no limit. The revision
-- that ends a warrant because it has expired is its expired_revision as well.
ALTER TABLE warrant ADD COLUMN starts_at INTEGER;
ALTER TABLE warrant ADD COLUMN expires_at INTEGER;
ALTER TABLE warrant ADD COLUMN expired_revision INTEGER;
-- Partial, so that warrants without a limit cost nothing.
CREATE INDEX warrant_by_expiry  ON warrant (deleted_revision, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX warrant_by_expired ON warrant (created_at, number) WHERE expired_revision IS NOT NULL;

-- The limits of the warrant that a change is about.
ALTER TABLE change ADD COLUMN starts_at INTEGER;
ALTER TABLE change ADD COLUMN expires_at INTEGER;
