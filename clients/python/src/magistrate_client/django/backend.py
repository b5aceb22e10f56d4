"""Answers `user.has_perm` with checks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.contrib.auth.backends import BaseBackend

from magistrate_client.django.configuration import get_client, read_configuration
from magistrate_client.django.naming import name_object, name_subject
from magistrate_client.guards import Rejection

if TYPE_CHECKING:
    from django.contrib.auth.base_user import AbstractBaseUser
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import Model

_RELATION = re.compile(r"[A-Za-z0-9_-]{1,64}")


class MagistrateBackend(BaseBackend):
    """Answers for permissions on an object whose name is that of a relation: `user.has_perm("viewer", document)`.

    Django's own, such as `documents.change_document`, stand for the relations that `MAGISTRATE["PERMISSIONS"]` has for
    them. For any other, and without an object, this backend says no, and other backends are asked. Django does not ask
    for a superuser, who has every permission. An error of a check is raised: it never means yes, nor a plain no."""

    def has_perm(self, user_obj: AbstractBaseUser | AnonymousUser, perm: str, obj: Model | Any | None = None) -> bool:
        """Returns whether a user has a relation on an object."""
        relation = read_configuration().get("PERMISSIONS", {}).get(perm, perm)
        if obj is None or not _RELATION.fullmatch(relation):
            return False
        try:
            subject, named = name_subject(user_obj), name_object(obj)
        except Rejection:  # an id that no subject or object can have
            return False
        return subject is not None and get_client().check(subject, relation, named)

    async def ahas_perm(
        self, user_obj: AbstractBaseUser | AnonymousUser, perm: str, obj: Model | Any | None = None
    ) -> bool:
        """Returns the same as `has_perm`."""
        return await sync_to_async(self.has_perm)(user_obj, perm, obj)
