-- Which forms of warrants were ever written: without ids, but for the `*` in place of one (otherwise the empty text).
CREATE TABLE warrant_form (
    object_type      TEXT NOT NULL,
    object_id        TEXT NOT NULL,
    relation         TEXT NOT NULL,
    subject_type     TEXT NOT NULL,
    subject_id       TEXT NOT NULL,
    subject_relation TEXT NOT NULL,
    PRIMARY KEY (object_type, object_id, relation, subject_type, subject_id, subject_relation)
) STRICT, WITHOUT ROWID;
INSERT INTO warrant_form
SELECT DISTINCT object_type, CASE object_id WHEN '*' THEN '*' ELSE '' END, relation,
    subject_type, CASE subject_id WHEN '*' THEN '*' ELSE '' END, subject_relation
FROM warrant;
DROP TABLE wildcard;
