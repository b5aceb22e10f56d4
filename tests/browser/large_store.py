"""A store that is hard to show: a model of 40 types, 2,000 objects, ids of 1,024 characters and from right to left."""

from magistrate.wiring.examples import read_example
from tests.browser.console_places import load_example
from tests.running import Client
from tests.scenario_files import warrant_body

TYPES = 40
OBJECTS = 2000
HOPS = 100
LONG_ID = "Long-" + "x" * 1019
RIGHT_TO_LEFT_ID = "مستند-الخطة-السنوية"


def load_large_store(client: Client) -> None:
    """Adds to the example a chain of types, objects of each, a path of 100 hops, and warrants with long ids."""
    load_example(client)
    names = [f"kind-{number}" for number in range(TYPES - len(read_example("document-sharing").types))]
    for before, name in zip([None, *names], names, strict=False):
        client.define({name: render_relations(before)})
    chain = [f"folder:f{hop + 1}#parent@folder:f{hop}" for hop in range(HOPS - 2)]
    chain += ["folder:f0#viewer@user:deep", f"document:deep#parent@folder:f{HOPS - 2}"]
    owned = [f"{names[n % len(names)]}:o{n}#owner@user:u{n}" for n in range((OBJECTS - HOPS) // 2)]
    strange = [
        f"{kind}:{id_}#{relation}@user:{id_}"
        for id_ in (LONG_ID, RIGHT_TO_LEFT_ID)
        for kind, relation in (("document", "viewer"), ("document", "editor"), ("group", "member"))
    ]
    reports = ["document:report#viewer@user:deep", *(f"document:a-report-{n}#viewer@user:deep" for n in range(20))]
    warrants = [*chain, *owned, *reports, *strange, f"document:{LONG_ID}#blocked@group:{LONG_ID}#member"]
    for start in range(0, len(warrants), 450):
        bodies = [warrant_body(text) for text in warrants[start : start + 450]]
        client.post("/v2/writes", json={"create": {"warrants": bodies}}).raise_for_status()


def render_relations(before: str | None) -> dict[str, object]:
    """The relations of a type; those who view an object of the type before view its children."""
    if before is None:
        return {"owner": {}, "viewer": {"inheritIf": "owner"}}
    inherited = {"inheritIf": "viewer", "ofType": before, "withRelation": "parent"}
    viewer = {"inheritIf": "anyOf", "rules": [{"inheritIf": "owner"}, inherited]}
    return {"owner": {}, "parent": {}, "viewer": viewer}
