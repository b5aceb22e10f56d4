"""Names the subject of a user and the object of an instance, as the setting says or by default."""

from __future__ import annotations

from typing import Any

from django.db.models import Model

from magistrate_client.django.configuration import find_function
from magistrate_client.errors import InvalidUse
from magistrate_client.guards import read_object, read_subject
from magistrate_client.refs import AnyObject, AnySubject, ObjectRef, SubjectRef


def name_subject(user: Any) -> SubjectRef | None:
    """Returns who a user is: `user:` and the primary key, or what `MAGISTRATE["SUBJECT"]` returns for the user. None
    stands for nobody: a user who has not logged in or is not active."""
    if user is None or not user.is_authenticated or not user.is_active:
        return None
    named: AnySubject | None = find_function("SUBJECT", _name_user)(user)
    return None if named is None else read_subject(named)


def name_object(thing: Any) -> ObjectRef:
    """Returns the object that an instance of a model is: the name of the model in lower case and the primary key, or
    what `MAGISTRATE["OBJECT"]` returns for it. An object, or its text, is itself."""
    if isinstance(thing, (str, ObjectRef)):
        return read_object(thing)
    named: AnyObject = find_function("OBJECT", _name_instance)(thing)
    return read_object(named)


def _name_user(user: Any) -> AnySubject:
    return SubjectRef("user", str(user.pk))


def _name_instance(thing: Any) -> AnyObject:
    if not isinstance(thing, Model) or thing.pk is None or isinstance(thing.pk, tuple):
        raise InvalidUse(f"{thing!r} is no stored instance with one primary key; MAGISTRATE['OBJECT'] may name it")
    return ObjectRef(str(thing._meta.model_name), str(thing.pk))
