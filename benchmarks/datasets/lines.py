"""A data set as lines for `magistrate import`: its object types, then its warrants, in the same order each time."""

from collections.abc import Iterable, Iterator

import msgspec

from benchmarks.datasets.dataset import Dataset, WarrantRow


def lines(dataset: Dataset) -> Iterator[bytes]:
    for name, relations in dataset.types.items():
        yield msgspec.json.encode({"type": name, "relations": relations}) + b"\n"
    yield from warrant_lines(dataset.warrants())


def warrant_lines(rows: Iterable[WarrantRow]) -> Iterator[bytes]:
    for object_type, object_id, relation, subject_type, subject_id, subject_relation, policy in rows:
        subject = {"objectType": subject_type, "objectId": subject_id}
        if subject_relation:
            subject["relation"] = subject_relation
        warrant = {"objectType": object_type, "objectId": object_id, "relation": relation, "subject": subject}
        yield msgspec.json.encode(warrant | {"policy": policy} if policy else warrant) + b"\n"
