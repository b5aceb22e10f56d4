"""The application put together, from settings to what uvicorn serves."""

import os
import sqlite3
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

import sharing
from sharing.endpoints import router
from sharing.service import Service
from sharing.storage import Storage

SETTINGS = {
    "SHARING_DATABASE": "sharing.db",
    "SHARING_SECRET": None,
    "SHARING_CLIENT": "magistrate",
    "MAGISTRATE_SERVER": "http://127.0.0.1:8000",
    "MAGISTRATE_API_KEY": None,
    "MAGISTRATE_TIMEOUT_SECONDS": "5",
}
"""Variables and their defaults; None where there can be none."""


def connect(client: str, server: str, api_key: str, timeout_s: float) -> Service:
    """Our own client, or the Warrant SDK. Only what is used is imported."""
    if client == "warrant":
        from sharing.warrant_sdk_service import WarrantSdkService

        return WarrantSdkService(server, api_key, timeout_s)
    from sharing.magistrate_service import MagistrateService

    return MagistrateService(server, api_key, timeout_s)


def unavailable(request: Request, error: Exception) -> JSONResponse:
    """503 where sending the request again later can help. A request that Magistrate refuses is a fault of ours: 500."""
    service: Service = request.app.state.service
    if isinstance(error, service.errors) and not service.is_temporary(error):
        raise error
    return JSONResponse({"detail": "try again in a moment"}, 503, {"Retry-After": "1"})


def create_app() -> FastAPI:
    """Raises KeyError if a setting without a default is missing."""
    settings = {
        name: os.environ[name] if default is None else os.environ.get(name, default)
        for name, default in SETTINGS.items()
    }
    service = connect(
        settings["SHARING_CLIENT"],
        settings["MAGISTRATE_SERVER"],
        settings["MAGISTRATE_API_KEY"],
        float(settings["MAGISTRATE_TIMEOUT_SECONDS"]),
    )
    app = FastAPI(title="Document sharing", description=sharing.__doc__ or "")
    app.state.storage = Storage(Path(settings["SHARING_DATABASE"]))
    app.state.service = service
    app.state.secret = settings["SHARING_SECRET"]
    app.include_router(router)
    for error in (*service.errors, sqlite3.OperationalError):
        app.add_exception_handler(error, unavailable)
    return app
