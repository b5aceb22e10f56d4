"""Several worker processes on one socket."""

import sys

from uvicorn.supervisors import Multiprocess


class Supervisor(Multiprocess):
    """Keeps the workers running: one that ends is replaced. On SIGHUP all are, one after the other, each when the next
    one serves; in a terminal SIGHUP means that it was closed."""

    was_told_to_stop = False
    _has_terminal = False

    def run(self) -> None:
        self._has_terminal = sys.stdin is not None and sys.stdin.isatty()
        super().run()

    def handle_hup(self) -> None:
        if self._has_terminal:
            self.handle_term()
        else:
            super().handle_hup()

    def handle_term(self) -> None:
        # The workers have the socket too, and close theirs: with ours open, clients would still connect, to nobody.
        for listening in self.sockets:
            listening.close()
        self.was_told_to_stop = True
        super().handle_term()

    def handle_int(self) -> None:
        self.handle_term()
