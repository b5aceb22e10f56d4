-- breaks_before: 1
-- The tables of a store. Times are in microseconds since 1970 UTC. A row with a deleted_revision is alive from its
-- created_revision until then; one that is alive has the highest number there (store/contract/stored_rows.py: ALIVE).
-- A table WITHOUT ROWID declares the columns of its primary key first, because it stores them first: the integrity check
-- of SQLite 3.40 (Debian 12) otherwise reads the wrong columns and reports healthy rows as NULL.

-- The stores that share these tables. number: is in every row of the other tables, and is never given to another store.
-- id: a ULID, 26 characters. name: NULL once all rows of a deleted store are removed. cursor_key: signs the cursors of
-- the store. openfga_name: the name that the store has in the API of OpenFGA, NULL if that is the same (docs/openfga.md).
CREATE TABLE store (
    number      INTEGER NOT NULL PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    name        TEXT    UNIQUE,
    description TEXT    NOT NULL,
    cursor_key  TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    openfga_name TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX store_by_openfga_name ON store (coalesce(openfga_name, name), id);

-- The newest revision of each store, and what all processes have to agree on. Reads select from it in the same statement.
-- horizon: the oldest revision that can be read. bits: those of the newest revision, see below. model_revision: the one
-- that last wrote an object type, a named policy or a warrant pattern. changes_deleted: the last revision of which
-- changes may be deleted. decisions_deleted, decisions_deleted_at: the last decision that is deleted, and its place;
-- numbers continue behind it, so that none is given twice. keys_version: grows with each change of a key. keys_bits: 8
-- hex digits drawn at random for each of the last changes of a key, or of the name, the description or the limits of the
-- store, the newest first; they show whether a restore has undone the change. deleted_at: when the store was deleted,
-- NULL before; nothing is read or written from then on, and its rows are removed little by little; removed_at: when some
-- were removed last. warrants, objects: how many are alive. limits: a JSON object; it is here because writes read these
-- numbers. moved: grows with each change of the row, so that one range of its index has all rows that changed since.
-- next_expiry: no warrant that is alive expires before; NULL if none expires.
CREATE TABLE head (
    store                INTEGER NOT NULL PRIMARY KEY,
    revision             INTEGER NOT NULL,
    horizon              INTEGER NOT NULL,
    bits                 INTEGER,
    model_revision       INTEGER NOT NULL,
    changes_deleted      INTEGER NOT NULL,
    decisions_deleted    INTEGER NOT NULL,
    decisions_deleted_at INTEGER NOT NULL,
    keys_version         INTEGER NOT NULL,
    keys_bits            TEXT    NOT NULL,
    deleted_at           INTEGER,
    removed_at           INTEGER,
    next_expiry          INTEGER,
    warrants             INTEGER NOT NULL,
    objects              INTEGER NOT NULL,
    limits               TEXT    NOT NULL,
    moved                INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX head_by_moved    ON head (moved);
CREATE INDEX head_by_deletion ON head (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX head_by_expiry   ON head (next_expiry) WHERE next_expiry IS NOT NULL;

-- bits: 32 bits drawn at random when the revision was written, which tell it from another that gets the same number after
-- the store was restored. written_at goes back where the clock of a writer is behind; reached_at, the latest written_at
-- of the revision or one before it, never does. called_revision: the newest revision up to this one that a caller has
-- written; the others end what has expired. request_id: that of the request, if it is known.
CREATE TABLE revision (
    store            INTEGER NOT NULL,
    revision         INTEGER NOT NULL,
    bits             INTEGER NOT NULL,
    written_at       INTEGER NOT NULL,
    reached_at       INTEGER NOT NULL,
    called_revision  INTEGER NOT NULL,
    actor            TEXT    NOT NULL,
    request_id       TEXT,
    PRIMARY KEY (store, revision)
) STRICT, WITHOUT ROWID;
CREATE INDEX revision_by_reached ON revision (store, reached_at, revision);

-- What each revision changed. starts_at, expires_at: the time limits of the warrant that was changed.
CREATE TABLE change (
    store            INTEGER NOT NULL,
    revision         INTEGER NOT NULL,
    position         INTEGER NOT NULL,
    action           TEXT    NOT NULL,
    kind             TEXT    NOT NULL,
    key              TEXT    NOT NULL,
    before           TEXT,
    after            TEXT,
    starts_at        INTEGER,
    expires_at       INTEGER,
    PRIMARY KEY (store, revision, position)
) STRICT, WITHOUT ROWID;

-- The newest decisions of checks, if any are kept. number: in the order in which they were written. stored_revision: the
-- newest revision then. reached_at: the latest decided_at of the decision or one before it. revision, bits: those at which
-- it was made. key: the names in the warrant that was checked, as in change. contextual_warrants: a JSON array, NULL
-- without any. is_partial: 1 if the context or the contextual warrants were too long to be kept.
CREATE TABLE decision (
    store               INTEGER NOT NULL,
    number              INTEGER NOT NULL,
    stored_revision     INTEGER NOT NULL,
    reached_at          INTEGER NOT NULL,
    decided_at          INTEGER NOT NULL,
    action              TEXT    NOT NULL,
    key                 TEXT    NOT NULL,
    context             TEXT,
    revision            INTEGER NOT NULL,
    bits                INTEGER,
    contextual_warrants TEXT,
    is_partial          INTEGER NOT NULL,
    actor               TEXT,
    request_id          TEXT,
    PRIMARY KEY (store, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX decision_by_time     ON decision (store, reached_at, number);
CREATE INDEX decision_by_revision ON decision (store, stored_revision, number);

CREATE TABLE object_type (
    store            INTEGER NOT NULL,
    type             TEXT    NOT NULL,
    deleted_revision INTEGER NOT NULL,
    definition       TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    PRIMARY KEY (store, type, deleted_revision)
) STRICT, WITHOUT ROWID;
CREATE INDEX object_type_by_name     ON object_type (store, deleted_revision, type);
CREATE INDEX object_type_by_creation ON object_type (store, deleted_revision, created_at, type);

-- definition: JSON without the name.
CREATE TABLE named_policy (
    store            INTEGER NOT NULL,
    name             TEXT    NOT NULL,
    deleted_revision INTEGER NOT NULL,
    definition       TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    PRIMARY KEY (store, name, deleted_revision)
) STRICT, WITHOUT ROWID;
CREATE INDEX named_policy_by_name ON named_policy (store, deleted_revision, name);

CREATE TABLE object (
    store            INTEGER NOT NULL,
    object_type      TEXT    NOT NULL,
    object_id        TEXT    NOT NULL,
    deleted_revision INTEGER NOT NULL,
    meta             TEXT,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    PRIMARY KEY (store, object_type, object_id, deleted_revision)
) STRICT, WITHOUT ROWID;
CREATE INDEX object_by_id                ON object (store, deleted_revision, object_id, object_type);
CREATE INDEX object_by_creation          ON object (store, deleted_revision, created_at, object_id, object_type);
CREATE INDEX object_by_type_and_creation ON object (store, deleted_revision, object_type, created_at, object_id);
-- Last, because on an empty table PostgreSQL takes the last of equally cheap indexes, and keeps to it until it has
-- statistics.
CREATE INDEX object_by_type              ON object (store, deleted_revision, object_type, object_id);

-- The texts of the policies of warrants, each once: an index over warrants tells them apart by their digests.
-- reads_clock: 1 if the policy may read the clock, so that its warrants may begin or cease to count without a write.
CREATE TABLE policy (
    store            INTEGER NOT NULL,
    digest           TEXT    NOT NULL,
    text             TEXT    NOT NULL,
    reads_clock      INTEGER NOT NULL,
    PRIMARY KEY (store, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX policy_by_clock ON policy (store, reads_clock, digest);

-- An absent subject_relation or policy is the empty text; policy is a digest. number: see store/contract/new_rows.py.
-- A warrant counts from starts_at until expires_at; NULL means no limit. The revision that ends a warrant because it has
-- expired is its expired_revision as well.
CREATE TABLE warrant (
    store            INTEGER NOT NULL,
    number           INTEGER NOT NULL,
    object_type      TEXT    NOT NULL,
    object_id        TEXT    NOT NULL,
    relation         TEXT    NOT NULL,
    subject_type     TEXT    NOT NULL,
    subject_id       TEXT    NOT NULL,
    subject_relation TEXT    NOT NULL,
    policy           TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    deleted_revision INTEGER NOT NULL,
    starts_at        INTEGER,
    expires_at       INTEGER,
    expired_revision INTEGER,
    PRIMARY KEY (store, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX warrant_by_creation ON warrant (store, deleted_revision, created_at, number);
-- On an expression, so that only reads of all objects of a type can use it: to a planner without statistics, columns would
-- look as selective as the id of an object.
CREATE INDEX warrant_by_type     ON warrant
    (store, (object_type || '#' || relation), subject_relation, subject_type, deleted_revision);
CREATE INDEX warrant_by_subject  ON warrant
    (store, subject_id, subject_type, subject_relation, object_type, relation, object_id, deleted_revision);
CREATE UNIQUE INDEX warrant_by_object ON warrant
    (store, object_id, object_type, relation, subject_relation, subject_type, subject_id, policy, deleted_revision);
-- Partial, so that warrants without a policy or a limit cost nothing.
CREATE INDEX warrant_by_expiry  ON warrant (store, deleted_revision, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX warrant_by_expired ON warrant (store, created_at, number) WHERE expired_revision IS NOT NULL;
CREATE INDEX warrant_by_policy  ON warrant (store, policy, deleted_revision) WHERE policy <> '';
CREATE INDEX warrant_by_start   ON warrant (store, deleted_revision, starts_at) WHERE starts_at IS NOT NULL;

-- The patterns of all warrants that were ever written: without ids, but for the `*` in place of one (otherwise the empty
-- text).
CREATE TABLE warrant_pattern (
    store            INTEGER NOT NULL,
    object_type      TEXT NOT NULL,
    object_id        TEXT NOT NULL,
    relation         TEXT NOT NULL,
    subject_type     TEXT NOT NULL,
    subject_id       TEXT NOT NULL,
    subject_relation TEXT NOT NULL,
    PRIMARY KEY (store, object_type, object_id, relation, subject_type, subject_id, subject_relation)
) STRICT, WITHOUT ROWID;

-- The results of writes with an idempotency key, so that one that is repeated is answered as it was the first time.
CREATE TABLE idempotency (
    store            INTEGER NOT NULL,
    owner            TEXT    NOT NULL,
    key              TEXT    NOT NULL,
    fingerprint      TEXT    NOT NULL,
    revision         INTEGER NOT NULL,
    answer           TEXT    NOT NULL,
    written_at       INTEGER NOT NULL,
    PRIMARY KEY (store, owner, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_time ON idempotency (store, written_at);

-- The progress of unfinished imports: so much from the beginning of the source is stored. See store/scripts/batches.py.
CREATE TABLE import (
    store            INTEGER NOT NULL,
    source           TEXT    NOT NULL,
    lines            INTEGER NOT NULL,
    size_bytes       INTEGER NOT NULL,
    mark             TEXT    NOT NULL,
    PRIMARY KEY (store, source)
) STRICT, WITHOUT ROWID;

-- The digests of the keys that `magistrate keys` generates.
CREATE TABLE api_key (
    store            INTEGER NOT NULL,
    digest           TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    PRIMARY KEY (store, digest)
) STRICT, WITHOUT ROWID;

-- Keys with which callers use a part of the API. Only the digests of keys are stored, SHA-256 in hex; scopes and
-- object_types are JSON arrays. The key before the last rotation has previous_digest, and is valid until previous_until.
CREATE TABLE caller_key (
    store            INTEGER NOT NULL,
    id               TEXT    NOT NULL,
    name             TEXT    NOT NULL,
    prefix           TEXT    NOT NULL,
    digest           TEXT    NOT NULL,
    scopes           TEXT    NOT NULL,
    object_types     TEXT,
    created_at       INTEGER NOT NULL,
    created_by       TEXT    NOT NULL,
    last_used_at     INTEGER,
    expires_at       INTEGER,
    previous_digest  TEXT,
    previous_until   INTEGER,
    PRIMARY KEY (store, id),
    UNIQUE (store, name)
) STRICT, WITHOUT ROWID;

-- What session tokens are signed with. See store/contract/keys.py.
CREATE TABLE session_key (
    store            INTEGER NOT NULL,
    id               TEXT    NOT NULL,
    secret           TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    PRIMARY KEY (store, id)
) STRICT, WITHOUT ROWID;

-- Tickets with which streams are opened, each once. digest: SHA-256 in hex. The columns from actor to valid_until
-- describe the caller; scopes and object_types are JSON arrays; caller_store: the number of the store of its key.
CREATE TABLE watch_ticket (
    store            INTEGER NOT NULL,
    digest           TEXT    NOT NULL,
    actor            TEXT    NOT NULL,
    scopes           TEXT    NOT NULL,
    object_types     TEXT,
    key_id           TEXT,
    origin           TEXT    NOT NULL,
    caller_store     INTEGER NOT NULL,
    valid_until      INTEGER,
    expires_at       INTEGER NOT NULL,
    PRIMARY KEY (store, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX watch_ticket_by_expiry ON watch_ticket (store, expires_at);

-- Webhooks: where the changes of the store are sent. filter: a JSON object (store/contract/webhooks.py). secret,
-- previous_secret: sealed as those of session_key; the latter signs as well until previous_until; no secret after a
-- restore. state: enabled, disabled, gone or dead; reason: why. position, position_bits, position_at: the revision and the
-- time up to which changes were sent. skipped, skipped_bits, skipped_at: up to where they were when some were skipped that
-- were not kept any more, and when that was noticed. lease: grows each time that a process begins to deliver, and when a
-- caller changes where to go on from. due_at: no other process delivers before; NULL if the webhook is not enabled.
-- attempts: how often the delivery has failed that is due.
CREATE TABLE webhook (
    store            INTEGER NOT NULL,
    id               TEXT    NOT NULL,
    url              TEXT    NOT NULL,
    filter           TEXT    NOT NULL,
    description      TEXT    NOT NULL,
    secret           TEXT,
    previous_secret  TEXT,
    previous_until   INTEGER,
    state            TEXT    NOT NULL,
    reason           TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    created_by       TEXT    NOT NULL,
    position         INTEGER NOT NULL,
    position_bits    INTEGER,
    position_at      INTEGER NOT NULL,
    skipped          INTEGER,
    skipped_bits     INTEGER,
    skipped_at       INTEGER,
    lease            INTEGER NOT NULL,
    due_at           INTEGER,
    attempts         INTEGER NOT NULL,
    PRIMARY KEY (store, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_by_due ON webhook (due_at) WHERE due_at IS NOT NULL;

-- The last attempts to deliver to each webhook. message: the same for each attempt of a delivery. revision, bits: up to
-- where the webhook is when it has the message. status: that of the answer, NULL without one; failure: what went wrong,
-- empty if nothing did.
CREATE TABLE webhook_delivery (
    store            INTEGER NOT NULL,
    webhook          TEXT    NOT NULL,
    number           INTEGER NOT NULL,
    message          TEXT    NOT NULL,
    began_at         INTEGER NOT NULL,
    duration_us      INTEGER NOT NULL,
    status           INTEGER,
    failure          TEXT    NOT NULL,
    revision         INTEGER NOT NULL,
    bits             INTEGER,
    attempt          INTEGER NOT NULL,
    PRIMARY KEY (store, webhook, number)
) STRICT, WITHOUT ROWID;

-- Queries that are saved for all who use the store. context: a JSON object, NULL if there is none.
CREATE TABLE saved_query (
    store            INTEGER NOT NULL,
    id               TEXT    NOT NULL,
    name             TEXT    NOT NULL,
    description      TEXT    NOT NULL,
    q                TEXT    NOT NULL,
    context          TEXT,
    created_at       INTEGER NOT NULL,
    created_by       TEXT    NOT NULL,
    PRIMARY KEY (store, id),
    UNIQUE (store, name)
) STRICT, WITHOUT ROWID;

-- The authorization models of OpenFGA's API, which never change (docs/openfga.md). id: a ULID, later ones are greater.
-- document: the model as JSON. assertions: the assertions about it as JSON, which are replaced as a whole.
CREATE TABLE openfga_model (
    store            INTEGER NOT NULL,
    id               TEXT    NOT NULL,
    document         TEXT    NOT NULL,
    assertions       TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    PRIMARY KEY (store, id)
) STRICT, WITHOUT ROWID;
