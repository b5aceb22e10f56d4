"""Prints how to reach a service that has started."""

import os
import shutil
import socket
import sys
from collections.abc import Sequence

from magistrate.config import Settings, read_client_settings
from magistrate.operations.examples import Example
from magistrate.terminal import printable_lines

SHOWN_TRIES = 3
"""Limits how many checks of an example are announced. Their contexts must be texts."""


def announce(text: str = "") -> None:
    """Prints lines, of which parts come from files and settings."""
    print(printable_lines(text), flush=True)


def name_url(listening: socket.socket, scheme: str = "http") -> str:
    """Returns the URL of what listens at a socket."""
    host, port = listening.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def announce_service(settings: Settings, listening: Sequence[socket.socket], key: str | None) -> str:
    """Prints the URLs of the service and the key it generated, and returns the URL that clients use."""
    urls = [name_url(one, "https" if settings.tls_cert else "http") for one in listening]
    url = urls[0]
    announce(f"Magistrate listens on {' and '.join(urls)} and keeps its data in {settings.database.place}")
    if settings.console:
        announce(f"Open {url}/console in a browser to see who may do what, and why")
    if settings.admin_port:
        announce(f"Health and metrics are on port {settings.admin_port}, too")
    url = settings.public_url or url
    if key is not None:
        announce(f"\nAPI key, shown only this once: {key}\n\nTry it:\n")
        announce(f"  curl -s '{url}/v2/object-types?limit=1' -H 'Authorization: ApiKey {key}'\n")
    elif not settings.configures_api_keys:
        announce("Callers use the API key that was shown at the first start")
    return url


def announce_example(example: Example, url: str, key: str | None) -> None:
    """Prints commands to paste into another terminal."""
    command_folder = os.path.dirname(sys.executable)
    exports = {
        "PATH": None if shutil.which("magistrate") else f"{command_folder}{os.pathsep}$PATH",
        "MAGISTRATE_SERVER": url if url != read_client_settings({}, {}).server else None,
        "MAGISTRATE_API_KEY": key,
    }
    announce(f"The example is loaded: {example.about}. Try it in another terminal:\n")
    for name, value in exports.items():
        if value is not None:
            announce(f'  export {name}="{value}"')
    for shown in example.tries[:SHOWN_TRIES]:
        context = "".join(f" --context {key}={value}" for key, value in shown.context.items())
        announce(f"  magistrate check {shown.check}{context} --explain")
    announce()
