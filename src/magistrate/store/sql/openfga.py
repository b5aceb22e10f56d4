"""Holds the statements on the authorization models of OpenFGA's API."""

from magistrate.store.sql.head import HEAD, NEWEST

_MODEL = "m.id, m.document, m.assertions, m.created_at, m.created_revision"
LAST_OPENFGA_MODEL = "SELECT max(id) FROM openfga_model WHERE store = :store"
INSERT_OPENFGA_MODEL = """
INSERT INTO openfga_model (store, id, document, assertions, created_at, created_revision)
VALUES (:store, ?, ?, ?, ?, ?)"""
FIND_OPENFGA_MODEL = f"""
SELECT {NEWEST}, {_MODEL} FROM {HEAD} LEFT JOIN openfga_model m ON m.store = :store AND m.id = ?"""
FIND_NEWEST_OPENFGA_MODEL = f"""
SELECT {NEWEST}, h.model_revision, (SELECT max(id) FROM openfga_model WHERE store = :store) FROM {HEAD}"""
LIST_OPENFGA_MODELS = f"""
SELECT {NEWEST}, {_MODEL} FROM {HEAD} LEFT JOIN (
    SELECT id, document, assertions, created_at, created_revision FROM openfga_model
    WHERE store = :store AND id < ? ORDER BY id DESC LIMIT ?
) m ON true ORDER BY m.id DESC"""
REPLACE_OPENFGA_ASSERTIONS = """
UPDATE openfga_model SET assertions = ? WHERE store = :store AND id = ? RETURNING 1"""
