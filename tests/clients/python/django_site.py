"""The application in Django: settings, a model, and views that are protected in each way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import django
from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    AUTHENTICATION_BACKENDS=["magistrate_client.django.MagistrateBackend"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "magistrate_client.django"],
    MAGISTRATE={"TIMEOUT": 20, "PERMISSIONS": {"documents.change_document": "editor"}},
    MIDDLEWARE=["tests.clients.python.django_site.UserMiddleware"],
    SECRET_KEY="the secret of these tests",
    ROOT_URLCONF="tests.clients.python.django_site",
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
)
django.setup()

from django.contrib.auth.models import AnonymousUser, User  # noqa: E402  # Django reads settings before
from django.core.asgi import get_asgi_application  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import models  # noqa: E402
from django.http import HttpRequest, HttpResponse  # noqa: E402
from django.template import engines  # noqa: E402
from django.urls import URLPattern, path  # noqa: E402
from django.views import View  # noqa: E402

from magistrate_client import Client  # noqa: E402
from magistrate_client.django import RequireMixin, require  # noqa: E402
from tests.clients.python.protected_apps import DOCUMENT, FILE, NUMBER, UNKNOWN, client_options  # noqa: E402

PAGE = """{% load magistrate %}{% allowed "viewer" document as can_view %}{% allowed "editor" document as can_edit %}
{% allowed "viewer" "document:plan" subject="user:ann" as ann %}{{ can_view }} {{ can_edit }} {{ ann }}"""
urlpatterns: list[URLPattern] = []


class Document(models.Model):
    """A row that a view has read."""

    slug: models.CharField[str, str] = models.CharField(primary_key=True, max_length=100)

    class Meta:
        app_label = "documents"


class UserMiddleware:
    """Finds the user of a request as django.contrib.auth does, but by a header."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self._get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponse | Awaitable[HttpResponse]:
        name = request.headers.get("X-User")
        request.user = AnonymousUser() if name is None else User(pk=name, is_superuser=name == "superuser")
        response: HttpResponse | Awaitable[HttpResponse] = self._get_response(request)
        return response


def build_views(is_async: bool, troubles: Sequence[str]) -> list[URLPattern]:
    """The routes that all frameworks have."""

    def build_view(template: str, **options: Any) -> Any:
        def read(request: HttpRequest, **values: Any) -> HttpResponse:
            return HttpResponse(template.format(**values))

        async def read_async(request: HttpRequest, **values: Any) -> HttpResponse:
            return read(request, **values)

        return require("viewer", object=template, **options)(read_async if is_async else read)

    return [
        path("documents/<str:document_id>", build_view(DOCUMENT)),
        path("files/<str:tenant>/<str:document_id>", build_view(FILE)),
        path("numbers/<int:number>", build_view(NUMBER)),
        path("unknown/<str:document_id>", build_view(UNKNOWN)),
        path("login/<str:document_id>", build_view(DOCUMENT, login_url="/login")),
        *(
            path(f"{trouble}/<str:document_id>", build_view(DOCUMENT, client=Client(**client_options(trouble))))
            for trouble in troubles
        ),
    ]


class ReadDocument(RequireMixin, View):
    """A view that is a class."""

    required_relation = "viewer"
    required_object = DOCUMENT

    def get(self, request: HttpRequest, document_id: str) -> HttpResponse:
        return HttpResponse(document_id)


class ReadDocumentLater(RequireMixin, View):
    """The same, async, for a subject of its own."""

    required_relation = "viewer"
    required_object = DOCUMENT
    login_url = "/login"

    def get_subject(self, request: HttpRequest) -> str | None:
        name = request.headers.get("X-Robot")
        return None if name is None else f"robot:{name}"

    async def get(self, request: HttpRequest, document_id: str) -> HttpResponse:
        return HttpResponse(document_id)


def find_user(request: HttpRequest) -> User | AnonymousUser:
    assert isinstance(request.user, User | AnonymousUser)
    return request.user


def ask_permission(request: HttpRequest, permission: str, document_id: str) -> HttpResponse:
    return HttpResponse(str(find_user(request).has_perm(permission, Document(slug=document_id))))


def ask_permission_without_object(request: HttpRequest, permission: str) -> HttpResponse:
    return HttpResponse(str(find_user(request).has_perm(permission)))


async def ask_permission_later(request: HttpRequest, permission: str, document_id: str) -> HttpResponse:
    return HttpResponse(str(await find_user(request).ahas_perm(permission, Document(slug=document_id))))


def show_page(request: HttpRequest, document_id: str) -> HttpResponse:
    context = {"document": Document(slug=document_id), "user": User(pk="ann")}  # a page about ann, whoever reads it
    return HttpResponse(engines["django"].from_string(PAGE).render(context, request))


def build(is_async: bool, troubles: Sequence[str]) -> Any:
    """The application, for ASGI or WSGI."""
    urlpatterns[:] = [
        *build_views(is_async, troubles),
        path("classes/<str:document_id>", ReadDocument.as_view()),
        path("later/<str:document_id>", ReadDocumentLater.as_view()),
        path("permissions/<str:permission>", ask_permission_without_object),
        path("permissions/<str:permission>/<str:document_id>", ask_permission),
        path("permissions-later/<str:permission>/<str:document_id>", ask_permission_later),
        path("pages/<str:document_id>", show_page),
    ]
    return get_asgi_application() if is_async else get_wsgi_application()
