"""Notes that their owners share: who may do what with a note is decided by Magistrate, and stored nowhere else."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, Request
from pydantic import BaseModel

from magistrate_client import AsyncClient, ObjectRef, SubjectRef, Warrant
from magistrate_client.fastapi import require

NOTES: dict[str, str] = {}
"""Texts by the ids of notes, for as long as the process lives."""


@asynccontextmanager
async def run(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncClient() as client:  # MAGISTRATE_URL and MAGISTRATE_API_KEY say where the service is
        await client.write_model((Path(__file__).parent / "model.txt").read_text())
        app.state.magistrate = client
        yield


def find_user(x_user: Annotated[str | None, Header()] = None) -> SubjectRef | None:
    """Says who sent a request. Your login does this; a header that anybody can send does not."""
    return None if x_user is None else SubjectRef("user", x_user)


def require_user(user: Annotated[SubjectRef | None, Depends(find_user)]) -> SubjectRef:
    if user is None:
        raise HTTPException(401, "Log in first.", {"WWW-Authenticate": "Bearer"})
    return user


def find_client(request: Request) -> AsyncClient:
    client: AsyncClient = request.app.state.magistrate
    return client


Client = Annotated[AsyncClient, Depends(find_client)]
User = Annotated[SubjectRef, Depends(require_user)]
ReadNote = Annotated[ObjectRef, Depends(require("viewer", object="note:{note_id}", subject=find_user))]
OwnNote = Annotated[ObjectRef, Depends(require("owner", object="note:{note_id}", subject=find_user))]


class NewNote(BaseModel):
    """Is the body of a request that creates a note."""

    id: str
    text: str


app = FastAPI(lifespan=run)


@app.post("/notes")
async def create_note(new: NewNote, user: User, client: Client) -> dict[str, str]:
    if new.id in NOTES:
        raise HTTPException(409, "There is such a note.")
    await client.write(create=[Warrant(ObjectRef("note", new.id), "owner", user)])
    NOTES[new.id] = new.text
    return {"id": new.id}


@app.get("/notes")
async def list_notes(user: User, client: Client) -> list[str]:
    return [note.removeprefix("note:") async for note in client.objects(user, "viewer", "note")]


@app.get("/notes/{note_id}")
async def read_note(note: ReadNote) -> dict[str, str]:
    return {"text": NOTES[note.id]}


@app.put("/notes/{note_id}/viewers/{name}")
async def share_note(note: OwnNote, name: str, client: Client) -> dict[str, str]:
    await client.write(create=[Warrant(note, "viewer", SubjectRef("user", name))])
    return {}


@app.delete("/notes/{note_id}/viewers/{name}")
async def unshare_note(note: OwnNote, name: str, client: Client) -> dict[str, str]:
    await client.write(delete=[Warrant(note, "viewer", SubjectRef("user", name))])
    return {}


if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8080")))
