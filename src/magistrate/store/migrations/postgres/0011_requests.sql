-- Who asked for what, and in which request: the id in the header Warrant-Request-Id. NULL where it is not known.
ALTER TABLE revision ADD COLUMN request_id TEXT COLLATE "C";
ALTER TABLE decision ADD COLUMN actor TEXT COLLATE "C";
ALTER TABLE decision ADD COLUMN request_id TEXT COLLATE "C";
