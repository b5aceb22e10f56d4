"""Lists the parsers of what others write, each with inputs that are valid and the errors that it documents."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from magistrate.api.audit.chain import read_sealed_line
from magistrate.api.auth.provider_keys import read_keys
from magistrate.api.endpoints.object_types import ObjectTypeBody
from magistrate.api.http.json_values import decode_json
from magistrate.api.http.request_values import read_parameters
from magistrate.api.http.trace_headers import read_caller_trace
from magistrate.cli.input import read_warrant
from magistrate.cli.models.object_types import read_definitions
from magistrate.config.database_url import read_database_url
from magistrate.config.settings import read_client_settings, read_settings
from magistrate.config.settings_table import SETTINGS
from magistrate.engine.forwarding.rule_files import read_rules
from magistrate.engine.forwarding.written_requests import read_written_request
from magistrate.engine.importers.conversion import convert_model
from magistrate.engine.importers.names import Faults, ForeignRefusal
from magistrate.engine.importers.openfga_models import OpenFgaModelReader
from magistrate.engine.importers.openfga_relationships import read_csv, read_json_lines
from magistrate.engine.importers.schema import ForeignModel
from magistrate.engine.importers.spicedb import read_relationships, read_spicedb_schema
from magistrate.engine.lists.language import parse_query
from magistrate.engine.openfga.documents import read_document
from magistrate.engine.openfga.tuples import read_tuple_key
from magistrate.engine.policy.policy import read_new_policy
from magistrate.engine.testing.suites import read_suite
from magistrate.engine.testing.yaml_documents import read_yaml
from magistrate.engine.text.json_documents import build_content
from magistrate.engine.text.lint import lint_text
from magistrate.engine.text.parser import parse_model
from magistrate.engine.text.rendering import format_model
from magistrate.errors import InvalidRequest, InvalidSetting, OpenFgaRefusal
from magistrate.operations.backups.lines import read_rows
from magistrate.operations.consistency import read_token
from magistrate.operations.paging import read_page_request
from magistrate.operations.writes.objects import OBJECT_LIST
from magistrate.store.contract.stored_rows import Identity
from tests.engine.policy.asking import CONTEXT, NOW, WARRANT

ROOT = Path(__file__).parents[2]
NOT_JSON = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""Lists what the decoder of msgspec raises; its callers turn each into an answer."""
HERE = Identity("0123456789abcdef", "0f" * 16)


@dataclass(frozen=True)
class Parser:
    """`read` takes bytes as they arrive. Whatever they are, it returns, or raises one of these errors."""

    read: Callable[[bytes], object]
    seeds: Sequence[bytes]
    errors: tuple[type[Exception], ...] = (InvalidRequest,)


def take_text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    """Returns a reader of bytes for one of text, which gets each byte that is no UTF-8 as a placeholder."""
    return lambda content: read(content.decode("utf-8", "replace"))


def find_blocks(*pages: str, languages: str) -> list[bytes]:
    """Returns the blocks of these languages in pages of the documentation."""
    pattern = re.compile(rf"```(?:{languages})\n(.*?)```", re.DOTALL)
    return [block.encode() for page in pages for block in pattern.findall((ROOT / page).read_text())]


def evaluate_policy(text: str) -> None:
    for context in ({}, CONTEXT):
        assert read_new_policy(text).outcome(context, WARRANT, NOW).value in (True, False, None)


def format_and_lint(text: str) -> None:
    parsed = parse_model(text)
    lint_text(parsed)
    if not parsed.faults:
        assert not parse_model(format_model(parsed)).faults


def convert_openfga_text(text: str) -> None:
    faults = Faults()
    reader = OpenFgaModelReader(faults)
    reader.read_text(text, "m.fga")
    convert(reader.finish(), faults)


def convert_openfga_json(content: bytes) -> None:
    document = decode_json(content)
    if isinstance(document, dict):
        read_document(*(document.get(name) for name in ("schema_version", "type_definitions", "conditions")))


def convert_spicedb(text: str) -> None:
    faults = Faults()
    convert(read_spicedb_schema(text, "s.zed", faults), faults)


def convert(model: ForeignModel, faults: Faults) -> None:
    """Every model without a fault becomes one that can be written."""
    converted = convert_model(model, faults)
    if not faults.total:
        build_content(converted.document)


def read_model_tests(text: str) -> None:
    read_suite(read_yaml(text, "tests.yaml", 10_000), refuse_files, NOW)


def refuse_files(name: str) -> str:
    raise InvalidRequest(f"{name} is not read")


def read_cursor(text: str) -> None:
    for name in ("nextCursor", "prevCursor", "lastId", "limit", "sortBy", "page"):
        try:
            read_page_request(OBJECT_LIST, {name: text}, HERE)
        except InvalidRequest:
            continue
    read_token(HERE, "Warrant-Token", text)


