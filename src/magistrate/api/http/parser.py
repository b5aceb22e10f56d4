"""Parses what a client sends in slices, so that other connections are served in between.

What arrives at once may be 256 KiB. As a chunked body of one-byte chunks, that is 43,000 calls of the parser, which
took a quarter of a second."""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from magistrate.api.http.client_transport import ClientTransport

MOST_PIPELINED = 8
"""Limits the requests of a connection that wait behind another one: beyond it, no further slice is parsed."""

PARSED_AT_ONCE = 16_384
"""Limits the bytes that are parsed at once (16 KiB): some milliseconds of one-byte chunks."""


class SlicingProtocol(HttpToolsProtocol):
    """Passes received bytes on to `receive`, at most PARSED_AT_ONCE of them in one iteration of the event loop. Reading
    is paused until all are parsed. Between `pause_parsing` and `resume_parsing`, nothing is parsed."""

    transport: ClientTransport  # type: ignore[assignment]  # it has what uvicorn uses of one
    _unparsed = b""
    _is_parsing_paused = False
    _may_wait = False
    """Is true while parsing is paused or something is not parsed yet, and until something is received after that: most
    of what is received needs no other question."""

    def data_received(self, data: bytes) -> None:
        if self._may_wait or len(data) > PARSED_AT_ONCE:
            self._receive_in_slices(data)
        else:
            self.receive(data)

    def _receive_in_slices(self, data: bytes) -> None:
        if self._is_parsing_paused or self._unparsed:
            self._unparsed += data
            if self.transport.is_lingering:
                self._discard_unparsed()
            elif self._is_parsing_paused:
                self.transport.pause_reading()
        elif len(data) <= PARSED_AT_ONCE or self.transport.is_lingering:
            self._may_wait = False
            self.receive(data)
        else:
            self._may_wait = True
            self._unparsed = data
            self._parse_slice()
        self.note_received()

    def note_received(self) -> None:
        raise NotImplementedError

    def receive(self, data: bytes) -> None:
        raise NotImplementedError

    def pause_parsing(self) -> None:
        """Keeps what arrives from being parsed. Reading is paused only if something arrives, because most clients send
        nothing before they have their answer."""
        self._may_wait = self._is_parsing_paused = True

    def resume_parsing(self) -> None:
        self._is_parsing_paused = False
        if self._unparsed:
            self.loop.call_soon(self._parse_slice)

    def has_unread_bytes(self) -> bool:
        """Returns whether bytes have arrived that are not parsed yet."""
        return bool(self._unparsed) or self.transport.has_unread_bytes()

    def _discard_unparsed(self) -> None:
        """Passes all on at once while the connection lingers: it is discarded, which takes no time and needs no
        slices."""
        data, self._unparsed = self._unparsed, b""
        self.receive(data)

    def _parse_slice(self) -> None:
        if self.transport.is_lingering:
            self._discard_unparsed()
        if self._is_parsing_paused or not self._unparsed or len(self.pipeline) >= MOST_PIPELINED:
            return
        if self.transport.is_closing() and not self.transport.is_lingering:
            self._unparsed = b""
            return
        data, self._unparsed = self._unparsed[:PARSED_AT_ONCE], self._unparsed[PARSED_AT_ONCE:]
        self.receive(data)
        if self.transport.is_lingering:
            self._discard_unparsed()
        if self._unparsed:
            self.transport.pause_reading()
            self.loop.call_soon(self._parse_slice)
        elif self.transport.is_lingering or not self.flow.read_paused:
            self.transport.resume_reading()
