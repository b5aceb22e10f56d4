BEGIN TRANSACTION;
CREATE TABLE api_key (
    digest           TEXT    PRIMARY KEY,
    created_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE change (
    revision         INTEGER NOT NULL,
    position         INTEGER NOT NULL,
    action           TEXT    NOT NULL,
    kind             TEXT    NOT NULL,
    key              TEXT    NOT NULL,
    before           TEXT,
    after            TEXT,
    PRIMARY KEY (revision, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "change" VALUES(1,0,'created','object-type','["feature"]',NULL,'{"relations":{"member":{"inheritIf":"anyOf","rules":[{"inheritIf":"member","ofType":"feature","withRelation":"member"},{"inheritIf":"member","ofType":"pricing-tier","withRelation":"member"},{"inheritIf":"member","ofType":"tenant","withRelation":"member"}]}}}');
INSERT INTO "change" VALUES(1,1,'created','object-type','["permission"]',NULL,'{"relations":{"member":{"inheritIf":"anyOf","rules":[{"inheritIf":"member","ofType":"permission","withRelation":"member"},{"inheritIf":"member","ofType":"role","withRelation":"member"}]}}}');
INSERT INTO "change" VALUES(1,2,'created','object-type','["pricing-tier"]',NULL,'{"relations":{"member":{"inheritIf":"anyOf","rules":[{"inheritIf":"member","ofType":"pricing-tier","withRelation":"member"},{"inheritIf":"member","ofType":"tenant","withRelation":"member"}]}}}');
INSERT INTO "change" VALUES(1,3,'created','object-type','["role"]',NULL,'{"relations":{"member":{"inheritIf":"member","ofType":"role","withRelation":"member"}}}');
INSERT INTO "change" VALUES(1,4,'created','object-type','["tenant"]',NULL,'{"relations":{"admin":{},"manager":{"inheritIf":"admin"},"member":{"inheritIf":"manager"}}}');
INSERT INTO "change" VALUES(1,5,'created','object-type','["user"]',NULL,'{"relations":{"parent":{"inheritIf":"parent","ofType":"user","withRelation":"parent"}}}');
INSERT INTO "change" VALUES(2,0,'created','object-type','["document"]',NULL,'{"relations":{"owner":{},"editor":{"inheritIf":"owner"},"viewer":{"inheritIf":"anyOf","rules":[{"inheritIf":"editor"},{"inheritIf":"member","ofType":"group","withRelation":"shared"}]},"shared":{}}}');
INSERT INTO "change" VALUES(3,0,'created','object-type','["group"]',NULL,'{"relations":{"member":{}}}');
INSERT INTO "change" VALUES(4,0,'created','object','["document","plan"]',NULL,'{"title":"plan"}');
INSERT INTO "change" VALUES(5,0,'created','object','["document",".."]',NULL,'{"title":".."}');
INSERT INTO "change" VALUES(6,0,'created','object','["document","a.b@c|d:e"]',NULL,'{"title":"a.b@c|d:e"}');
INSERT INTO "change" VALUES(7,0,'created','warrant','["document","plan","owner","user","ann","",""]',NULL,NULL);
INSERT INTO "change" VALUES(7,1,'created','object','["user","ann"]',NULL,NULL);
INSERT INTO "change" VALUES(8,0,'created','warrant','["document","..","viewer","user","ann","",""]',NULL,NULL);
INSERT INTO "change" VALUES(9,0,'created','warrant','["document","plan","shared","group","eng","",""]',NULL,NULL);
INSERT INTO "change" VALUES(9,1,'created','object','["group","eng"]',NULL,NULL);
INSERT INTO "change" VALUES(10,0,'created','warrant','["group","eng","member","user","bob","",""]',NULL,NULL);
INSERT INTO "change" VALUES(10,1,'created','object','["user","bob"]',NULL,NULL);
INSERT INTO "change" VALUES(11,0,'created','warrant','["document","plan","viewer","user","eve","","7f4d056b1b168f9f3845526d06bd9783446d1507dc71f243c9616b51eef24ce5"]',NULL,'region == "north"');
INSERT INTO "change" VALUES(11,1,'created','object','["user","eve"]',NULL,NULL);
INSERT INTO "change" VALUES(12,0,'deleted','object','["document","a.b@c|d:e"]','{"title":"a.b@c|d:e"}',NULL);
CREATE TABLE decision (
    number           INTEGER PRIMARY KEY,
    decided_at       INTEGER NOT NULL,
    action           TEXT    NOT NULL,
    key              TEXT    NOT NULL,
    context          TEXT
) STRICT;
CREATE TABLE head (
    only_row         INTEGER PRIMARY KEY CHECK (only_row = 1),
    store_id         TEXT    NOT NULL,
    cursor_key       TEXT    NOT NULL,
    revision         INTEGER NOT NULL,
    horizon          INTEGER NOT NULL
, model_revision INTEGER NOT NULL DEFAULT 0, changes_forgotten INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "head" VALUES(1,'e4787e1f0927ed7e','e0734998f46077ea7effdfd688d5745b',12,1,10,0);
CREATE TABLE idempotency (
    actor            TEXT    NOT NULL,
    key              TEXT    NOT NULL,
    fingerprint      TEXT    NOT NULL,
    revision         INTEGER NOT NULL,
    answer           TEXT    NOT NULL,
    written_at       INTEGER NOT NULL,
    PRIMARY KEY (actor, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE import (
    source           TEXT    PRIMARY KEY,
    lines            INTEGER NOT NULL,
    size_bytes       INTEGER NOT NULL,
    digest           TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE migration (number BIGINT PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO "migration" VALUES(1,'foundation');
INSERT INTO "migration" VALUES(2,'warrants');
INSERT INTO "migration" VALUES(3,'warrant_forms');
INSERT INTO "migration" VALUES(4,'imports');
INSERT INTO "migration" VALUES(5,'session_keys');
INSERT INTO "migration" VALUES(6,'events');
CREATE TABLE object (
    object_type      TEXT    NOT NULL,
    object_id        TEXT    NOT NULL,
    meta             TEXT,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    deleted_revision INTEGER NOT NULL,
    PRIMARY KEY (object_type, object_id, deleted_revision)
) STRICT, WITHOUT ROWID;
INSERT INTO "object" VALUES('document','..','{"title":".."}',1795364307155074,5,9223372036854775807);
INSERT INTO "object" VALUES('document','a.b@c|d:e','{"title":"a.b@c|d:e"}',1795364307162170,6,12);
INSERT INTO "object" VALUES('document','plan','{"title":"plan"}',1795364307150283,4,9223372036854775807);
INSERT INTO "object" VALUES('group','eng',NULL,1795364307171081,9,9223372036854775807);
INSERT INTO "object" VALUES('user','ann',NULL,1795364307163605,7,9223372036854775807);
INSERT INTO "object" VALUES('user','bob',NULL,1795364307179712,10,9223372036854775807);
INSERT INTO "object" VALUES('user','eve',NULL,1795364307183413,11,9223372036854775807);
CREATE TABLE object_type (
    type             TEXT    NOT NULL,
    definition       TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    deleted_revision INTEGER NOT NULL,
    PRIMARY KEY (type, deleted_revision)
) STRICT, WITHOUT ROWID;
INSERT INTO "object_type" VALUES('document','{"relations":{"owner":{},"editor":{"inheritIf":"owner"},"viewer":{"inheritIf":"anyOf","rules":[{"inheritIf":"editor"},{"inheritIf":"member","ofType":"group","withRelation":"shared"}]},"shared":{}}}',1795364307088482,2,9223372036854775807);
INSERT INTO "object_type" VALUES('feature','{"relations":{"member":{"inheritIf":"anyOf","rules":[{"inheritIf":"member","ofType":"feature","withRelation":"member"},{"inheritIf":"member","ofType":"pricing-tier","withRelation":"member"},{"inheritIf":"member","ofType":"tenant","withRelation":"member"}]}}}',1795364305778794,1,9223372036854775807);
INSERT INTO "object_type" VALUES('group','{"relations":{"member":{}}}',1795364307142697,3,9223372036854775807);
INSERT INTO "object_type" VALUES('permission','{"relations":{"member":{"inheritIf":"anyOf","rules":[{"inheritIf":"member","ofType":"permission","withRelation":"member"},{"inheritIf":"member","ofType":"role","withRelation":"member"}]}}}',1795364305778794,1,9223372036854775807);
INSERT INTO "object_type" VALUES('pricing-tier','{"relations":{"member":{"inheritIf":"anyOf","rules":[{"inheritIf":"member","ofType":"pricing-tier","withRelation":"member"},{"inheritIf":"member","ofType":"tenant","withRelation":"member"}]}}}',1795364305778794,1,9223372036854775807);
INSERT INTO "object_type" VALUES('role','{"relations":{"member":{"inheritIf":"member","ofType":"role","withRelation":"member"}}}',1795364305778794,1,9223372036854775807);
INSERT INTO "object_type" VALUES('tenant','{"relations":{"admin":{},"manager":{"inheritIf":"admin"},"member":{"inheritIf":"manager"}}}',1795364305778794,1,9223372036854775807);
INSERT INTO "object_type" VALUES('user','{"relations":{"parent":{"inheritIf":"parent","ofType":"user","withRelation":"parent"}}}',1795364305778794,1,9223372036854775807);
CREATE TABLE policy (
    digest           TEXT    PRIMARY KEY,
    text             TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "policy" VALUES('7f4d056b1b168f9f3845526d06bd9783446d1507dc71f243c9616b51eef24ce5','region == "north"');
CREATE TABLE revision (
    revision         INTEGER PRIMARY KEY,
    written_at       INTEGER NOT NULL,
    actor            TEXT    NOT NULL
) STRICT;
INSERT INTO "revision" VALUES(1,1795364305778794,'magistrate');
INSERT INTO "revision" VALUES(2,1795364307088482,'key-e9db17e1');
INSERT INTO "revision" VALUES(3,1795364307142697,'key-e9db17e1');
INSERT INTO "revision" VALUES(4,1795364307150283,'key-e9db17e1');
INSERT INTO "revision" VALUES(5,1795364307155074,'key-e9db17e1');
INSERT INTO "revision" VALUES(6,1795364307162170,'key-e9db17e1');
INSERT INTO "revision" VALUES(7,1795364307163605,'key-e9db17e1');
INSERT INTO "revision" VALUES(8,1795364307167132,'key-e9db17e1');
INSERT INTO "revision" VALUES(9,1795364307171081,'key-e9db17e1');
INSERT INTO "revision" VALUES(10,1795364307179712,'key-e9db17e1');
INSERT INTO "revision" VALUES(11,1795364307183413,'key-e9db17e1');
INSERT INTO "revision" VALUES(12,1795364307184971,'key-e9db17e1');
CREATE TABLE session_key (
    id               TEXT    PRIMARY KEY,
    secret           TEXT    NOT NULL,
    created_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE warrant (
    number           INTEGER PRIMARY KEY,
    object_type      TEXT    NOT NULL,
    object_id        TEXT    NOT NULL,
    relation         TEXT    NOT NULL,
    subject_type     TEXT    NOT NULL,
    subject_id       TEXT    NOT NULL,
    subject_relation TEXT    NOT NULL,
    policy           TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    deleted_revision INTEGER NOT NULL
) STRICT;
INSERT INTO "warrant" VALUES(7340032,'document','plan','owner','user','ann','','',1795364307163605,7,9223372036854775807);
INSERT INTO "warrant" VALUES(8388608,'document','..','viewer','user','ann','','',1795364307167132,8,9223372036854775807);
INSERT INTO "warrant" VALUES(9437184,'document','plan','shared','group','eng','','',1795364307171081,9,9223372036854775807);
INSERT INTO "warrant" VALUES(10485760,'group','eng','member','user','bob','','',1795364307179712,10,9223372036854775807);
INSERT INTO "warrant" VALUES(11534336,'document','plan','viewer','user','eve','','7f4d056b1b168f9f3845526d06bd9783446d1507dc71f243c9616b51eef24ce5',1795364307183413,11,9223372036854775807);
CREATE TABLE warrant_form (
    object_type      TEXT NOT NULL,
    object_id        TEXT NOT NULL,
    relation         TEXT NOT NULL,
    subject_type     TEXT NOT NULL,
    subject_id       TEXT NOT NULL,
    subject_relation TEXT NOT NULL,
    PRIMARY KEY (object_type, object_id, relation, subject_type, subject_id, subject_relation)
) STRICT, WITHOUT ROWID;
INSERT INTO "warrant_form" VALUES('document','','owner','user','','');
INSERT INTO "warrant_form" VALUES('document','','shared','group','','');
INSERT INTO "warrant_form" VALUES('document','','viewer','user','','');
INSERT INTO "warrant_form" VALUES('group','','member','user','','');
CREATE INDEX revision_by_time ON revision (written_at);
CREATE INDEX object_type_by_name     ON object_type (deleted_revision, type);
CREATE INDEX object_type_by_creation ON object_type (deleted_revision, created_at, type);
CREATE INDEX object_by_id                ON object (deleted_revision, object_id, object_type);
CREATE INDEX object_by_creation          ON object (deleted_revision, created_at, object_id, object_type);
CREATE INDEX object_by_type_and_creation ON object (deleted_revision, object_type, created_at, object_id);
CREATE INDEX object_by_type              ON object (deleted_revision, object_type, object_id);
CREATE INDEX idempotency_by_time ON idempotency (written_at);
CREATE INDEX warrant_by_creation ON warrant (deleted_revision, created_at, number);
CREATE INDEX warrant_by_type     ON warrant
    ((object_type || '#' || relation), subject_relation, subject_type, deleted_revision);
CREATE INDEX warrant_by_subject  ON warrant
    (subject_id, subject_type, subject_relation, object_type, relation, object_id, deleted_revision);
CREATE UNIQUE INDEX warrant_by_object ON warrant
    (object_id, object_type, relation, subject_relation, subject_type, subject_id, policy, deleted_revision);
CREATE UNIQUE INDEX decision_by_time ON decision (decided_at, number);
COMMIT;
