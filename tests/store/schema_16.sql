BEGIN TRANSACTION;
CREATE TABLE api_key (
    digest           TEXT    PRIMARY KEY,
    created_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE caller_key (
    id               TEXT    PRIMARY KEY,
    name             TEXT    NOT NULL UNIQUE,
    prefix           TEXT    NOT NULL,
    digest           TEXT    NOT NULL,
    scopes           TEXT    NOT NULL,
    object_types     TEXT,
    created_at       INTEGER NOT NULL,
    created_by       TEXT    NOT NULL,
    last_used_at     INTEGER,
    expires_at       INTEGER,
    previous_digest       TEXT,
    previous_until        INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE change (
    revision         INTEGER NOT NULL,
    position         INTEGER NOT NULL,
    action           TEXT    NOT NULL,
    kind             TEXT    NOT NULL,
    key              TEXT    NOT NULL,
    before           TEXT,
    after            TEXT, starts_at INTEGER, expires_at INTEGER,
    PRIMARY KEY (revision, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "change" VALUES(1,0,'created','object-type','["feature"]',NULL,'{"relations":{"member":{"inheritIf":"anyOf","rules":[{"inheritIf":"member","ofType":"feature","withRelation":"member"},{"inheritIf":"member","ofType":"pricing-tier","withRelation":"member"},{"inheritIf":"member","ofType":"tenant","withRelation":"member"}]}}}',NULL,NULL);
INSERT INTO "change" VALUES(1,1,'created','object-type','["permission"]',NULL,'{"relations":{"member":{"inheritIf":"anyOf","rules":[{"inheritIf":"member","ofType":"permission","withRelation":"member"},{"inheritIf":"member","ofType":"role","withRelation":"member"}]}}}',NULL,NULL);
INSERT INTO "change" VALUES(1,2,'created','object-type','["pricing-tier"]',NULL,'{"relations":{"member":{"inheritIf":"anyOf","rules":[{"inheritIf":"member","ofType":"pricing-tier","withRelation":"member"},{"inheritIf":"member","ofType":"tenant","withRelation":"member"}]}}}',NULL,NULL);
INSERT INTO "change" VALUES(1,3,'created','object-type','["role"]',NULL,'{"relations":{"member":{"inheritIf":"member","ofType":"role","withRelation":"member"}}}',NULL,NULL);
INSERT INTO "change" VALUES(1,4,'created','object-type','["tenant"]',NULL,'{"relations":{"admin":{},"manager":{"inheritIf":"admin"},"member":{"inheritIf":"manager"}}}',NULL,NULL);
INSERT INTO "change" VALUES(1,5,'created','object-type','["user"]',NULL,'{"relations":{"parent":{"inheritIf":"parent","ofType":"user","withRelation":"parent"}}}',NULL,NULL);
INSERT INTO "change" VALUES(2,0,'created','object-type','["document"]',NULL,'{"relations":{"owner":{},"editor":{"inheritIf":"owner"},"viewer":{"inheritIf":"anyOf","rules":[{"inheritIf":"editor"},{"inheritIf":"member","ofType":"group","withRelation":"shared"}]},"shared":{}}}',NULL,NULL);
INSERT INTO "change" VALUES(3,0,'created','object-type','["group"]',NULL,'{"relations":{"member":{}}}',NULL,NULL);
INSERT INTO "change" VALUES(4,0,'created','object','["document","plan"]',NULL,'{"title":"plan"}',NULL,NULL);
INSERT INTO "change" VALUES(5,0,'created','object','["document",".."]',NULL,'{"title":".."}',NULL,NULL);
INSERT INTO "change" VALUES(6,0,'created','object','["document","a.b@c|d:e"]',NULL,'{"title":"a.b@c|d:e"}',NULL,NULL);
INSERT INTO "change" VALUES(7,0,'created','warrant','["document","plan","owner","user","ann","",""]',NULL,NULL,NULL,NULL);
INSERT INTO "change" VALUES(7,1,'created','object','["user","ann"]',NULL,NULL,NULL,NULL);
INSERT INTO "change" VALUES(8,0,'created','warrant','["document","..","viewer","user","ann","",""]',NULL,NULL,NULL,NULL);
INSERT INTO "change" VALUES(9,0,'created','warrant','["document","plan","shared","group","eng","",""]',NULL,NULL,NULL,NULL);
INSERT INTO "change" VALUES(9,1,'created','object','["group","eng"]',NULL,NULL,NULL,NULL);
INSERT INTO "change" VALUES(10,0,'created','warrant','["group","eng","member","user","bob","",""]',NULL,NULL,NULL,NULL);
INSERT INTO "change" VALUES(10,1,'created','object','["user","bob"]',NULL,NULL,NULL,NULL);
INSERT INTO "change" VALUES(11,0,'created','warrant','["document","plan","viewer","user","eve","","7f4d056b1b168f9f3845526d06bd9783446d1507dc71f243c9616b51eef24ce5"]',NULL,'region == "north"',NULL,NULL);
INSERT INTO "change" VALUES(11,1,'created','object','["user","eve"]',NULL,NULL,NULL,NULL);
INSERT INTO "change" VALUES(12,0,'deleted','object','["document","a.b@c|d:e"]','{"title":"a.b@c|d:e"}',NULL,NULL,NULL);
INSERT INTO "change" VALUES(13,0,'created','warrant','["document","plan","viewer","user","kim","",""]',NULL,NULL,NULL,NULL);
INSERT INTO "change" VALUES(13,1,'created','object','["user","kim"]',NULL,NULL,NULL,NULL);
INSERT INTO "change" VALUES(14,0,'created','object','["document","old"]',NULL,NULL,NULL,NULL);
INSERT INTO "change" VALUES(15,0,'created','warrant','["document","old","viewer","user","kim","",""]',NULL,NULL,NULL,NULL);
INSERT INTO "change" VALUES(16,0,'deleted','object','["document","old"]',NULL,NULL,NULL,NULL);
INSERT INTO "change" VALUES(16,1,'deleted','warrant','["document","old","viewer","user","kim","",""]',NULL,'["document","old"]',NULL,NULL);
CREATE TABLE decision (
    number           INTEGER PRIMARY KEY,
    decided_at       INTEGER NOT NULL,
    action           TEXT    NOT NULL,
    key              TEXT    NOT NULL,
    context          TEXT
, actor TEXT, request_id TEXT, revision INTEGER, contextual_warrants TEXT, is_partial INTEGER NOT NULL DEFAULT 0, stored_revision INTEGER NOT NULL DEFAULT 0, reached_at INTEGER NOT NULL DEFAULT 0, bits INTEGER) STRICT;
CREATE TABLE head (
    only_row         INTEGER PRIMARY KEY CHECK (only_row = 1),
    store_id         TEXT    NOT NULL,
    cursor_key       TEXT    NOT NULL,
    revision         INTEGER NOT NULL,
    horizon          INTEGER NOT NULL
, model_revision INTEGER NOT NULL DEFAULT 0, changes_forgotten INTEGER NOT NULL DEFAULT 0, keys_version INTEGER NOT NULL DEFAULT 0, decisions_deleted INTEGER NOT NULL DEFAULT 0, decisions_deleted_at INTEGER NOT NULL DEFAULT 0, bits INTEGER, bits_of INTEGER) STRICT;
INSERT INTO "head" VALUES(1,'e4787e1f0927ed7e','e0734998f46077ea7effdfd688d5745b',16,1,10,0,0,0,0,3691411278,16);
CREATE TABLE idempotency (
    actor            TEXT    NOT NULL,
    key              TEXT    NOT NULL,
    fingerprint      TEXT    NOT NULL,
    revision         INTEGER NOT NULL,
    answer           TEXT    NOT NULL,
    written_at       INTEGER NOT NULL,
    PRIMARY KEY (actor, key)
) STRICT, WITHOUT ROWID;
INSERT INTO "idempotency" VALUES('50bcc8842c93a7b6381f375069ed9dea','k-1','9cfae230e028d470559f2236ab023b0c5a6aa97f510a72f0ff2fa1915eee5514',14,'[{"type":"document","id":"old","meta":null,"created_at":1795711438950610}]',1795711438950610);
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
INSERT INTO "migration" VALUES(7,'key_columns_first');
INSERT INTO "migration" VALUES(8,'time_of_revisions');
INSERT INTO "migration" VALUES(9,'time_limits');
INSERT INTO "migration" VALUES(10,'keys');
INSERT INTO "migration" VALUES(11,'requests');
INSERT INTO "migration" VALUES(12,'times_of_policies');
INSERT INTO "migration" VALUES(13,'replay_of_decisions');
INSERT INTO "migration" VALUES(14,'named_policies');
INSERT INTO "migration" VALUES(15,'order_of_events');
INSERT INTO "migration" VALUES(16,'bits_of_revisions');
CREATE TABLE named_policy (
    name             TEXT    NOT NULL,
    deleted_revision INTEGER NOT NULL,
    definition       TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    PRIMARY KEY (name, deleted_revision)
) STRICT, WITHOUT ROWID;
CREATE TABLE object (
    object_type      TEXT    NOT NULL,
    object_id        TEXT    NOT NULL,
    deleted_revision INTEGER NOT NULL,
    meta             TEXT,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    PRIMARY KEY (object_type, object_id, deleted_revision)
) STRICT, WITHOUT ROWID;
INSERT INTO "object" VALUES('document','..',9223372036854775807,'{"title":".."}',1795364307155074,5);
INSERT INTO "object" VALUES('document','a.b@c|d:e',12,'{"title":"a.b@c|d:e"}',1795364307162170,6);
INSERT INTO "object" VALUES('document','old',16,NULL,1795711438950610,14);
INSERT INTO "object" VALUES('document','plan',9223372036854775807,'{"title":"plan"}',1795364307150283,4);
INSERT INTO "object" VALUES('group','eng',9223372036854775807,NULL,1795364307171081,9);
INSERT INTO "object" VALUES('user','ann',9223372036854775807,NULL,1795364307163605,7);
INSERT INTO "object" VALUES('user','bob',9223372036854775807,NULL,1795364307179712,10);
INSERT INTO "object" VALUES('user','eve',9223372036854775807,NULL,1795364307183413,11);
INSERT INTO "object" VALUES('user','kim',9223372036854775807,NULL,1795711438914949,13);
CREATE TABLE object_type (
    type             TEXT    NOT NULL,
    deleted_revision INTEGER NOT NULL,
    definition       TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    PRIMARY KEY (type, deleted_revision)
) STRICT, WITHOUT ROWID;
INSERT INTO "object_type" VALUES('document',9223372036854775807,'{"relations":{"owner":{},"editor":{"inheritIf":"owner"},"viewer":{"inheritIf":"anyOf","rules":[{"inheritIf":"editor"},{"inheritIf":"member","ofType":"group","withRelation":"shared"}]},"shared":{}}}',1795364307088482,2);
INSERT INTO "object_type" VALUES('feature',9223372036854775807,'{"relations":{"member":{"inheritIf":"anyOf","rules":[{"inheritIf":"member","ofType":"feature","withRelation":"member"},{"inheritIf":"member","ofType":"pricing-tier","withRelation":"member"},{"inheritIf":"member","ofType":"tenant","withRelation":"member"}]}}}',1795364305778794,1);
INSERT INTO "object_type" VALUES('group',9223372036854775807,'{"relations":{"member":{}}}',1795364307142697,3);
INSERT INTO "object_type" VALUES('permission',9223372036854775807,'{"relations":{"member":{"inheritIf":"anyOf","rules":[{"inheritIf":"member","ofType":"permission","withRelation":"member"},{"inheritIf":"member","ofType":"role","withRelation":"member"}]}}}',1795364305778794,1);
INSERT INTO "object_type" VALUES('pricing-tier',9223372036854775807,'{"relations":{"member":{"inheritIf":"anyOf","rules":[{"inheritIf":"member","ofType":"pricing-tier","withRelation":"member"},{"inheritIf":"member","ofType":"tenant","withRelation":"member"}]}}}',1795364305778794,1);
INSERT INTO "object_type" VALUES('role',9223372036854775807,'{"relations":{"member":{"inheritIf":"member","ofType":"role","withRelation":"member"}}}',1795364305778794,1);
INSERT INTO "object_type" VALUES('tenant',9223372036854775807,'{"relations":{"admin":{},"manager":{"inheritIf":"admin"},"member":{"inheritIf":"manager"}}}',1795364305778794,1);
INSERT INTO "object_type" VALUES('user',9223372036854775807,'{"relations":{"parent":{"inheritIf":"parent","ofType":"user","withRelation":"parent"}}}',1795364305778794,1);
CREATE TABLE policy (
    digest           TEXT    PRIMARY KEY,
    text             TEXT    NOT NULL
, reads_clock INTEGER NOT NULL DEFAULT 1) STRICT, WITHOUT ROWID;
INSERT INTO "policy" VALUES('7f4d056b1b168f9f3845526d06bd9783446d1507dc71f243c9616b51eef24ce5','region == "north"',0);
CREATE TABLE revision (
    revision         INTEGER PRIMARY KEY,
    written_at       INTEGER NOT NULL,
    actor            TEXT    NOT NULL
, reached_at INTEGER NOT NULL DEFAULT 0, request_id TEXT, bits INTEGER, called_revision INTEGER) STRICT;
INSERT INTO "revision" VALUES(1,1795364305778794,'magistrate',1795364305778794,NULL,NULL,NULL);
INSERT INTO "revision" VALUES(2,1795364307088482,'key-e9db17e1',1795364307088482,NULL,NULL,NULL);
INSERT INTO "revision" VALUES(3,1795364307142697,'key-e9db17e1',1795364307142697,NULL,NULL,NULL);
INSERT INTO "revision" VALUES(4,1795364307150283,'key-e9db17e1',1795364307150283,NULL,NULL,NULL);
INSERT INTO "revision" VALUES(5,1795364307155074,'key-e9db17e1',1795364307155074,NULL,NULL,NULL);
INSERT INTO "revision" VALUES(6,1795364307162170,'key-e9db17e1',1795364307162170,NULL,NULL,NULL);
INSERT INTO "revision" VALUES(7,1795364307163605,'key-e9db17e1',1795364307163605,NULL,NULL,NULL);
INSERT INTO "revision" VALUES(8,1795364307167132,'key-e9db17e1',1795364307167132,NULL,NULL,NULL);
INSERT INTO "revision" VALUES(9,1795364307171081,'key-e9db17e1',1795364307171081,NULL,NULL,NULL);
INSERT INTO "revision" VALUES(10,1795364307179712,'key-e9db17e1',1795364307179712,NULL,NULL,NULL);
INSERT INTO "revision" VALUES(11,1795364307183413,'key-e9db17e1',1795364307183413,NULL,NULL,NULL);
INSERT INTO "revision" VALUES(12,1795364307184971,'key-e9db17e1',1795364307184971,NULL,3759270723,NULL);
INSERT INTO "revision" VALUES(13,1795711438914949,'key-cc20f5ac',1795711438914949,'01a218be-0f7f-71f8-bee5-000000000000',268371293,13);
INSERT INTO "revision" VALUES(14,1795711438950610,'key-cc20f5ac',1795711438950610,'01a218be-0f7f-71f8-bee5-000000000001',3396394440,14);
INSERT INTO "revision" VALUES(15,1795711438969063,'key-cc20f5ac',1795711438969063,'01a218be-0f7f-71f8-bee5-000000000002',1467808857,15);
INSERT INTO "revision" VALUES(16,1795711439010817,'key-cc20f5ac',1795711439010817,'01a218be-0f7f-71f8-bee5-000000000003',3691411278,16);
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
, starts_at INTEGER, expires_at INTEGER, expired_revision INTEGER) STRICT;
INSERT INTO "warrant" VALUES(7340032,'document','plan','owner','user','ann','','',1795364307163605,7,9223372036854775807,NULL,NULL,NULL);
INSERT INTO "warrant" VALUES(8388608,'document','..','viewer','user','ann','','',1795364307167132,8,9223372036854775807,NULL,NULL,NULL);
INSERT INTO "warrant" VALUES(9437184,'document','plan','shared','group','eng','','',1795364307171081,9,9223372036854775807,NULL,NULL,NULL);
INSERT INTO "warrant" VALUES(10485760,'group','eng','member','user','bob','','',1795364307179712,10,9223372036854775807,NULL,NULL,NULL);
INSERT INTO "warrant" VALUES(11534336,'document','plan','viewer','user','eve','','7f4d056b1b168f9f3845526d06bd9783446d1507dc71f243c9616b51eef24ce5',1795364307183413,11,9223372036854775807,NULL,NULL,NULL);
INSERT INTO "warrant" VALUES(13631488,'document','plan','viewer','user','kim','','',1795711438914949,13,9223372036854775807,NULL,NULL,NULL);
INSERT INTO "warrant" VALUES(15728640,'document','old','viewer','user','kim','','',1795711438969063,15,16,NULL,NULL,NULL);
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
CREATE INDEX idempotency_by_time ON idempotency (written_at);
CREATE INDEX warrant_by_creation ON warrant (deleted_revision, created_at, number);
CREATE INDEX warrant_by_type     ON warrant
    ((object_type || '#' || relation), subject_relation, subject_type, deleted_revision);
CREATE INDEX warrant_by_subject  ON warrant
    (subject_id, subject_type, subject_relation, object_type, relation, object_id, deleted_revision);
CREATE UNIQUE INDEX warrant_by_object ON warrant
    (object_id, object_type, relation, subject_relation, subject_type, subject_id, policy, deleted_revision);
CREATE INDEX object_type_by_name     ON object_type (deleted_revision, type);
CREATE INDEX object_type_by_creation ON object_type (deleted_revision, created_at, type);
CREATE INDEX object_by_id                ON object (deleted_revision, object_id, object_type);
CREATE INDEX object_by_creation          ON object (deleted_revision, created_at, object_id, object_type);
CREATE INDEX object_by_type_and_creation ON object (deleted_revision, object_type, created_at, object_id);
CREATE INDEX object_by_type              ON object (deleted_revision, object_type, object_id);
CREATE INDEX revision_by_reached ON revision (reached_at, revision);
CREATE INDEX warrant_by_expiry  ON warrant (deleted_revision, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX warrant_by_expired ON warrant (created_at, number) WHERE expired_revision IS NOT NULL;
CREATE INDEX policy_by_clock ON policy (reads_clock, digest);
CREATE INDEX warrant_by_policy ON warrant (policy, deleted_revision) WHERE policy <> '';
CREATE INDEX warrant_by_start  ON warrant (deleted_revision, starts_at) WHERE starts_at IS NOT NULL;
CREATE INDEX named_policy_by_name ON named_policy (deleted_revision, name);
CREATE INDEX decision_by_time     ON decision (reached_at, number);
CREATE INDEX decision_by_revision ON decision (stored_revision, number);
COMMIT;
