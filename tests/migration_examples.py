"""The examples of docs/migrating.md, read: requests, and what either server answers.

A block of them is text. A line begins a step: a request (`POST /v2/objects {...}`), or a shorter form of one:
`type NAME {...}` and `warrant WRITTEN` create, `check WRITTEN with {...}` and `query TEXT with {...}` read. Indented
lines below it are a header to send, or what a server answers: the status and the body, or only the status; of a check
the result, of a query the rows. What both are given has no answers, and succeeds."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import httpx

from tests.running import Client
from tests.scenario_files import warrant_body

DOCUMENT = (Path(__file__).parents[1] / "docs" / "migrating.md").read_text()
DIFFERENCES = DOCUMENT.partition("\n## Differences\n")[2].partition("\n## ")[0]

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_CURSOR = re.compile(r'(Cursor":")[\w-]+')


class Step(NamedTuple):
    """`answers` by the name of the server: what it answers, as written."""

    request: str
    headers: dict[str, str]
    answers: dict[str, str]


class Section(NamedTuple):
    title: str
    steps: list[Step]


def sections() -> list[Section]:
    found = []
    for text in DIFFERENCES.split("\n### ")[1:]:
        title, _, content = text.partition("\n")
        blocks = re.findall(r"```text\n(.*?)```", content, re.DOTALL)
        found.append(Section(title, [step for block in blocks for step in _steps(block)]))
    return found


def _steps(block: str) -> list[Step]:
    steps: list[Step] = []
    for line in block.splitlines():
        if not line.startswith(" "):
            steps.append(Step(line, {}, {}))
            continue
        name, _, value = line.strip().partition(":")
        place = steps[-1].answers if name in ("Warrant", "Magistrate") else steps[-1].headers
        place[name] = value.strip()
    return steps


def answer_of(client: Client, step: Step, seen: dict[str, str]) -> str:
    """What a running service answers, as the document would write it. `seen`: cursors of answers before."""
    word, _, rest = step.request.partition(" ")
    if word == "type":
        name, _, relations = rest.partition(" ")
        body = f'{{"type": "{name}", "relations": {relations}}}'
        return written(client.post("/v2/object-types", content=body), seen)
    if word == "warrant":
        client.grant(*_expanded(rest))
        return "200"
    if word in ("check", "query"):
        asked, _, context = rest.partition(" with ")
        return _asked(client, asked, context) if word == "check" else _queried(client, asked, context)
    path, _, content = rest.partition(" ")
    for name, cursor in seen.items():
        path = path.replace(f"{{{name}}}", cursor)
    return written(client.request(word, path, content=content or None, headers=step.headers), seen)


def _expanded(text: str) -> list[str]:
    """`{1..3}` is each of these numbers, as in a shell."""
    found = re.search(r"\{(\d+)\.\.(\d+)\}", text)
    if found is None:
        return [text]
    return [text.replace(found[0], str(number)) for number in range(int(found[1]), int(found[2]) + 1)]


def _asked(client: Client, claim: str, context: str) -> str:
    own = {"context": json.loads(context)} if context else {}
    answer = client.post("/v2/check", json={"warrants": [warrant_body(claim) | own]})
    return f"{answer.status_code} {answer.json().get('result') or answer.json()['message']}"


def _queried(client: Client, query: str, context: str) -> str:
    answer = client.get("/v2/query", params={"q": query} | ({"context": context} if context else {}))
    rows = answer.json().get("results", ())
    found = ", ".join(f"{row['objectType']}:{row['objectId']}#{row['relation']}" for row in rows)
    return f"{answer.status_code} {found or answer.json().get('message', 'none')}"


def written(answer: httpx.Response, seen: dict[str, str]) -> str:
    """Status and body, with placeholders for times and cursors."""
    if answer.content and answer.status_code == 200 and isinstance(answer.json(), dict):
        seen.update({name: value for name, value in answer.json().items() if name.endswith("Cursor")})
    body = _CURSOR.sub(r"\1...", _TIME.sub("...", answer.text.strip()))
    return f"{answer.status_code} {body}".strip()
