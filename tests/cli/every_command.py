"""Every command of the command line, with arguments that make it do its work on a service or in a folder."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from magistrate.cli.commands import main

Words = tuple[str, ...]

MODEL = "version 1.0\n\ntype document\n  relation viewer\n\ntype user\n"
FILES = {
    "model.txt": MODEL,
    "types.json": '{"document": {"viewer": {}}, "user": {}}',
    "policies.json": '{"name": "office", "parameters": {"network": "string"}, "expression": "network == \\"office\\""}',
    "write.json": '{"create": {"warrants": ["document:plan#viewer@user:zoe"]}}',
    "lines.json": '{"objectType": "user", "objectId": "ann"}\n',
    "tests.yaml": "tests:\n  - name: own\n    check:\n      document:plan#viewer@user:ann: denied\n",
    "audit.log": "",
    "rules.yaml": "version: 1\nsource: envoy\nidentity: jwt\nrules:\n  - {path: /, allow: anyone}\n",
}
"""The files that the arguments name."""

ARGUMENTS: Mapping[Words, Words] = {
    ("serve",): (),
    ("audit", "verify"): ("audit.log",),
    ("forward", "test"): ("rules.yaml", "GET docs.example/"),
    ("forward", "schema"): (),
    ("check",): ("document:plan#viewer@user:ann",),
    ("explain",): ("document:plan#viewer@user:ann",),
    ("query",): ("select document where user:ann is viewer",),
    ("diff",): ("--create", "document:plan#viewer@user:bob"),
    ("watch",): ("--once",),
    ("mirror",): ("--of", "document#viewer@user", "--to", "sqlite:///mirror.db", "--once"),
    ("write",): ("write.json",),
    ("warrants", "create"): ("document:plan#viewer@user:kim",),
    ("warrants", "delete"): ("document:plan#viewer@user:kim",),
    ("warrants", "list"): (),
    ("types", "apply"): ("types.json",),
    ("types", "list"): (),
    ("types", "show"): ("document",),
    ("types", "delete"): ("spare",),
    ("policies", "apply"): ("policies.json",),
    ("policies", "list"): (),
    ("policies", "show"): ("office",),
    ("policies", "delete"): ("spare",),
    ("model", "fmt"): ("model.txt",),
    ("model", "lint"): ("model.txt",),
    ("model", "convert"): ("model.txt",),
    ("model", "show"): (),
    ("model", "test"): ("tests.yaml",),
    ("model", "plan"): ("model.txt",),
    ("model", "apply"): ("model.txt",),
    ("model", "types"): ("--typescript",),
    ("objects", "create"): ("document:new",),
    ("objects", "get"): ("document:plan",),
    ("objects", "update"): ("document:plan", "--meta", "{}"),
    ("objects", "delete"): ("document:new",),
    ("objects", "list"): (),
    ("events", "resources"): (),
    ("events", "access"): (),
    ("replay",): ("unknown",),
    ("import",): ("lines.json", "--database-url", "sqlite:///new.db"),
    ("backup",): ("new.backup", "--database-url", "sqlite:///served.db"),
    ("export",): ("new.jsonl", "--database-url", "sqlite:///served.db"),
    ("restore",): ("made.backup", "--database-url", "sqlite:///restored.db"),
    ("sessions", "create"): ("ann",),
    ("sessions", "revoke"): ("--database-url", "sqlite:///new.db"),
    ("keys", "create"): ("reader", "--scope", "check"),
    ("keys", "list"): (),
    ("keys", "revoke"): ("spare",),
    ("keys", "rotate"): ("spare",),
    ("keys", "reset"): ("--database-url", "sqlite:///new.db"),
    ("stores", "create"): ("acme",),
    ("stores", "list"): (),
    ("stores", "show"): ("default",),
    ("stores", "update"): ("default", "--description", "of all"),
    ("stores", "delete"): ("acme",),
    ("stores", "top"): (),
    ("webhooks", "create"): ("https://receiver.example/changes", "--object-type", "document"),
    ("webhooks", "list"): (),
    ("webhooks", "show"): ("spare",),
    ("webhooks", "update"): ("spare", "--description", "of documents"),
    ("webhooks", "enable"): ("spare",),
    ("webhooks", "disable"): ("spare",),
    ("webhooks", "delete"): ("spare",),
    ("webhooks", "rotate"): ("spare",),
    ("webhooks", "replay"): ("spare", "--since", "none"),
    ("webhooks", "test"): ("spare",),
    ("webhooks", "deliveries"): ("spare",),
    ("mcp",): (),
    ("playground",): (),
    ("migrate",): ("--database-url", "sqlite:///new.db"),
    ("doctor",): ("--database-url", "sqlite:///new.db"),
    ("completion",): ("bash",),
}


def list_commands(command: click.Command = main, words: Words = ()) -> Iterator[Words]:
    """The words of each command that is not a group."""
    if not isinstance(command, click.Group):
        yield words
        return
    for name, inner in command.commands.items():
        yield from list_commands(inner, (*words, name))


def write_files(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text)