def read_each_setting(text: str) -> None:
    for setting in SETTINGS:
        try:
            read_settings({setting.name: text}, {})
        except InvalidSetting:
            continue
    for name in ("server", "api_key", "store"):
        try:
            read_client_settings({name: text}, {})
        except InvalidSetting:
            continue


def read_trace(content: bytes) -> None:
    read_caller_trace(content, content)


def read_names(text: str) -> None:
    read_tuple_key(*[*text.split(" ", 2), "", ""][:3])


def read_backup(content: bytes) -> None:
    read_rows(content.splitlines(keepends=True))


def read_lines(read: Callable[[Any, str], Any]) -> Callable[[str], object]:
    return lambda text: list(read(text.splitlines(), "file"))


MODELS = [
    *find_blocks("docs/models.md", "docs/tutorial.md", "docs/agents.md", languages="model|text|magistrate"),
    *(path.read_bytes() for path in sorted(ROOT.glob("examples/*/model.txt"))),
]
TYPES = [
    b'{"type": "document", "relations": {"viewer": {"inheritIf": "anyOf", "rules": [{"inheritIf": "editor"}, '
    b'{"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}]}, "editor": {}, "parent": {}}}',
    b'{"document": {"a": {"inheritIf": "noneOf", "rules": [{"inheritIf": "b"}]}, "b": {"types": ["user", '
    b'"team#member"]}}}',
]
OPENFGA = b"""model
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
condition fresh(at: timestamp, level: int, tags: list<string>) {
  at > timestamp("2026-01-01T00:00:00Z") && level > 2 && tags.exists(t, t.startsWith("a")) && !(level in [1, 2])
}
"""
OPENFGA_JSON = [
    b'{"schema_version": "1.1", "type_definitions": [{"type": "user"}, {"type": "doc", "relations": {"owner": '
    b'{"this": {}},'
    b' "viewer": {"union": {"child": [{"this": {}}, {"computedUserset": {"relation": "owner"}}, {"tupleToUserset": '
    b'{"tupleset": {"relation": "parent"}, "computedUserset": {"relation": "viewer"}}}]}}, "parent": {"this": {}}}, '
    b'"metadata": {"relations": {"owner": {"directly_related_user_types": [{"type": "user", "condition": '
    b'"c"}]}, "viewer": '
    b'{"directly_related_user_types": [{"type": "user", "wildcard": {}}]}, "parent": {"directly_related_user_types": '
    b'[{"type": "doc"}]}}}}], "conditions": {"c": {"name": "c", "expression": "x < 100", "parameters": {"x": '
    b'{"type_name": '
    b'"TYPE_NAME_INT"}}}}}',
]
SPICEDB = b"""/** a person */
definition user {}
caveat on_day(day string, limits map<int>) { day == "friday" && limits["a"] > 2 }
definition team { relation member: user | team#member }
definition doc {
    relation parent: doc
    relation owner: user with on_day | user:* | team#member
    permission view = owner + parent->view - (owner & nil)
    permission all = parent.all(view) // remark
}
"""
RULES = [
    b"version: 1\nsource: x-original\nidentity: {header: X-User, type: user}\nrules:\n"
    b"- {methods: [GET], host: '*.example.com', path: /documents/{id}/**, object: 'document:{id}', relation: viewer}\n"
    b"- path: /public/*\n  allow: anyone\n- {path: /**, deny: true}\n",
    *find_blocks("docs/gateways.md", languages="yaml"),
]
TESTS = [
    b"name: a\nmodel: |\n  version 1.0\n  type user\n  type doc\n      relation viewer [user]\nnow: "
    b"2026-01-01T00:00:00Z\n"
    b"setup: {warrants: [{warrant: 'doc:a#viewer@user:ann'}]}\ntests:\n- {name: t, check: {subject: user:ann, "
    b"relation: "
    b"viewer, resource: 'doc:a'}, expect: allowed}\n- {query: select doc where user:ann is viewer, expect: [doc:a]}\n",
    *find_blocks("docs/model-testing.md", languages="yaml"),
]
BACKUP = [
    b'{"createdAt":"2026-01-01T00:00:00Z","objectType":"document","objectId":"plan","meta":{"a":1}}\n',
    b'{"createdAt":"2026-01-01T00:00:00Z","objectType":"document","objectId":"plan","relation":"viewer","subject":'
    b'{"objectType":"team","objectId":"eng","relation":"member"},"policy":"a == '
    b'1","expiresAt":"2027-01-01T00:00:00Z"}\n',
    b'{"createdAt":"2026-01-01T00:00:00Z","type":"user","relations":{"a":{"inheritIf":"b"},"b":{}}}\n',
]
KEYS = [
    b'{"keys": [{"kty": "RSA", "kid": "a", "use": "sig", "alg": "RS256", "n": '
    b'"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78'
    b'LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMs", "e": "AQAB"}, {"kty": "EC", "crv": '
    b'"P-256", '
    b'"x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}',
    b"-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEVs/o5+uQbTjL3chynL4wXgUg2R9\n-----END "
    b"PUBLIC KEY-----\n",
]
POLICIES = [
    b'network == "office" && age >= 18 || !("admin" in roles)',
    b"all(items, {.price < 10}) and len(filter(names, {# startsWith 'a'})) > 0",
    b"now() - warrant.createdAt < duration('24h') ? ten + 1 == 11 : get(order, 'total') ?? 3.5 > 2",
    b"let v = ids[0]; v in 1..3 && date('2026-01-01').Year() == 2026 && name matches '^A[a-z]+$'",
    b"parse(at, 'timestamp') < now and reduce(ids, #acc + #) % 2 == 0 and `raw` != '\\u0041'",
]
QUERIES = [
    b"select document where user:kim is can-read and user:bob is not editor",
    b"select explicit viewer, editor of type user, team#member for document:plan",
    b"select * where user:* is *",
]
SETTINGS_TEXTS = [
    *(
        b"1",
        b"on",
        b"postgresql://user:word@host:5432/name?sslmode=require",
        b"sqlite:///a.db",
        b"10.1.0.0/16,fd00::/8",
    ),
    *(
        b"https://example.com:8443/path",
        b"a-key-of-more-than-sixteen-characters,another-key-that-is-long",
        b"0.5",
        b"/run/a.sock",
    ),
]

