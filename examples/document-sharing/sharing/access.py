"""What a user may do, and what is done in the user's name."""

from collections.abc import Sequence

from fastapi import HTTPException

from sharing.items import Item, Kind
from sharing.service import Grant, GrantGone, Service
from sharing.storage import Storage


class Access:
    """One user at Magistrate. Reads are at least as fresh as the last write of that user, whichever node of Magistrate
    answers. The errors are those of the service."""

    def __init__(self, user: str, storage: Storage, service: Service) -> None:
        self.user = user
        self._storage = storage
        self._service = service

    def require(self, *asked: tuple[str, Item]) -> None:
        """Raises HTTPException unless the user has every permission that is needed.

        404 for what the user may not read, the same as for what there is not: nobody learns that it exists. 403
        for what the user may read but not do this with.
        """
        if all(self._check(asked)):
            return
        for permission, item in asked:
            [readable, allowed] = self._check([("can-read", item), (permission, item)])
            if not readable:
                raise HTTPException(404, "not found")
            if not allowed:
                raise HTTPException(403, f"this takes {permission} on the {item.kind.name}")

    def _check(self, asked: Sequence[tuple[str, Item]]) -> list[bool]:
        return self._service.check(self.user, asked, self._token)

    def readable(self, kind: Kind) -> list[str]:
        """The ids of all that the user may read: exactly those for which `require` of can-read would not raise."""
        return self._service.objects(kind, "can-read", f"user:{self.user}", self._token)

    def documents_in(self, folder: Item) -> list[str]:
        """The ids of all documents in a folder, whoever may read them."""
        return self._service.objects(Kind.document, "parent", f"folder:{folder.id}", self._token)

    def folders_of(self, document: Item) -> list[str]:
        return self._service.subjects(document, "parent", "folder", self._token)

    def readers(self, item: Item) -> list[str]:
        """Every user who may read it; `*` among them if everyone may."""
        return self._service.subjects(item, "can-read", "user", self._token)

    def grant(self, *grants: Grant) -> None:
        """All of them or none; those that are there already stay."""
        self._keep(self._service.write(grants))

    def revoke(self, grant: Grant) -> None:
        """What is not there is revoked already."""
        try:
            self._keep(self._service.write([], [grant]))
        except GrantGone:
            return

    def replace(self, old: Sequence[Grant], new: Grant) -> bool:
        """Revokes and grants in one change: nobody ever sees a part of it. False, and nothing is changed, if one of
        the old warrants is gone."""
        try:
            self._keep(self._service.write([new], old))
        except GrantGone:
            return False
        return True

    def forget(self, item: Item) -> None:
        """Deletes an object with all its warrants. What is not there needs no deletion."""
        self._keep(self._service.forget(item))

    def session(self) -> str:
        """A token for a browser, which may check with Magistrate what this user may do."""
        return self._service.open_session(self.user)

    def _keep(self, token: str | None) -> None:
        if token is not None:
            self._storage.keep_warrant_token(self.user, token)

    @property
    def _token(self) -> str:
        return self._storage.warrant_token(self.user)
