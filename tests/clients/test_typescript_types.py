"""The types that `magistrate model types --typescript` writes make a misspelled name an error of TypeScript."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.cases import Magistrate
from tests.clients.typescript_package import DEADLINE_SECONDS

MODEL = """\
version 1.0

type user

type team
    relation member [user, team#member]

type document
    relation owner [user]
    relation can-read
"""
PROGRAM = """\
import { Client } from "../src/index.js";
import { Can, useCheck } from "../src/react.js";
import { require } from "../src/express.js";
import type { Model, ObjectType, Relation } from "./model.js";

declare module "../src/react.js" {
  interface Register { model: Model }
}

const client = new Client<Model>({ url: "http://127.0.0.1:1" });
const id: string = "plan";
const options = { client, subject: () => "user:ann" as const };
"""
RIGHT = """\
client.check("user:ann", "can-read", "document:plan");
client.check(`user:${id}`, "owner", `document:${id}`);
client.check("team:eng#member", "can-read", { objectType: "document", objectId: id });
client.check(null, "member", "team:eng");
client.checkMany([["user:ann", "can-read", "document:plan"], ["user:ann", "member", `team:${id}`]]);
client.require("user:ann", "member", "team:eng", { with: ["team:eng#member@user:ann"] });
client.objects("user:ann", "can-read", "document").toArray().then((found: `document:${string}`[]) => found);
client.subjects("document:plan", "owner", "team#member");
const subject = { objectType: "user", objectId: id } as const;
client.write({ create: [`document:${id}#owner@user:ann`, { object: "document:a", relation: "owner", subject }] });
client.write({ create: [{ object: "user:x", meta: {} }, { objectType: "user", objectId: id }] });
client.write({ delete: [{ objectType: "document", objectId: id, relation: "owner", subject }] });
client.warrants({ objectType: "document", relation: "member" });
client.watch({ objectTypes: ["team"], relations: ["member"] });
useCheck("owner", "document:plan");
Can({ relation: "member", object: `team:${id}` });
require("owner", "document:{id}", options);
export const type: ObjectType = "team";
export const relation: Relation<"document"> = "owner";
"""
WRONG = """\
client.check("user:ann", "can-raed", "document:plan");
client.check("user:ann", "member", "document:plan");
client.check("user:ann", "can-read", "docment:plan");
client.check("usr:ann", "can-read", "document:plan");
client.check("user:ann", "ownr", `document:${id}`);
client.check("user:ann", "member", { objectType: "document", objectId: id });
client.checkMany([["user:ann", "member", "document:plan"]]);
client.require("user:ann", "owner", "team:eng");
client.check("user:ann", "can-read", "document:plan", { with: ["team:eng#membr@user:ann"] });
client.objects("user:ann", "member", "document");
client.objects("user:ann", "can-read", "documents");
client.subjects("document:plan", "member", "user");
client.subjects("document:plan", "owner", "users");
client.write({ create: ["document:plan#member@user:ann"] });
client.write({ create: [`document:${id}#ownr@user:ann`] });
client.write({ create: ["docment:plan"] });
client.write({ create: [{ object: "docment:plan" }] });
client.write({ create: [{ object: "document:a", relation: "member", subject: "user:b" }] });
client.write({ preconditions: [{ exists: "document:plan#ownr@user:ann" }] });
client.warrants({ relation: "ownr" });
client.watch({ objectTypes: ["docs"] });
client.access({ subject: "usr:ann" });
useCheck("member", "document:plan");
Can({ relation: "owner", object: "team:eng" });
require("member", "document:{id}", options);
require("owner", "docment:{id}", options);
export const type: ObjectType = "docs";
export const relation: Relation<"document"> = "member";
"""


@pytest.mark.nightly
def test_a_typo_is_an_error_of_typescript(typescript_folder: Path) -> None:
    folder = typescript_folder / "typos"
    folder.mkdir()
    types = Magistrate("http://127.0.0.1:9").done("model", "types", "-", "--typescript", typed=MODEL)
    (folder / "model.ts").write_text(types)
    (folder / "right.ts").write_text(PROGRAM + RIGHT)
    (folder / "wrong.ts").write_text(PROGRAM + WRONG)
    options = {"noEmit": True, "noUnusedLocals": False}
    settings = {"extends": "../tests/tsconfig.json", "compilerOptions": options, "include": ["."]}
    (folder / "tsconfig.json").write_text(json.dumps(settings))

    command = ["node_modules/.bin/tsc", "-p", "typos", "--pretty", "false"]
    ran = subprocess.run(command, cwd=typescript_folder, capture_output=True, text=True, timeout=DEADLINE_SECONDS)

    faults = re.findall(r"^(\S+)\((\d+),", ran.stdout, re.MULTILINE)
    assert {file for file, _ in faults} == {"typos/wrong.ts"}, ran.stdout
    lines = (PROGRAM + WRONG).splitlines()
    assert sorted({int(line) for _, line in faults}) == [*range(PROGRAM.count("\n") + 1, len(lines) + 1)], ran.stdout
