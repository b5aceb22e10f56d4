"""The application put together, from settings to what uvicorn serves."""

import os
import sqlite3
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from requests import RequestException
from warrant import WarrantException

import sharing
from sharing.access import connect, status_of
from sharing.endpoints import router
from sharing.storage import Storage

SETTINGS = {
    "SHARING_DATABASE": "sharing.db",
    "SHARING_SECRET": None,
    "MAGISTRATE_SERVER": "http://127.0.0.1:8000",
    "MAGISTRATE_API_KEY": None,
    "MAGISTRATE_TIMEOUT_SECONDS": "5",
}
"""Variables and their defaults; None where there can be none."""


def unavailable(_: Request, error: Exception) -> JSONResponse:
    """503 where sending the request again later can help. A request that Magistrate refuses is a fault of ours: 500."""
    if isinstance(error, WarrantException) and status_of(error) < 500:
        raise error
    return JSONResponse({"detail": "try again in a moment"}, 503, {"Retry-After": "1"})


def create_app() -> FastAPI:
    """Raises KeyError if a setting without a default is missing."""
    settings = {
        name: os.environ[name] if default is None else os.environ.get(name, default)
        for name, default in SETTINGS.items()
    }
    connect(
        settings["MAGISTRATE_SERVER"], settings["MAGISTRATE_API_KEY"], float(settings["MAGISTRATE_TIMEOUT_SECONDS"])
    )
    app = FastAPI(title="Document sharing", description=sharing.__doc__ or "")
    app.state.storage = Storage(Path(settings["SHARING_DATABASE"]))
    app.state.secret = settings["SHARING_SECRET"]
    app.include_router(router)
    for error in (RequestException, WarrantException, sqlite3.OperationalError):
        app.add_exception_handler(error, unavailable)
    return app
