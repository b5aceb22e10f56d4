"""Notes that their owners share: who may do what with a note is decided by Magistrate, and stored nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import django
from django.conf import settings

HERE = Path(__file__).parent

settings.configure(
    AUTHENTICATION_BACKENDS=["magistrate_client.django.MagistrateBackend"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": HERE / "notes.db"}},
    DEBUG=True,
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "magistrate_client.django"],
    MAGISTRATE={"SUBJECT": lambda user: f"user:{user.username}"},  # MAGISTRATE_URL and MAGISTRATE_API_KEY say the rest
    MIDDLEWARE=["__main__.find_user"],
    ROOT_URLCONF="__main__",
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
)
django.setup()

from django.contrib.auth.models import AnonymousUser, User  # noqa: E402  # Django reads the settings before
from django.core.management import call_command  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.http import HttpRequest, HttpResponse, HttpResponseBase  # noqa: E402
from django.template import engines  # noqa: E402
from django.urls import path  # noqa: E402
from django.views import View  # noqa: E402

from magistrate_client import ObjectRef, SubjectRef, Warrant  # noqa: E402
from magistrate_client.django import RequireMixin, get_client, name_object, name_subject, require  # noqa: E402

PAGE = """{% load magistrate %}{{ note.text }}
{% allowed "owner" note as can_share %}{% if can_share %}You may share this note.
{% endif %}"""


class Note(models.Model):
    """Is the object `note:` and its primary key."""

    slug: models.CharField[str, str] = models.CharField(primary_key=True, max_length=100)
    text: models.TextField[str, str] = models.TextField()

    class Meta:
        app_label = "notes"


def find_user(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Says who sent a request. Your login does this; a header that anybody can send does not."""

    def run(request: HttpRequest) -> HttpResponseBase:
        name = request.headers.get("X-User")
        request.user = AnonymousUser() if name is None else User(username=name)
        return get_response(request)

    return run


def create_note(request: HttpRequest, slug: str) -> HttpResponse:
    owner = name_subject(request.user)
    if owner is None:
        return HttpResponse("Log in first.\n", status=401)
    if Note.objects.filter(pk=slug).exists():
        return HttpResponse("There is such a note.\n", status=409)
    note = Note(slug=slug, text=request.body.decode())
    get_client().write(create=[Warrant(name_object(note), "owner", owner)])
    note.save()
    return HttpResponse("created\n")


@require("viewer", object="note:{slug}")
def read_note(request: HttpRequest, slug: str) -> HttpResponse:
    page = engines["django"].from_string(PAGE)
    return HttpResponse(page.render({"note": Note.objects.get(pk=slug)}, request))


def share_with(slug: str, name: str) -> Warrant:
    return Warrant(ObjectRef("note", slug), "viewer", SubjectRef("user", name))


class ShareNote(RequireMixin, View):
    """Lets owners say who may view a note."""

    required_relation = "owner"
    required_object = "note:{slug}"

    def put(self, request: HttpRequest, slug: str, name: str) -> HttpResponse:
        get_client().write(create=[share_with(slug, name)])
        return HttpResponse("shared\n")

    def delete(self, request: HttpRequest, slug: str, name: str) -> HttpResponse:
        get_client().write(delete=[share_with(slug, name)])
        return HttpResponse("not shared any more\n")


def delete_note(request: HttpRequest, slug: str) -> HttpResponse:
    note = Note.objects.filter(pk=slug).first()
    if note is None or not isinstance(request.user, User) or not request.user.has_perm("owner", note):
        return HttpResponse("Only its owner deletes a note.\n", status=403)
    named = name_object(note)
    note.delete()
    get_client().write(delete=[named])
    return HttpResponse("deleted\n")


def serve_note(request: HttpRequest, slug: str) -> HttpResponseBase:
    views = {"GET": read_note, "POST": create_note, "DELETE": delete_note}
    return views[request.method or "GET"](request, slug=slug) if request.method in views else HttpResponse(status=405)


def show_forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return HttpResponse("Forbidden\n", status=403)


handler403 = show_forbidden
urlpatterns = [
    path("notes/<slug:slug>", serve_note),
    path("notes/<slug:slug>/viewers/<slug:name>", ShareNote.as_view()),
]

if __name__ == "__main__":
    if Note._meta.db_table not in connection.introspection.table_names():
        with connection.schema_editor() as editor:
            editor.create_model(Note)
    get_client().write_model((HERE / "model.txt").read_text())
    call_command("runserver", f"127.0.0.1:{os.environ.get('PORT', '8080')}", use_reloader=False, skip_checks=True)
