"""The application in FastAPI."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, Header, WebSocket
from fastapi.params import Depends as Dependency
from fastapi.responses import PlainTextResponse

from magistrate_client import AsyncClient, ObjectRef
from magistrate_client.fastapi import require
from tests.clients.python.protected_apps import DOCUMENT, FILE, NUMBER, UNKNOWN, client_options, find_name


@asynccontextmanager
async def run(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncClient() as client:
        app.state.magistrate = client
        yield


app = FastAPI(lifespan=run)


def find_user(x_user: Annotated[str | None, Header()] = None) -> str | None:
    return find_name(x_user)


def depend(template: str, client: AsyncClient | None = None) -> Dependency:
    dependency: Dependency = Depends(require("viewer", object=template, subject=find_user, client=client))
    return dependency


@app.get("/documents/{document_id}", dependencies=[depend(DOCUMENT)])
def read_document(document_id: str) -> PlainTextResponse:
    return PlainTextResponse(DOCUMENT.format(document_id=document_id))


@app.get("/files/{tenant}/{document_id}")
async def read_file(found: Annotated[ObjectRef, depend(FILE)]) -> PlainTextResponse:
    return PlainTextResponse(str(found))


@app.get("/numbers/{number:int}", dependencies=[depend(NUMBER)])
def read_number(number: int) -> PlainTextResponse:
    return PlainTextResponse(NUMBER.format(number=number))


@app.get("/unknown/{document_id}", dependencies=[depend(UNKNOWN)])
def read_unknown() -> PlainTextResponse:
    return PlainTextResponse("never")


def read_in_trouble() -> PlainTextResponse:
    return PlainTextResponse("allowed")


def build(troubles: Sequence[str]) -> FastAPI:
    for trouble in troubles:
        client = AsyncClient(**client_options(trouble))
        app.get(f"/{trouble}/{{document_id}}", dependencies=[depend(DOCUMENT, client)])(read_in_trouble)
    return app


def build_sockets(client: AsyncClient, down: AsyncClient) -> FastAPI:
    """An application with WebSockets."""
    sockets = FastAPI()
    for path, checking in (("/sockets", client), ("/sockets-down", down)):

        async def greet(websocket: WebSocket, found: Annotated[ObjectRef, depend(DOCUMENT, checking)]) -> None:
            await websocket.accept()
            await websocket.close()

        sockets.websocket(f"{path}/{{document_id}}")(greet)
    return sockets