PARSERS: Mapping[str, Parser] = {
    "policy": Parser(take_text(evaluate_policy), POLICIES),
    "query": Parser(take_text(parse_query), QUERIES),
    "model text": Parser(take_text(format_and_lint), MODELS),
    "object types as JSON": Parser(take_text(read_definitions), TYPES),
    "body of an object type": Parser(msgspec.json.Decoder(ObjectTypeBody).decode, TYPES, NOT_JSON),
    "model tests": Parser(take_text(read_model_tests), TESTS),
    "rules of gateways": Parser(take_text(lambda text: read_rules(text, "rules.yaml")), RULES),
    "request of a rule": Parser(take_text(read_written_request), [b"GET https://docs.example/documents/plan?a=b"]),
    "warrant": Parser(take_text(read_warrant), [b"document:plan#viewer@team:eng#member[a == 'b']", b"d:*#r@user:*"]),
    "OpenFGA text": Parser(take_text(convert_openfga_text), [OPENFGA], (ForeignRefusal,)),
    "OpenFGA JSON": Parser(convert_openfga_json, OPENFGA_JSON, (OpenFgaRefusal, *NOT_JSON)),
    "OpenFGA names": Parser(
        take_text(read_names), [b"user:ann viewer doc:plan", b"team:eng#member owner doc:*"], (OpenFgaRefusal,)
    ),
    "OpenFGA CSV": Parser(
        take_text(read_lines(read_csv)),
        [
            b"user_type,user_id,user_relation,relation,object_type,object_id,condition_name,condition_context\n"
            b'user,ann,,viewer,doc,plan,fresh,"{""level"": 3}"\nteam,eng,member,owner,doc,plan,,\n'
        ],
        (ForeignRefusal,),
    ),
    "OpenFGA JSON lines": Parser(
        lambda content: list(read_json_lines(content.splitlines(keepends=True), "file")),
        [
            b'{"user": "user:ann", "relation": "viewer", "object": "doc:plan", "condition": {"name": "c", '
            b'"context": {}}}\n'
        ],
        (ForeignRefusal,),
    ),
    "SpiceDB schema": Parser(take_text(convert_spicedb), [SPICEDB], (ForeignRefusal,)),
    "SpiceDB relationships": Parser(
        take_text(read_lines(read_relationships)),
        [b'doc:plan#owner@team:eng#member[on_day:{"day": "friday"}][expiration:2026-01-01T00:00:00Z]\n// remark\n'],
        (ForeignRefusal,),
    ),
    "backup": Parser(read_backup, BACKUP),
    "cursors and tokens": Parser(
        take_text(read_cursor),
        [b"AQEjRWeJq83vAAAAAAAAAAcWm4zn", b"viZHjE_HLblbIm9iamVjdHMiLCJvYmplY3RJZCIsInBsYW4iLCJkb2N1bWVudCJd"],
    ),
    "query string": Parser(read_parameters, [b"limit=10&q=select%20document&sortBy=createdAt&x=%E2%82%AC"]),
    "JSON": Parser(decode_json, [b'{"a": [1, 2.5e3, "b\\u00e9", null, true, {"c": {}}]}'], NOT_JSON),
    "traceparent": Parser(read_trace, [b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]),
    "keys of a provider": Parser(read_keys, KEYS, (ValueError, *NOT_JSON)),
    "line of the audit log": Parser(read_sealed_line, [json.dumps({"time": "x", "chain": {"number": 1}}).encode()]),
    "settings": Parser(take_text(read_each_setting), SETTINGS_TEXTS, (InvalidSetting,)),
    "database URL": Parser(take_text(read_database_url), SETTINGS_TEXTS, (InvalidSetting,)),
}
