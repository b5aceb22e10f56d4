"""Models of other products that are read for tests."""

from magistrate.engine.importers.names import Faults
from magistrate.engine.importers.openfga_models import OpenFgaModelReader
from magistrate.engine.importers.schema import ForeignModel
from magistrate.engine.importers.spicedb import read_spicedb_schema


def read_openfga(text: str, faults: Faults) -> ForeignModel:
    reader = OpenFgaModelReader(faults)
    reader.read_text(text, "m.fga")
    return reader.finish()


def read_spicedb(text: str, faults: Faults) -> ForeignModel:
    return read_spicedb_schema(text, "s.zed", faults)


OPENFGA = """
model
  schema 1.1
type user # a person
type team
  relations
    define member: [user, user:*, team#member]
type doc
  relations
    define parent: [doc]
    define owner: [user with fresh,
      team#member]
    define viewer: [user] or owner or (viewer from parent and member_of)
    define member_of: [team] but not owner
    define reader: (viewer but not owner)
condition fresh(at: timestamp, level: int) {
  at > timestamp("2026-01-01T00:00:00Z") && level > 2
}
"""
