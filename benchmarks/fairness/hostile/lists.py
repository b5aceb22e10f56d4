"""Lists, queries and events over everything."""

from collections.abc import Iterator
from functools import partial
from urllib.parse import quote

from benchmarks.fairness.asking import Answer
from benchmarks.fairness.population import EVERYWHERE, WIDE_PAPER
from benchmarks.fairness.stage import Act, Attack, Stage

QUERIES = {
    "all objects, all relations, of a user with 10,000": f"select * where user:{EVERYWHERE} is *",
    "all objects of a user in a chain of 10,000": "select * where user:in-chain10000 is *",
    "all objects of a user in a clique": "select * where user:in-clique10000 is *",
    "all subjects of all types of one object": f"select * of type * for paper:{WIDE_PAPER}",
    "explicitly, all subjects of one object": f"select explicit * of type * for paper:{WIDE_PAPER}",
    "all groups a user is in": "select group where user:in-fan10000 is member",
}


def queries(stage: Stage) -> Iterator[tuple[str, Act]]:
    for about, text in QUERIES.items():
        yield f"query: {about}", partial(stage.ask, "GET", f"/v2/query?limit=1000&q={quote(text)}")

    path = f"/v2/query?limit=1000&sortBy=createdAt&q={quote(f'select * where user:{EVERYWHERE} is *')}"
    yield "query: the first of them sorted by creation", partial(stage.ask, "GET", path)

    def with_contexts() -> list[Answer]:
        """Each has to be worked out anew, and each is kept."""
        path = f"/v2/query?limit=1000&q={quote(f'select * where user:{EVERYWHERE} is *')}"
        return [stage.caller.ask("GET", path + "&context=" + quote(f'{{"n":{n}}}')) for n in range(5)]

    yield "query: the first of them with 5 contexts", with_contexts


def lists(stage: Stage) -> Iterator[tuple[str, Act]]:
    paths = {
        "objects, searched for what is nowhere": "/v2/objects?limit=1000&q=nowhere",
        "1,000 objects with large meta": "/v2/objects?objectType=big&limit=1000",
        "warrants of all objects": "/v2/warrants?limit=1000&objectType=paper",
        "v1: users": "/v1/users?limit=1000",
        "v1: warrants, page 1,000": "/v1/warrants?limit=100&page=1000",
        "v1: objects, page 1,000": "/v1/objects?limit=100&page=1000",
        "events of one object": "/v2/resource-events?limit=1000&resourceType=object&resourceId=nothing",
        "events of no warrant": "/v2/access-events?limit=1000&objectType=paper&objectId=nothing",
        "events of a subject": "/v2/access-events?limit=1000&subjectType=user&subjectId=nobody",
    }
    for about, path in paths.items():
        yield f"list: {about}", partial(stage.ask, "GET", path, times=3)


LISTS: dict[str, Attack] = {"queries": queries, "lists": lists}
