"""Reads the models and relationships of OpenFGA and SpiceDB, and converts them to ours (docs/coming-from.md).

`openfga_text.py`, `openfga_json.py` and `spicedb_schema.py` read a model into a `ForeignModel` (schema.py), which has
the original names and knows where each was written. `converting.py` makes a document of it, `conditions.py` and
`cel/` make policies of conditions and caveats, and `relationships.py` makes a line of each relationship, for an
import. `assertions.py` and `suites.py` read test files.
"""
