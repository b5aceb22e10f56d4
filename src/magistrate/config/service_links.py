"""Finds the environment variables that a container platform makes of services.

Kubernetes gives each container variables that say where the services of its namespace are, as the links of Docker did.
Those of a service whose name begins with ours begin like our settings."""

import re
from collections.abc import Mapping

from magistrate.config.setting import PREFIX

_LINK = re.compile(
    PREFIX.removesuffix("_")
    + r"(?:_\w+)?_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)",
    re.ASCII,
)
_ADDRESS_SCHEMES = ("tcp://", "udp://", "sctp://")


def find_service_links(environment: Mapping[str, str]) -> list[str]:
    """Returns the names of such variables, sorted: `MAGISTRATE_SERVICE_HOST`, `MAGISTRATE_DB_PORT_5432_TCP_ADDR`, and
    `MAGISTRATE_PORT` if its value is an address, as in `tcp://10.0.0.7:8000`."""
    return sorted(name for name, text in environment.items() if _is_service_link(name, text))


def _is_service_link(name: str, text: str) -> bool:
    if not name.startswith(PREFIX):
        return False
    return _LINK.fullmatch(name) is not None or (name.endswith("_PORT") and text.startswith(_ADDRESS_SCHEMES))
