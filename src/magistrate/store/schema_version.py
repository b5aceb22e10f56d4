"""Defines which versions of Magistrate can use a store, by the schemas that they know
(docs/extending.md#migrations)."""

from dataclasses import dataclass

from magistrate.errors import SchemaMismatch

OTHER_SCHEMA = "the database has the schema of another version of Magistrate"
"""Is the message when a statement names what is not there: another version has migrated the database meanwhile."""


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """Holds the schema that a store has, and the smallest one that a version has to know to use it."""

    number: int
    breaks_before: int

    def require_known(self, newest: int) -> None:
        """Raises SchemaMismatch if a version whose newest schema is this one can never use the store again."""
        if self.breaks_before > newest:
            raise SchemaMismatch(
                f"the store has schema {self.number}, made by a newer Magistrate; it can be used by versions that "
                f"know schema {self.breaks_before}, and this one knows {newest}"
            )

    def require_usable(self, newest: int) -> None:
        """Raises SchemaMismatch if a version whose newest schema is this one cannot use the store as it is."""
        self.require_known(newest)
        if self.number < newest:
            raise SchemaMismatch(f"the store has schema {self.number}, this version of Magistrate needs {newest}")
