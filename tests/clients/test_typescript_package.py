"""The package of the client for TypeScript, installed as its users install it, and what its README shows."""

import json
import re
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.clients.typescript_package import SOURCE, run_in
from tests.running import KEY, Client

README = (SOURCE / "README.md").read_text()
MODEL = """\
version 1.0

type user

type group
    relation member [user]

type document
    relation owner [user]

    relation viewer [user, group#member]
    inherit viewer if relation owner
"""
COMPILER = {"strict": True, "exactOptionalPropertyTypes": True, "module": "nodenext", "target": "es2022", "types": []}
SPACE = re.compile(r"\s+")


@pytest.fixture(scope="module")
def packed(typescript_folder: Path) -> Path:
    """The archive that a registry would get."""
    run_in(typescript_folder, "npm", "pack", "--ignore-scripts")
    [archive] = typescript_folder.glob("*.tgz")
    return archive


def install(archive: Path, folder: Path) -> Path:
    """Returns a folder, empty before, in which the package is installed, from the archive alone."""
    folder.mkdir(exist_ok=True)
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    run_in(folder, "npm", "install", "--offline", "--no-audit", "--no-fund", "--no-save", archive)
    return folder


@pytest.fixture(scope="module")
def beside_tools(packed: Path, typescript_folder: Path) -> Path:
    """A folder with the package installed, and with React, Express and their types in the folder above."""
    return install(packed, typescript_folder / "installed")


def compiler_of(beside_tools: Path) -> Path:
    return beside_tools.parent / "node_modules" / ".bin" / "tsc"


def new_folder(beside_tools: Path, name: str) -> Path:
    """Returns an empty folder from which the package is found."""
    folder = beside_tools / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def read_block(name: str) -> str:
    """Returns the code of the README that is marked so; the first has no mark."""
    [code] = re.findall(rf"^```{name}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    return str(code)


def variables_for(service: Client) -> dict[str, str]:
    return {"MAGISTRATE_URL": str(service.base_url).rstrip("/"), "MAGISTRATE_API_KEY": KEY}


def compile_in(folder: Path, compiler: Path, **options: object) -> None:
    settings = {"compilerOptions": {**COMPILER, **options}, "include": ["*.ts", "*.tsx"]}
    (folder / "tsconfig.json").write_text(json.dumps(settings))
    run_in(folder, compiler)


@pytest.fixture
def service(shared_client: Client) -> Client:
    """A service that has the model, and no warrants."""
    shared_client.clear()
    written = shared_client.put("/v2/model", content=MODEL.encode(), headers={"Content-Type": "text/plain"})
    written.raise_for_status()
    return shared_client


def test_the_archive_has_what_users_need_and_nothing_else(packed: Path) -> None:
    with tarfile.open(packed) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}

    exported = json.loads((SOURCE / "package.json").read_text())["exports"]
    files = [path for entry in exported.values() for path in (entry.values() if isinstance(entry, dict) else [entry])]
    assert {file.removeprefix("./") for file in files} <= names
    assert {name for name in names if not name.startswith("dist/")} == {"package.json", "README.md", "LICENSE"}
    assert {"".join(Path(name).suffixes) for name in names if name.startswith("dist/")} == {".js", ".d.ts"}


def test_it_is_installed_alone_and_used_from_a_typed_program(
    packed: Path, typescript_folder: Path, service: Client, tmp_path: Path
) -> None:
    folder = install(packed, tmp_path / "clean")
    program = """\
import { Client, type CheckOptions, NotFound } from "@magistrate/client";

declare const console: { log(value: unknown): void };
const client: Client = new Client();
const options: CheckOptions = { strict: true };
await client.write({ create: ["document:plan#viewer@user:ann"] });
const answers: boolean[] = [await client.check("user:ann", "viewer", "document:plan", options)];
answers.push(...(await client.checkMany([["user:bob", "viewer", "document:plan"]])));
const unknown = client.check("user:ann", "viewer", "file:plan");
const missing = await unknown.catch((error: unknown) => error instanceof NotFound);
console.log(JSON.stringify({ answers, missing }));
"""
    (folder / "program.ts").write_text(program)

    compile_in(folder, typescript_folder / "node_modules" / ".bin" / "tsc")
    printed = run_in(folder, "node", "program.js", environment=variables_for(service))

    assert [path.name for path in (folder / "node_modules").iterdir() if path.name[0] != "."] == ["@magistrate"]
    assert json.loads(printed) == {"answers": [True, False], "missing": True}


