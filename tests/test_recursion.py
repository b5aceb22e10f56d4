"""Nothing walks by recursion over what callers write.

What calls itself, directly or by way of others, takes a piece of the stack for each thing in each other that it walks;
with what callers write that ends in a RecursionError. So whatever does so is named below, with the reason why it is
never deep."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from magistrate.engine.model.components import components

SRC = Path(__file__).parents[1] / "src" / "magistrate"
Definition = ast.FunctionDef | ast.AsyncFunctionDef

ANOTHER = "calls a method of the same name of an object of another class, which calls nothing back"

LATER = "is called by the event loop, at another time"

BOUNDED: dict[str, str] = {
    "magistrate.cli.agents.tools.AgentTools.": "a tool is called like the method of the client that it calls",
    "magistrate.api.audit.log.AuditLog.close": ANOTHER,
    "magistrate.engine.bitmaps.subject_pages.": ANOTHER,
    "magistrate.api.http.admission.Admission._begin_iteration": LATER,
    "magistrate.api.http.admission.BodyAccount.add": ANOTHER,
    "magistrate.api.http.ledger.AccessLog._write": "calls itself with single lines, if all are too long together",
    "magistrate.api.http.connection_memory.AnswerAccount.reserve": ANOTHER,
    "magistrate.api.http.unknown_members._list_alternatives": "walks the types of our own bodies",
    "magistrate.api.http.admission.RefusalPace._begin_tick": LATER,
    "magistrate.api.processes.acceptors.Acceptor._accept": LATER,
    "magistrate.api.processes.acceptors.Channel.": LATER,
    "magistrate.api.auth.bearer.Bearers.": ANOTHER,
    "magistrate.api.endpoints.check._CheckRequest.decide_as_of": ANOTHER,
    "magistrate.operations.openfga.checks.ModelMoment.": "calls the methods that it replaces, which call nothing back",
    "magistrate.api.v1.resources.Assignment.list_page": ANOTHER,
    "magistrate.store.sql_stores.SqlStores.": ANOTHER,
    "magistrate.store.postgres.database.PostgresServer.now": ANOTHER,
    "magistrate.api.http.client_transport.ClientTransport._end_if_silent": LATER,
    "magistrate.api.http.client_transport.ClientTransport.": ANOTHER,
    "magistrate.api.http.deadlines.Deadlines._look": LATER,
    "magistrate.api.http.metrics.SharedCounts.write": ANOTHER,
    "magistrate.api.openapi._batch": "walks the schemas of our own types, made when the service starts",
    "magistrate.api.http.connection_state.KeepAliveTimer._end": LATER,
    "magistrate.api.http.connection_state.KeepAliveTimer.cancel": ANOTHER,
    "magistrate.api.http.connection.Connection.": LATER,
    "magistrate.api.processes.server.GracefulServer.": ANOTHER,
    "magistrate.api.http.incoming_bytes.IncomingBytes.": LATER,
    "magistrate.api.http.pipeline.Pipeline.decode": ANOTHER,
    "magistrate.api.calls.Call.": ANOTHER,
    "magistrate.api.calls.Deferred.__await__": ANOTHER,
    "magistrate.api.processes.supervisor.Supervisor._fill_up": LATER,
    "magistrate.api.processes.supervisor.Supervisor.run": ANOTHER,
    "magistrate.api.processes.supervisor.Worker.kill": ANOTHER,
    "magistrate.engine.cache.adjacency.AdjacencyIndex.collect": ANOTHER,
    "magistrate.engine.cache.decision_cache.": ANOTHER,
    "magistrate.engine.cache.object_entries.EntrySegment.": ANOTHER,
    "magistrate.engine.cache.object_entries.SparseArray.": ANOTHER,
    "magistrate.engine.evaluation.evaluation.Evaluation.": ANOTHER,
    "magistrate.engine.evaluation.check.Check.render": ANOTHER,
    "magistrate.engine.cache.entry_reads.": ANOTHER,
    "magistrate.engine.cache.graph.Graph.": ANOTHER,
    "magistrate.engine.cache.memberships.Memberships.grow": ANOTHER,
    "magistrate.engine.walk.cached_entries.CachedEntries.find_view": ANOTHER,
    "magistrate.engine.walk.walk.Walk.": "MAX_NESTING combinations in each other; for more the walk gives up",
    "magistrate.engine.cache.segments._measure_other": "walks the key of an entry, whose tuples our own code nests",
    "magistrate.engine.cache.segments.": ANOTHER,
    "magistrate.operations.checks.check.PendingChecks.decide_at_once": ANOTHER,
    "magistrate.operations.live_graph.ExtendedGraph.": ANOTHER,
    "magistrate.log.redact": "walks the fields of a log line, which our own code nests",
    "magistrate.store.sql_reads.SqlRevisions.": ANOTHER,
    "magistrate.store.sqlite.writer.FileWriter.start": ANOTHER,
    "magistrate.engine.model.model.Model.without_rules": "calls that of an object type",
    "magistrate.engine.policy.compiler.key": "names the key of a member, and a parameter of that name",
    "magistrate.engine.policy.parser.Parser.take_then": ANOTHER,
    "magistrate.engine.policy.types.slice_of": "calls itself once, for a type that is not its own argument",
    "magistrate.operations.readers.contextual_warrants.ContextualWarrants.extend_model": ANOTHER,
    "magistrate.operations.importing.importer.": ANOTHER,
    "magistrate.operations.difference.states.UnitedReader.read_warrants": ANOTHER,
    "magistrate.store.postgres.database.PostgresDatabase.": ANOTHER,
    "magistrate.store.postgres.connections.ConnectionPool.open": ANOTHER,
    "magistrate.store.sql_store.SqlStore.": ANOTHER,
    "magistrate.wiring.api_keys.ServiceKeys.end_expired": ANOTHER,
}
"""By what the name of the first function of a circle, in alphabetical order, begins with."""


class Function(NamedTuple):
    """`scope` has the names of the functions and classes around it, `owner` is the class it is a method of."""

    module: str
    scope: tuple[str, ...]
    name: str
    owner: str | None

    def __str__(self) -> str:
        return ".".join((self.module, *self.scope, self.name))


class Sources:
    """All functions of some modules, and who calls whom as far as names show. What is called on something else than
    `self` may be any method of that name; of those only two that call each other count, and one that calls its like."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.bodies: dict[Function, Definition] = {}
        self._imported: dict[str, dict[str, tuple[str, str]]] = {}
        for module, text in texts.items():
            tree = ast.parse(text)
            self._imported[module] = dict(_imports(tree))
            self.bodies.update(_functions(module, tree, (), None))
        self._methods: dict[str, list[Function]] = {}
        for function in self.bodies:
            if function.owner is not None:
                self._methods.setdefault(function.name, []).append(function)
        self._named = {(one.module, *one.scope, one.name): one for one in self.bodies}

    def called(self, function: Function) -> set[Function]:
        found: set[Function] = set()
        called = {id(node.func) for node in ast.walk(self.bodies[function]) if isinstance(node, ast.Call)}
        for node in ast.walk(self.bodies[function]):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.update(self._by_name(function, node.id))
            elif isinstance(node, ast.Attribute) and not _is_super(node.value):
                found.update(self._by_attribute(function, node, id(node) in called))
        return found

    def _by_name(self, function: Function, name: str) -> Iterator[Function]:
        around = (*function.scope, function.name)
        for length in range(len(around), -1, -1):
            one = self._named.get((function.module, *around[:length], name))
            if one is not None and one.owner is None:
                yield one
                return
        origin = self._imported[function.module].get(name)
        while origin is not None:
            if origin in self._named:
                yield self._named[origin]
            origin = self._imported.get(origin[0], {}).get(origin[1])

    def _by_attribute(self, function: Function, node: ast.Attribute, is_called: bool) -> Iterator[Function]:
        of_self = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        for method in self._methods.get(node.attr, ()):
            is_own = method.module == function.module and method.owner == function.owner
            if is_own if of_self else is_called and function.name in (method.name, *_called_on(self.bodies[method])):
                yield method


