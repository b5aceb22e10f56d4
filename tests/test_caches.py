"""Everything that the service keeps to answer later requests is listed here with what bounds it, so that no cache can
be added without a bound: the code is searched for all that caches are made of."""

import ast
from collections.abc import Iterator
from pathlib import Path

import magistrate

ROOT = Path(magistrate.__file__).parent
MAKERS = {
    "BoundedCache",
    "CacheSegment",
    "EntrySegment",
    "LRUCache",
    "OrderedDict",
    "SparseSegment",
    "TextCache",
    "WeakKeyDictionary",
    "WeakValueDictionary",
    "cache",
    "lru_cache",
}

IN_BYTES = {
    "engine/cache/adjacency.py AdjacencyIndex": "warrants",
    "engine/cache/closures.py Kind": "warrants, absent",
    "engine/cache/memberships.py Memberships": "warrants, absent",
    "engine/cache/subject_adjacency.py SubjectIndex": "warrants, absent",
    "engine/cache/views.py PlanView": "warrants, absent",
    "engine/cache/segments.py SparseSegment": "absent",
    "engine/policy/policy.py": "policies, programs",
    "engine/lists/language.py": "queries",
    "operations/lists/bitmap_listings.py BitmapSearches": "connected_graphs",
    "operations/lists/listings.py Listings": "lists, empty_lists",
    "operations/models/cache.py Models": "past_models",
    "operations/openfga/documents.py KeptDocuments": "openfga_models",
    "operations/watch/feed_memory.py RecentResults": "feed",
    "api/http/request_values.py": "parameters",
    "api/auth/forwarding.py ForwardRules": "the setting request_cache_bytes",
    "api/http/fast_path.py FastPath": "the setting request_cache_bytes",
    "api/http/body_cache.py KnownBodies": "the setting request_cache_bytes",
}
"""Names the caches that are measured, as /metrics does."""

FIXED = {
    "engine/walk/cached_entries.py": "is always empty",
    "engine/walk/warrants_ahead.py": "goes with the read outlines of a model",
    "engine/warrants/read_ahead.py": "goes with the model",
    "engine/warrants/read_ahead.py outline_reads": "1,000 outlines a model",
    "engine/model/model.py Model": "1,000 plans of undefined relations",
    "engine/importers/openfga_relationships.py read_json_array": "one entry, for the time of a call",
    "engine/policy/access.py _resolve_member": "1,024 names of up to 4 KiB",
    "engine/policy/access.py _take_member": "1,024 names of up to 4 KiB",
    "engine/policy/texts.py": "80 compiled expressions of up to 512 KiB",
    "operations/models/compiled_models.py CompiledModels": "holds what the models of open stores use",
    "operations/graph_filling.py GraphFiller": "one entry for each open context",
    "operations/scheduling.py": "one entry for each event loop",
    "operations/watch/access_feed.py": "one entry for each open context",
    "operations/stores/contexts.py StoreContexts": "500 contexts of stores, of up to 50 KB each",
    "store/postgres/pipeline.py": "one entry for each connection",
}
"""Has what bounds the others that are no functions, or whose keys may be long."""

MAX_CALLS = 4_096
"""Limits the results of a function that are kept, if its arguments are names, types or structures of statements."""


def find_caches(path: Path) -> Iterator[tuple[str, ast.Call | None]]:
    """Yields where each cache of a module is made: the file, and the class or the cached function; with the call."""
    name = path.relative_to(ROOT).as_posix()
    for outer in ast.parse(path.read_text()).body:
        owner = f" {outer.name}" if isinstance(outer, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) else ""
        for node in ast.walk(outer):
            for decorator in getattr(node, "decorator_list", ()):
                if isinstance(decorator, ast.Name) and decorator.id in MAKERS:
                    yield name + owner, None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
                yield name + owner, node


def limit_of(call: ast.Call | None) -> int | None:
    """The number of results that `lru_cache` keeps, None if that is no literal."""
    if call is None:
        return 128
    given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "maxsize")]
    return given[0].value if given and isinstance(given[0], ast.Constant) and type(given[0].value) is int else None


def test_each_cache_has_a_bound() -> None:
    listed = {*IN_BYTES, *FIXED}
    found = [(place, call) for path in sorted(ROOT.rglob("*.py")) for place, call in find_caches(path)]
    functions = {
        place
        for place, call in found
        if (call is None or (isinstance(call.func, ast.Name) and call.func.id == "lru_cache")) and place not in listed
    }
    unbounded = [place for place, call in found if place in functions and (limit_of(call) or 0) > MAX_CALLS]

    assert {place for place, _ in found} - functions == listed
    assert unbounded == []
