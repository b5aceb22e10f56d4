-- Named policies, versioned like object types. definition is JSON without the name.
CREATE TABLE named_policy (
    name             TEXT COLLATE "C" NOT NULL,
    deleted_revision BIGINT  NOT NULL,
    definition       TEXT COLLATE "C" NOT NULL,
    created_at       BIGINT  NOT NULL,
    created_revision BIGINT  NOT NULL,
    PRIMARY KEY (name, deleted_revision)
);
CREATE INDEX named_policy_by_name ON named_policy (deleted_revision, name);
