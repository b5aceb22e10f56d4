"""The HTTP API of the application. Every endpoint checks with Magistrate first.

Two databases cannot be written at once, so one rule holds for the order: **what is in storage always has its
warrants.** They are written before it and deleted after it. Whatever fails in between leaves warrants for something
that is not there, which open nothing; the caller gets 503 and sends the request again.
"""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Path, Request
from pydantic import AwareDatetime

from sharing.access import Access
from sharing.bodies import (
    Credentials,
    Document,
    Edited,
    NewDocument,
    NewFolder,
    NewGroup,
    Readers,
    RelationResult,
    Token,
)
from sharing.callers import Anyone, Authorized, Me, Stored
from sharing.items import NAME, RELATIONS, Item, Kind, new_item
from sharing.login import token_for
from sharing.service import Grant
from sharing.storage import Storage

router = APIRouter()
MOVES = 5
"""How often a move is tried: each time, somebody else moved the document in the meantime."""
Id = Annotated[str, Path(pattern=f"^{NAME}$")]
SubjectName = Annotated[str, Path(pattern=f"^(everyone|(user|group):{NAME})$")]


@router.post("/login")
def log_in(who: Credentials, request: Request, storage: Stored, service: Authorized) -> Token:
    if not storage.has_user(who.user):
        service.add_user(who.user)
        storage.add_user(who.user)
    return Token(token=token_for(who.user, request.app.state.secret))


@router.post("/me/session")
def open_session(me: Me) -> Token:
    """For browser code that wants to know which buttons to show, without requests to this application."""
    return Token(token=me.session())


def create(kind: Kind, title: str, text: str, folder: str | None, me: Access, storage: Storage) -> Item:
    item = new_item(kind)
    grants = [Grant(item, "owner", f"user:{me.user}")]
    if folder is not None:
        me.require(("can-write", Item(Kind.folder, folder)))
        grants.append(Grant(item, "parent", f"folder:{folder}"))
    me.grant(*grants)
    storage.add(item, title, text)
    return item


@router.post("/documents", status_code=201)
def create_document(new: NewDocument, me: Me, storage: Stored) -> Document:
    item = create(Kind.document, new.title, new.text, new.folder, me, storage)
    return Document(id=item.id, title=new.title, text=new.text)


@router.post("/folders", status_code=201)
def create_folder(new: NewFolder, me: Me, storage: Stored) -> RelationResult:
    return RelationResult(id=create(Kind.folder, new.title, "", new.folder, me, storage).id, title=new.title)


@router.post("/groups", status_code=201)
def create_group(new: NewGroup, me: Me, storage: Stored) -> RelationResult:
    return RelationResult(id=create(Kind.group, new.title, "", None, me, storage).id, title=new.title)


@router.get("/{kind}")
def list_readable(kind: Kind, me: Me, storage: Stored) -> list[RelationResult]:
    """All that the user may read, wherever the permission comes from, by title."""
    return [RelationResult(id=item_id, title=title) for item_id, title in storage.titles(kind, me.readable(kind))]


@router.get("/folders/{item_id}/documents")
def list_folder(item_id: Id, me: Me, storage: Stored) -> list[RelationResult]:
    """The documents of a folder that the user may read: being blocked from one hides it here too."""
    folder = Item(Kind.folder, item_id)
    me.require(("can-read", folder))
    ids = set(me.documents_in(folder)) & set(me.readable(Kind.document))
    return [RelationResult(id=item_id, title=title) for item_id, title in storage.titles(Kind.document, ids)]


@router.get("/documents/{item_id}")
def read_document(item_id: Id, anyone: Anyone, storage: Stored) -> Document:
    """Also without a login: the public link of a document is its URL."""
    item = Item(Kind.document, item_id)
    anyone.require(("can-read", item))
    if (found := storage.get(item)) is None:
        raise HTTPException(404, "not found")
    return Document(id=item_id, title=found[0], text=found[1])


@router.put("/documents/{item_id}")
def edit_document(item_id: Id, new: Edited, me: Me, storage: Stored) -> Document:
    item = Item(Kind.document, item_id)
    me.require(("can-write", item))
    if not storage.replace(item, new.title, new.text):
        raise HTTPException(404, "not found")
    return Document(id=item_id, title=new.title, text=new.text)


@router.delete("/{kind}/{item_id}", status_code=204)
def delete_item(kind: Kind, item_id: Id, me: Me, storage: Stored) -> None:
    """What was in a folder stays with its owners. If it fails half-way, the owner can still send it again."""
    item = Item(kind, item_id)
    me.require(("can-manage", item))
    storage.remove(item)
    me.forget(item)


@router.get("/{kind}/{item_id}/readers")
def list_readers(kind: Kind, item_id: Id, me: Me) -> Readers:
    item = Item(kind, item_id)
    me.require(("can-manage", item))
    found = me.readers(item)
    return Readers(users=[user for user in found if user != "*"], everyone="*" in found)


@router.put("/documents/{item_id}/folder/{folder}", status_code=204)
def move_document(item_id: Id, folder: Id, me: Me) -> None:
    """Out of the old folder and into the new one in one change: at each moment the document is in one of them. When
    two moves meet, the second begins again with what the first one made."""
    document, target = Item(Kind.document, item_id), Item(Kind.folder, folder)
    me.require(("can-manage", document), ("can-write", target))
    for _ in range(MOVES):
        left = [other for other in me.folders_of(document) if other != folder]
        old = [Grant(document, "parent", f"folder:{other}") for other in left]
        if me.replace(old, Grant(document, "parent", f"folder:{folder}")):
            return
    raise HTTPException(409, "others are moving this document too")


def subject_named(name: str) -> str:
    """`everyone`, `user:NAME` or `group:ID`; of a group, its members."""
    if name == "everyone":
        return "user:*"
    return f"{name}#member" if name.startswith("group:") else name


def granted(kind: Kind, item_id: Id, relation: str, subject: SubjectName) -> Grant:
    """What a URL such as `/documents/7f3a/editor/group:51c0` says."""
    if relation not in RELATIONS[kind]:
        raise HTTPException(404, f"{kind} have {', '.join(sorted(RELATIONS[kind]))}")
    if subject == "everyone" and relation != "viewer":
        raise HTTPException(422, "everyone can be viewer only")
    return Grant(Item(kind, item_id), relation, subject_named(subject))


Granted = Annotated[Grant, Depends(granted)]


@router.put("/{kind}/{item_id}/{relation}/{subject}", status_code=204)
def share(grant: Granted, me: Me, until: AwareDatetime | None = None) -> None:
    """Makes a user, a group or everyone owner, editor or viewer of something, or member of a group, or blocks them;
    until a time, if there is one, from which on they are not. Sharing again sets another end, or none.
    Users need not have logged in yet; groups must be such as the caller is in."""
    if until is not None and until <= datetime.now(UTC):
        raise HTTPException(422, "until must be in the future")
    asked = [("can-manage", grant.item)]
    if grant.subject.startswith("group:"):
        asked.append(("can-read", Item(Kind.group, grant.subject.removeprefix("group:").removesuffix("#member"))))
    me.require(*asked)
    me.grant(grant._replace(until=until))


@router.delete("/{kind}/{item_id}/{relation}/{subject}", status_code=204)
def unshare(grant: Granted, me: Me) -> None:
    """Takes back what `share` gave. Nobody gives up being owner: another owner has to take it."""
    me.require(("can-manage", grant.item))
    if grant.relation == "owner" and grant.subject == f"user:{me.user}":
        raise HTTPException(409, "another owner has to do this, so that there always is one")
    me.revoke(grant)
