"""Names that follow from the name in OpenFGA alone (docs/openfga.md#models)."""

import re

from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.importers.names import STABLE, name_stable_relation, name_stable_type
from magistrate.engine.terms import relation_name, type_name

TYPES, RELATIONS = st.text(min_size=1, max_size=254), st.text(min_size=1, max_size=50)


@given(TYPES)
def test_each_type_has_a_name_here(name: str) -> None:
    assert type_name(name_stable_type(name), "type")


@given(RELATIONS)
def test_each_relation_has_two_names_here(name: str) -> None:
    here, direct = name_stable_relation(name), STABLE.name_link(name)
    assert relation_name(here, "relation") != relation_name(direct, "relation")
    assert direct == f"direct_{here}"
    assert not here.startswith("direct_")


@given(st.sets(RELATIONS))
def test_different_relations_have_different_names(names: set[str]) -> None:
    assert len({*map(name_stable_relation, names)}) == len(names)


@given(st.sets(TYPES))
def test_different_types_have_different_names(names: set[str]) -> None:
    assert len({*map(name_stable_type, names)}) == len(names)


def test_names_that_we_have_stay() -> None:
    assert name_stable_type("pricing-tier_1") == "pricing-tier_1"
    assert name_stable_relation("canRead") == "canRead"
    assert re.fullmatch(r"team-[0-9a-f]{12}", name_stable_type("Team"))
    assert re.fullmatch(r"relation_can__read-[0-9a-f]{12}", name_stable_relation("can.read"))
    assert re.fullmatch(r"relation_anyOf-[0-9a-f]{12}", name_stable_relation("anyOf"))
    assert re.fullmatch(r"relation_direct_viewer-[0-9a-f]{12}", name_stable_relation("direct_viewer"))
