"""One application in each framework, with the same routes: `python -m tests.clients.python.protected_apps NAME` serves
it on a free port, and prints its URL.

The header X-User has the user of a request. What a route answers is the object that its endpoint has read the id of."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import uvicorn
from werkzeug.serving import make_server

from magistrate_client import AsyncClient, Client

DOCUMENT = "document:{document_id}"
FILE = "file:{tenant}/{document_id}"
NUMBER = "document:{number}"
UNKNOWN = "document:{other}"
TROUBLES = ("down", "silent", "wrong_key")


def find_name(given: str | None) -> str | None:
    """The subject of a request: the name as it was given, whatever is in it."""
    return None if given is None else f"user:{given}"


def client_options(trouble: str) -> dict[str, Any]:
    """What makes a client that cannot check."""
    if trouble == "wrong_key":
        return {"key": "not-the-key"}
    return {"url": os.environ[f"TEST_{trouble.upper()}_URL"], "timeout": 0.5, "retries": 1}


def build_starlette() -> Any:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    from magistrate_client.starlette import require

    def find_user(request: Request) -> str | None:
        return find_name(request.headers.get("x-user"))

    async def find_user_later(request: Request) -> str | None:
        return find_user(request)

    @require("viewer", object=DOCUMENT, subject=find_user)
    async def read_document(request: Request) -> Response:
        return PlainTextResponse(DOCUMENT.format(**request.path_params))

    @require("viewer", object=FILE, subject=find_user_later)
    def read_file(request: Request) -> Response:
        return PlainTextResponse(FILE.format(**request.path_params))

    @require("viewer", object=NUMBER, subject=find_user)
    def read_number(request: Request) -> Response:
        return PlainTextResponse(NUMBER.format(**request.path_params))

    @require("viewer", object=UNKNOWN, subject=find_user)
    def read_unknown(request: Request) -> Response:
        return PlainTextResponse("never")

    def build_trouble(trouble: str) -> Route:
        guard = require("viewer", object=DOCUMENT, subject=find_user, client=AsyncClient(**client_options(trouble)))
        return Route(f"/{trouble}/{{document_id}}", guard(lambda request: PlainTextResponse("allowed")))

    @asynccontextmanager
    async def run(app: Starlette) -> AsyncIterator[None]:
        async with AsyncClient() as client:
            app.state.magistrate = client
            yield

    return Starlette(
        lifespan=run,
        routes=[
            Route("/documents/{document_id}", read_document),
            Route("/files/{tenant}/{document_id}", read_file),
            Route("/numbers/{number:int}", read_number),
            Route("/unknown/{document_id}", read_unknown),
            *map(build_trouble, TROUBLES),
        ],
    )


def build_fastapi() -> Any:
    from tests.clients.python import fastapi_site

    return fastapi_site.build(TROUBLES)


def build_flask() -> Any:
    from flask import Flask, request

    from magistrate_client.flask import require

    app = Flask("protected")
    app.extensions["magistrate"] = Client()

    def find_user() -> str | None:
        return find_name(request.headers.get("x-user"))

    @app.get("/documents/<document_id>")
    @require("viewer", object=DOCUMENT, subject=find_user)
    def read_document(document_id: str) -> str:
        return DOCUMENT.format(document_id=document_id)

    @app.get("/files/<tenant>/<document_id>")
    @require("viewer", object=FILE, subject=find_user)
    async def read_file(tenant: str, document_id: str) -> str:
        return FILE.format(tenant=tenant, document_id=document_id)

    @app.get("/numbers/<int:number>")
    @require("viewer", object=NUMBER, subject=find_user)
    def read_number(number: int) -> str:
        return NUMBER.format(number=number)

    @app.get("/unknown/<document_id>")
    @require("viewer", object=UNKNOWN, subject=find_user)
    def read_unknown(document_id: str) -> str:
        return "never"

    def build_trouble(trouble: str) -> Callable[..., Any]:
        client = Client(**client_options(trouble))
        return require("viewer", object=DOCUMENT, subject=find_user, client=client)(lambda document_id: "allowed")

    for trouble in TROUBLES:
        app.add_url_rule(f"/{trouble}/<document_id>", trouble, build_trouble(trouble))
    return app


def build_django(is_async: bool) -> Any:
    from tests.clients.python import django_site

    return django_site.build(is_async, TROUBLES)


def serve(name: str) -> None:
    """Serves one application until the process is killed."""
    builds: dict[str, Callable[[], Any]] = {
        "starlette": build_starlette,
        "fastapi": build_fastapi,
        "flask": build_flask,
        "django": lambda: build_django(is_async=False),
        "django-async": lambda: build_django(is_async=True),
    }
    app = builds[name]()
    with socket.create_server(("127.0.0.1", 0)) as listening, suppress(KeyboardInterrupt):
        port = listening.getsockname()[1]
        print(f"http://127.0.0.1:{port}", flush=True)
        if name in ("flask", "django"):
            make_server("127.0.0.1", port, app, threaded=True, fd=listening.fileno()).serve_forever()
        else:
            uvicorn.Server(uvicorn.Config(app, log_level="warning")).run([listening])


if __name__ == "__main__":
    serve(sys.argv[1])
