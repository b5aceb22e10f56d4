-- What it takes to make a decision again. revision: the one at which it was made; NULL in rows of earlier versions.
-- contextual_warrants: those of the request, as a JSON array; NULL if it had none. is_partial: 1 if the context or the
-- contextual warrants were too long to be kept.
ALTER TABLE decision ADD COLUMN revision BIGINT;
ALTER TABLE decision ADD COLUMN contextual_warrants TEXT COLLATE "C";
ALTER TABLE decision ADD COLUMN is_partial BIGINT NOT NULL DEFAULT 0;
