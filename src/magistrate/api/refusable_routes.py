"""Finds the requests that are refused before the web framework sees them, because too many of their scope wait."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from magistrate.api.admission import Admission, Admissions
from magistrate.api.route import Route


class FullRoute(NamedTuple):
    """Holds a route and its admission, which has no place left."""

    route: Route
    admission: Admission


class RefusableRoutes:
    """Finds the route of a request by its method and path. The variables of a path are not read."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._by_path: dict[tuple[str, str], Route] = {}
        self._by_length: dict[tuple[str, int], list[tuple[list[str], Route]]] = defaultdict(list)
        for route in routes:
            if "{" in route.path:
                segments = ["" if "{" in segment else segment for segment in route.path.split("/")[1:]]
                self._by_length[route.method, len(segments)].append((segments, route))
            else:
                self._by_path[route.method, route.path] = route

    def find_route(self, method: str, path: str) -> Route | None:
        """Returns the route of a request, None if there is none."""
        return self._by_path.get((method, path)) or self._match_segments(method, path)

    def find_full(self, admissions: Admissions, method: str, path: str) -> FullRoute | None:
        """Returns the route of a request that would be refused as soon as its turn should come, otherwise None."""
        route = self._by_path.get((method, path))
        if route is None and any(admission.is_full for admission in admissions.by_scope.values()):
            route = self._match_segments(method, path)
        if route is None or not (admission := admissions.by_scope[route.scope]).is_full:
            return None
        return FullRoute(route, admission)

    def _match_segments(self, method: str, path: str) -> Route | None:
        given = path.split("/")[1:]
        for segments, route in self._by_length.get((method, len(given)), ()):
            if all(one and (not wanted or one == wanted) for one, wanted in zip(given, segments, strict=True)):
                return route
        return None
