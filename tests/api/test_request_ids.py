from uuid import UUID

from magistrate.api.http.ledger import RequestIds


def test_ids_of_requests_are_different_uuids_of_version_7_in_order() -> None:
    some = RequestIds()
    made = [some.make() for _ in range(300)]

    assert {str(UUID(one)) for one in made} == {*made}
    assert {(UUID(one).version, UUID(one).variant) for one in made} == {(7, UUID(made[0]).variant)}
    assert made == sorted({*made})
    assert RequestIds().make() not in made