@pytest.mark.nightly
def test_the_first_example_of_the_readme_prints_what_it_says(beside_tools: Path, service: Client) -> None:
    code = read_block("ts")
    variables = variables_for(service)
    folder = new_folder(beside_tools, "first")
    (folder / "first.ts").write_text(code.replace("http://127.0.0.1:8000", variables["MAGISTRATE_URL"]))

    compile_in(folder, compiler_of(beside_tools), types=["node"])
    printed = run_in(folder, "node", "first.js", environment=variables)

    promised = re.findall(r"console\.log.*?// (.*)", code)
    assert len(promised) >= 4
    assert SPACE.split(printed.strip()) == SPACE.split(" ".join(promised))


@pytest.mark.nightly
def test_the_components_of_the_readme_are_typed_and_rendered_on_a_server(beside_tools: Path) -> None:
    folder = new_folder(beside_tools, "rendered")
    (folder / "app.tsx").write_text(read_block("tsx react"))
    (folder / "render.ts").write_text(
        'import { createElement } from "react";\nimport { renderToString } from "react-dom/server";\n'
        'import { App } from "./app.js";\nconsole.log(renderToString(createElement(App)));\n'
    )

    compile_in(folder, compiler_of(beside_tools), types=["node"], jsx="react-jsx", skipLibCheck=True)
    printed = run_in(folder, "node", "render.js")

    assert printed == "<p>Ask its owner for access.</p>\n"


@pytest.mark.nightly
def test_the_types_of_the_readme_find_its_typo(beside_tools: Path) -> None:
    folder = new_folder(beside_tools, "typed")
    model = '{ "document": "owner" | "viewer"; "user": never; "group": "member" }'
    (folder / "model.ts").write_text(f"export type Model = {model};\n")
    (folder / "types.ts").write_text(read_block("ts types"))
    (folder / "register.ts").write_text(read_block("ts register"))
    (folder / "app.tsx").write_text(read_block("tsx react"))

    compiler = compiler_of(beside_tools)
    compile_in(folder, compiler, noEmit=True, jsx="react-jsx", skipLibCheck=True)
    (folder / "app.tsx").write_text(read_block("tsx react").replace('relation="viewer"', 'relation="veiwer"'))
    with pytest.raises(AssertionError, match='"veiwer"'):
        compile_in(folder, compiler, noEmit=True, jsx="react-jsx", skipLibCheck=True)


@pytest.mark.nightly
def test_the_middleware_of_the_readme_answers(beside_tools: Path, service: Client) -> None:
    service.grant("document:plan#viewer@user:ann")
    code = read_block("ts express").replace("app.listen(8080)", "const server = app.listen(0, ask)")
    folder = new_folder(beside_tools, "routes")
    (folder / "routes.ts").write_text(
        f"""{code}
async function ask() {{
  const {{ port }} = server.address() as {{ port: number }};
  for (const headers of [{{ "X-User": "ann" }}, {{ "X-User": "bob" }}, {{ "X-User": "" }}]) {{
    const answer = await fetch(`http://127.0.0.1:${{port}}/documents/plan`, {{ headers }});
    console.log(answer.status, await answer.text());
  }}
  server.closeAllConnections();
  server.close();
}}
"""
    )

    compile_in(folder, compiler_of(beside_tools), types=["node"], skipLibCheck=True)
    printed = run_in(folder, "node", "routes.js", environment=variables_for(service))

    assert [line.split(" ", 1)[0] for line in printed.splitlines()] == ["200", "403", "401"]
    assert "the document plan" in printed
