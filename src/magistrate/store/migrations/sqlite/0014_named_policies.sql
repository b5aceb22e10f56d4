-- Named policies, versioned like object types. definition is JSON without the name.
CREATE TABLE named_policy (
    name             TEXT    NOT NULL,
    deleted_revision INTEGER NOT NULL,
    definition       TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    PRIMARY KEY (name, deleted_revision)
) STRICT, WITHOUT ROWID;
CREATE INDEX named_policy_by_name ON named_policy (deleted_revision, name);
