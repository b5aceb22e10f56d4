"""The client: what it sends and answers, and which error says what went wrong."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import islice

import pytest

from magistrate.client import Client, ClaimForm, Json, RefForm, WarrantForm
from magistrate.errors import InvalidSetting, RequestRefused, ServiceUnreachable
from tests.running import KEY, running_service, settings_for
from tests.running import Client as HttpClient

NOBODY = "http://127.0.0.1:1"
"""Port 1 is for nobody without privileges."""


@pytest.fixture
def client(shared_client: HttpClient) -> Iterator[Client]:
    with Client(str(shared_client.base_url), KEY) as client:
        yield client


def warrant(object_id: str, user: str) -> WarrantForm:
    subject = {"objectType": "user", "objectId": user}
    return {"objectType": "page", "objectId": object_id, "relation": "reader", "subject": subject}  # type: ignore[typeddict-item]
