"""Prints how to reach a service that has started."""

import os
import shutil
import socket
import sys

from magistrate.config import Settings, read_client_settings
from magistrate.operations.examples import Example

SHOWN_TRIES = 3
"""Limits how many checks of an example are announced. Their contexts must be texts."""


def announce_service(settings: Settings, listening: socket.socket, key: str | None) -> str:
    """Prints the URL of the service and the key it generated, and returns the URL that clients use."""
    host, port = listening.getsockname()[:2]
    scheme = "https" if settings.tls_cert else "http"
    url = f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
    print(f"Magistrate listens on {url} and keeps its data in {settings.database.place}", flush=True)
    if settings.console:
        print(f"Open {url}/console in a browser to see who may do what, and why", flush=True)
    if settings.admin_port:
        print(f"Health and metrics are on port {settings.admin_port}, too", flush=True)
    url = settings.public_url or url
    if key is not None:
        print(f"\nAPI key, shown only this once: {key}\n\nTry it:\n", flush=True)
        print(f"  curl -s '{url}/v2/object-types?limit=1' -H 'Authorization: ApiKey {key}'\n", flush=True)
    elif not settings.configures_api_keys:
        print("Callers use the API key that was shown at the first start", flush=True)
    return url


def announce_example(example: Example, url: str, key: str | None) -> None:
    """Prints commands to paste into another terminal."""
    command_folder = os.path.dirname(sys.executable)
    exports = {
        "PATH": None if shutil.which("magistrate") else f"{command_folder}{os.pathsep}$PATH",
        "MAGISTRATE_SERVER": url if url != read_client_settings({}, {}).server else None,
        "MAGISTRATE_API_KEY": key,
    }
    print(f"The example is loaded: {example.about}. Try it in another terminal:\n")
    for name, value in exports.items():
        if value is not None:
            print(f'  export {name}="{value}"')
    for shown in example.tries[:SHOWN_TRIES]:
        context = "".join(f" --context {key}={value}" for key, value in shown.context.items())
        print(f"  magistrate check {shown.check}{context} --explain")
    print(flush=True)
