"""Defines the tag `{% allowed "viewer" document as can_view %}`."""

from __future__ import annotations

from typing import Any, Final

from django.template import Context, Library

from magistrate_client.django.configuration import get_client
from magistrate_client.django.naming import name_object, name_subject
from magistrate_client.errors import InvalidUse
from magistrate_client.guards import Rejection, read_subject
from magistrate_client.refs import AnySubject, ObjectRef, SubjectRef

register = Library()
_CALLER: Final = "the user of the request"


@register.simple_tag(takes_context=True)
def allowed(context: Context, relation: str, thing: Any, subject: Any = _CALLER) -> bool:
    """Returns whether a subject has a relation on an instance or an object, named as `name_object` does: the user of
    the request, or another user or subject. Each use is a request to the service."""
    try:
        found = _name(context, subject)
        return found is not None and get_client().check(found, relation, name_object(thing))
    except Rejection:  # an id that no subject or object can have
        return False


def _name(context: Context, subject: Any) -> AnySubject | None:
    if subject is _CALLER:
        request = getattr(context, "request", None) or context.get("request")
        if request is None:
            raise InvalidUse("the template has no request; use {% allowed … subject=user as … %}")
        return name_subject(request.user)
    return read_subject(subject) if isinstance(subject, (str, SubjectRef, ObjectRef)) else name_subject(subject)
