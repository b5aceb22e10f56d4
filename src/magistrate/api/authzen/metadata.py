"""Makes the document at /.well-known/authzen-configuration, which tells clients the URLs of the AuthZEN endpoints."""

from collections.abc import Mapping

from magistrate.api.render import render_json
from magistrate.errors import NotFound

WELL_KNOWN = "/.well-known/authzen-configuration"

ENDPOINTS: Mapping[str, str] = {
    "access_evaluation_endpoint": "/access/v1/evaluation",
    "access_evaluations_endpoint": "/access/v1/evaluations",
    "search_subject_endpoint": "/access/v1/search/subject",
    "search_resource_endpoint": "/access/v1/search/resource",
    "search_action_endpoint": "/access/v1/search/action",
}
"""Maps members of the document to the paths of routes."""


def render_metadata(public_url: str, path: str) -> bytes:
    """Returns the document for the path of a request. `public_url` is absolute, without a slash at its end. If it has a
    path, that follows the well-known one.

    Raises NotFound for another path, or if the service does not know its URL."""
    if not public_url:
        raise NotFound("Endpoint", path, ": the service was started without --public-url")
    base = public_url.split("/", 3)[3:]
    if path != "/".join([WELL_KNOWN, *base]):
        raise NotFound("Endpoint", path)
    endpoints = {member: public_url + endpoint for member, endpoint in ENDPOINTS.items()}
    return render_json({"policy_decision_point": public_url, **endpoints})