def _called_on(body: Definition) -> Iterator[str]:
    """The names of all methods that are called on something else than `self`."""
    for node in ast.walk(body):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            on = node.func.value
            if not (isinstance(on, ast.Name) and on.id in ("self", "cls")):
                yield node.func.attr


def _is_super(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super"


def _imports(tree: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                yield alias.asname or alias.name, (node.module, alias.name)


def _functions(
    module: str, node: ast.AST, scope: tuple[str, ...], owner: str | None
) -> Iterator[tuple[Function, Definition]]:
    waiting: list[tuple[ast.AST, tuple[str, ...], str | None]] = [(node, scope, owner)]
    while waiting:
        outer, scope, owner = waiting.pop()
        for inner in ast.iter_child_nodes(outer):
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                yield Function(module, scope, inner.name, owner), inner
                waiting.append((inner, (*scope, inner.name), owner))
            elif isinstance(inner, ast.ClassDef):
                waiting.append((inner, (*scope, inner.name), inner.name))
            else:
                waiting.append((inner, scope, owner))


def circles(sources: Sources) -> Iterator[list[str]]:
    called = {function: sources.called(function) for function in sources.bodies}
    for circle in components(called, called.__getitem__):
        if len(circle) > 1 or circle[0] in called[circle[0]]:
            yield sorted(map(str, circle))


def texts_of(paths: Iterable[Path]) -> dict[str, str]:
    return {
        ".".join(("magistrate", *path.relative_to(SRC).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): path.read_text()
        for path in paths
    }


def test_whatever_calls_itself_has_a_reason_not_to_be_deep() -> None:
    found = [*circles(Sources(texts_of(sorted(SRC.rglob("*.py")))))]

    assert [circle for circle in found if not circle[0].startswith(tuple(BOUNDED))] == []
    assert [name for name in BOUNDED if not any(circle[0].startswith(name) for circle in found)] == []


RECURSIONS = {
    "itself": "def told(rule):\n    return [told(part) for part in rule]",
    "by its name": "def told(rule):\n    return [*map(told, rule)]",
    "one after another": "def one(rule):\n    return other(rule)\ndef other(rule):\n    return one(rule[0])",
    "a method": "class Rule:\n  def told(self):\n    return self.parts()\n  def parts(self):\n    return self.told()",
    "its like": "class Rule:\n    def told(self):\n        return [part.told() for part in self.parts]",
    "a function in it": "def told(rule):\n    def inner(part):\n        return inner(part[0])\n    return inner(rule)",
    "two classes": "class A:\n    def a(self, x):\n        x.b(x)\nclass B:\n    def b(self, x):\n        x.a(x)",
}


@pytest.mark.parametrize("text", RECURSIONS.values(), ids=RECURSIONS)
def test_recursion_is_recognized(text: str) -> None:
    assert [*circles(Sources({"m": text}))]


def test_recursion_is_recognized_across_modules() -> None:
    one = "from n import other\ndef one(rule):\n    return other(rule)"
    other = "from m import one\ndef other(rule):\n    return one(rule)"

    assert [*circles(Sources({"m": one, "n": other}))] == [["m.one", "n.other"]]


def test_a_loop_is_no_recursion() -> None:
    text = "def told(rule):\n    waiting = [rule]\n    while waiting:\n        waiting += waiting.pop()"

    assert [*circles(Sources({"m": text}))] == []
