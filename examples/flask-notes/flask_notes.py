"""Notes that their owners share: who may do what with a note is decided by Magistrate, and stored nowhere else."""

import os
from pathlib import Path

from flask import Flask, abort, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from magistrate_client import Client, ObjectRef, SubjectRef, Warrant
from magistrate_client.flask import require

NOTES: dict[str, str] = {}
"""Texts by the ids of notes, for as long as the process lives."""

app = Flask(__name__)
client = Client()  # MAGISTRATE_URL and MAGISTRATE_API_KEY say where the service is
app.extensions["magistrate"] = client


@app.errorhandler(HTTPException)
def render_error(error: HTTPException) -> ResponseReturnValue:
    return {"error": error.name}, error.code or 500, [("WWW-Authenticate", "Bearer")] if error.code == 401 else []


def find_user() -> SubjectRef | None:
    """Says who sent a request. Your login does this; a header that anybody can send does not."""
    name = request.headers.get("X-User")
    return None if name is None else SubjectRef("user", name)


@app.post("/notes")
def create_note() -> ResponseReturnValue:
    user, note = find_user() or abort(401), request.get_json()
    if note["id"] in NOTES:
        abort(409)
    client.write(create=[Warrant(ObjectRef("note", note["id"]), "owner", user)])
    NOTES[note["id"]] = note["text"]
    return {"id": note["id"]}


@app.get("/notes")
def list_notes() -> ResponseReturnValue:
    user = find_user() or abort(401)
    return [note.removeprefix("note:") for note in client.objects(user, "viewer", "note")]


@app.get("/notes/<note_id>")
@require("viewer", object="note:{note_id}", subject=find_user)
def read_note(note_id: str) -> ResponseReturnValue:
    return {"text": NOTES[note_id]}


@app.put("/notes/<note_id>/viewers/<name>")
@require("owner", object="note:{note_id}", subject=find_user)
def share_note(note_id: str, name: str) -> ResponseReturnValue:
    client.write(create=[Warrant(ObjectRef("note", note_id), "viewer", SubjectRef("user", name))])
    return {}


@app.delete("/notes/<note_id>/viewers/<name>")
@require("owner", object="note:{note_id}", subject=find_user)
def unshare_note(note_id: str, name: str) -> ResponseReturnValue:
    client.write(delete=[Warrant(ObjectRef("note", note_id), "viewer", SubjectRef("user", name))])
    return {}


if __name__ == "__main__":
    client.write_model((Path(__file__).parent / "model.txt").read_text())
    app.run(port=int(os.environ.get("PORT", "8080")))
