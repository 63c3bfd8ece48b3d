"""The stream of events (docs/events.md), which continues after the last one when the connection is lost."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from . import _check
from . import _transport as t
from .errors import CountersignError, ProtocolError

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds
SILENCE = 30.0  # seconds; the service sends at least a comment every 15
LARGEST = 1 << 20  # bytes of one event
_OPERATION = t.Operation("streamEvents", "GET", "/api/v1/events/stream", keyed=False)
_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE = re.compile(r"\r\n|\n|\r")  # str.splitlines would split at characters that a payload may have


@dataclass(frozen=True)
class StreamedEvent:
    """One event. Type ``resync``: missed events cannot be sent, read ``list_activity``. Otherwise ``data`` is an ActivityEntry."""

    id: str
    type: str
    data: dict[str, Any]


class Stream:
    """What both clients share: the position in the stream, over all connections."""

    def __init__(self, config: t.Config, query: Mapping[str, str | None], last: str | None) -> None:
        self._config, self._query, self._last = config, query, last
        self._read, self._opened, self._failures = b"", False, 0

    def request(self) -> httpx.Request:
        self._read, self._opened = b"", False
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": self._last} if self._last else {})
        request = t.prepare(self._config, _OPERATION, {}, self._query, None, headers).request
        request.extensions = {**request.extensions, "timeout": httpx.Timeout(self._config.timeout, read=SILENCE).as_dict()}
        return request

    def opened(self, response: httpx.Response) -> None:
        """Raises the error of a response that is no stream, whose body was read."""
        t.stream_of_events(_OPERATION, response)
        self._opened = True

    def read(self, chunk: bytes) -> Iterator[StreamedEvent]:
        *messages, self._read = _END.split(self._read + chunk)
        for message in messages:
            self._failures = 0
            if event := self._event(message):
                yield event
        if len(self._read) > LARGEST:
            raise ProtocolError(f"an event is longer than {LARGEST} bytes", status=200)

    def _event(self, message: bytes) -> StreamedEvent | None:
        """The event of a complete message. One without data only sets the position, such as the first one."""
        kind, data = "message", list[str]()
        for line in _LINE.split(message.decode("utf-8", "replace")):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "id":
                self._last = value
            elif name == "event":
                kind = value
            elif name == "data":
                data.append(value)
        if not data:
            return None
        try:
            found = _check.parse("\n".join(data).encode())
        except _check.Breach:
            found = None
        if not isinstance(found, dict):
            raise ProtocolError("the data of an event is not a JSON object", status=200)  # a new connection would receive it again
        return StreamedEvent(self._last or "", kind, found)

    def pause(self, error: Exception | None) -> float:
        """The pause before the next connection. Raises the error if there is none."""
        wanted = 0.0
        if isinstance(error, CountersignError):
            if self._opened or not (error.unavailable or error.rate_limited):
                raise error
            wanted = error.retry_after
        longest = min(FIRST_PAUSE * 2.0**self._failures, LONGEST_PAUSE)
        self._failures = min(self._failures + 1, 10)
        return max(random.uniform(longest / 2, longest), wanted)  # noqa: S311 - jitter
