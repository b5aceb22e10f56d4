"""The examples of docs/clients.md; that in Go is run with the tests of its client."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.typescript_package import run_in
from tests.generated_docs import ROOT
from tests.running import KEY, Client

PAGE = (ROOT / "docs" / "clients.md").read_text()
MODEL = """version 1.0
type user
type document
    relation viewer [user]
    relation can-read []
    inherit can-read if relation viewer
"""


def read_example(language: str) -> str:
    [example] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(example)


def write_model(service: Client) -> dict[str, str]:
    """The environment of a client of the service, which has the model of the examples."""
    written = service.put("/v2/model", content=MODEL.encode(), headers={"content-type": "text/plain"})
    assert written.status_code == 200, written.text
    return {"MAGISTRATE_URL": str(service.base_url).rstrip("/"), "MAGISTRATE_API_KEY": KEY}


def test_the_example_in_python_allows_what_it_has_written(shared_client: Client) -> None:
    environment = os.environ | write_model(shared_client)
    command = [sys.executable, "-c", read_example("python")]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)

    assert (ran.stdout, ran.stderr) == ("True\n", "")


def test_the_example_in_typescript_allows_what_it_has_written(typescript_folder: Path, shared_client: Client) -> None:
    environment = write_model(shared_client)
    (typescript_folder / "page.mjs").write_text(read_example("ts"))

    assert run_in(typescript_folder, "node", "page.mjs", environment=environment) == "true\n"


@pytest.mark.nightly
def test_the_example_in_react_has_the_types_of_the_client(typescript_folder: Path) -> None:
    source = f"""import {{ Client }} from "@magistrate/client";
declare const client: Client;
{read_example("tsx")}"""
    (typescript_folder / "tests" / "page.tsx").write_text(source)

    run_in(typescript_folder, "node_modules/.bin/tsc", "--noEmit", "-p", "tests")
    (typescript_folder / "tests" / "page.tsx").unlink()


def test_the_example_in_express_protects_a_route(typescript_folder: Path, shared_client: Client) -> None:
    written = shared_client.put("/v2/model", content=MODEL.encode(), headers={"content-type": "text/plain"})
    assert written.status_code == 200, written.text
    shared_client.grant("document:plan#viewer@user:ann")
    program = f"""import express from "express";
const app = express();
app.use((request, response, next) => {{
  if (request.query.user) request.user = {{ id: request.query.user }};
  next();
}});
const showDocument = (request, response) => response.send("shown");
{read_example("js")}
const server = app.listen(0, async () => {{
  for (const query of ["?user=ann", "?user=bob", ""]) {{
    const answer = await fetch(`http://127.0.0.1:${{server.address().port}}/documents/plan${{query}}`);
    console.log(answer.status);
  }}
  server.closeAllConnections();
  server.close();
}});
"""
    (typescript_folder / "routes.mjs").write_text(program)
    environment = {"MAGISTRATE_URL": str(shared_client.base_url).rstrip("/"), "MAGISTRATE_API_KEY": KEY}

    assert run_in(typescript_folder, "node", "routes.mjs", environment=environment) == "200\n403\n401\n"
