"""Stores object types, objects, warrants and the change log, at every retained revision, in SQLite or PostgreSQL.

`contract.py`, `following.py`, `events.py`, `keys.py` and `session_keys.py` state what a store promises; each sentence
has a test in `tests/store/`. `sql.py`, `sql_models.py`, `sql_credentials.py` and `sql_collecting.py` name every
statement, one text for both databases. `versioned.py`, `objects.py`, `cascading.py`, `object_types.py`, `warrants.py`,
`expiry.py`, `atomic_writes.py`, `importing.py`, `decisions.py`, `collecting.py`, `caller_keys.py`, `key_digests.py` and
`signing.py` are writes, as generators of statements. `batch_reads.py` builds the statement that answers a batch of
reads, `event_listing.py` the one that lists events. `sqlite.py` and `postgres.py` open a database and read it;
`sqlite_writing.py` and `postgres_writing.py` execute the generators. `filters.py`, `table_listings.py` and
`warrant_numbers.py` hold values that these share; `database_clock.py` follows the clock of PostgreSQL.
`recent_changes.py` keeps what the last groups of writes there changed. `sqlite_probe.py` tests whether a SQLite file is
readable; `postgres_migrating.py` prepares a PostgreSQL database, and `postgres_statements.py` writes statements as it
takes them; `sealing.py` encrypts signing keys. `read_memory.py` bounds what requests read.
"""
