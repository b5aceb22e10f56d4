"""Gives requests their ids, and records those that were answered."""

from time import perf_counter

from magistrate.api.server.access_log import AccessLog
from magistrate.api.server.audit_log import AuditLog
from magistrate.api.server.metrics import METRICS
from magistrate.api.server.refused_requests import RefusedRequests
from magistrate.api.server.request_ids import RequestIds


class Ledger:
    """Makes the ids of requests, counts requests, and writes them to the access log if there is one. The audit log is
    None if there is none, and so is `refused` if any number of requests may be refused."""

    def __init__(
        self,
        access_log: AccessLog | None = None,
        audit_log: AuditLog | None = None,
        refused: RefusedRequests | None = None,
    ) -> None:
        self._access_log = access_log
        self.make_request_id = RequestIds().make
        self.audit_log = audit_log
        self.refused = refused

    def record_answer(self, method: str, route: str, path: str, status: int, request_id: str, started: float) -> None:
        """Records an answer. `route` is the path as in the table of routes, empty if there is none; `started` is a time
        of time.perf_counter."""
        seconds = perf_counter() - started
        METRICS.observe(method, route, status, seconds)
        if self._access_log is not None:
            self._access_log.write(request_id, method, route, path, status, seconds)

    def count_answer(self, method: str, route: str, status: int, started: float) -> None:
        """Counts an answer that has no line of its own in any log. The arguments are those of `record_answer`."""
        METRICS.observe(method, route, status, perf_counter() - started)

    def stopping(self) -> None:
        """Writes what waits in the logs, because no more requests are answered."""
        if self.refused is not None:
            self.refused.report()
        if self._access_log is not None:
            self._access_log.flush()
        if self.audit_log is not None:
            self.audit_log.close()
