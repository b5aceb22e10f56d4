"""Protects views: the decorator `require` for functions, and RequireMixin for classes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from typing import Any, Callable, ClassVar, Optional, TypeVar, cast

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from magistrate_client.django.configuration import get_client
from magistrate_client.django.naming import name_subject
from magistrate_client.errors import InvalidUse
from magistrate_client.guards import Guard, Rejection
from magistrate_client.refs import AnySubject
from magistrate_client.synchronous.client import Client

FindSubject = Callable[[HttpRequest], Optional[AnySubject]]
_View = TypeVar("_View", bound=Callable[..., Any])


def require(
    relation: str,
    object: str,
    *,
    subject: FindSubject | None = None,
    client: Client | None = None,
    login_url: str | None = None,
) -> Callable[[_View], _View]:
    """Returns a decorator for a view, async or not, which then runs only for subjects that have a relation on the
    object.

    `object` has arguments of the URL in its id: `document:{document_id}`. `subject` is given the request and returns
    `user:ann`, or None where nobody is logged in; without it, the subject is `request.user`, as `name_subject` names
    it. Nobody is answered with 401, or sent to `login_url`. The answer is 403 if the check is denied, 404 for what no
    object can be called, and 503 while the service does not answer."""
    guard = Guard(relation, object)
    find_subject = subject or name_caller

    def reject(request: HttpRequest, parameters: Mapping[str, Any]) -> HttpResponseBase | None:
        try:
            guard.admit(client or get_client(), find_subject(request), parameters)
        except Rejection as rejection:
            return _answer(request, rejection, login_url)
        return None

    def decorate(view: _View) -> _View:
        @wraps(view)
        def run_guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            return reject(request, kwargs) or view(request, *args, **kwargs)

        @wraps(view)
        async def run_guarded_async(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            # In the thread of this request, because request.user may read the database.
            return await sync_to_async(reject)(request, kwargs) or await view(request, *args, **kwargs)

        return cast("_View", run_guarded_async if iscoroutinefunction(view) else run_guarded)

    return decorate


class RequireMixin:
    """Lets a view that is a class run only for subjects that have `required_relation` on `required_object`, like
    `require`. It stands before the class of Django: `class Read(RequireMixin, DetailView)`."""

    required_relation: ClassVar[str]
    required_object: ClassVar[str]
    login_url: str | None = None
    view_is_async: ClassVar[bool]

    def get_subject(self, request: HttpRequest) -> AnySubject | None:
        """Returns who makes a request; a class may have another way."""
        return name_caller(request)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answers a request that is rejected, and passes on any other."""
        for name in ("required_relation", "required_object"):
            if not hasattr(self, name):
                raise InvalidUse(f"{type(self).__name__} has no {name}")
        view: Any = super().dispatch  # type: ignore[misc]  # that of the View behind this class
        guarded = require(
            self.required_relation, self.required_object, subject=self.get_subject, login_url=self.login_url
        )
        if self.view_is_async:

            async def run(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
                return cast("HttpResponseBase", await view(request, *args, **kwargs))

            return cast("HttpResponseBase", guarded(run)(request, *args, **kwargs))  # a coroutine, as Django's own is
        return cast("HttpResponseBase", guarded(view)(request, *args, **kwargs))


def name_caller(request: HttpRequest) -> AnySubject | None:
    """Returns the subject of `request.user`."""
    return name_subject(getattr(request, "user", None))


def _answer(request: HttpRequest, rejection: Rejection, login_url: str | None) -> HttpResponseBase:
    if rejection.status == 404:
        raise Http404(rejection.reason) from rejection
    if rejection.status == 403:
        raise PermissionDenied(rejection.reason) from rejection
    if rejection.status == 401 and login_url is not None:
        from django.contrib.auth.views import redirect_to_login  # can be imported only after all applications

        return redirect_to_login(request.get_full_path(), login_url)
    return HttpResponse(
        rejection.reason, status=rejection.status, headers=rejection.headers, content_type="text/plain; charset=utf-8"
    )
