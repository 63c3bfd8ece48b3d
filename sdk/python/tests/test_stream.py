import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any

import httpx
import pytest

from countersign import AsyncCountersign, Countersign, CountersignError, ProtocolError, RefusedError, StreamedEvent, stream

AT = ("https://countersign.example", "sk_test_x")
EVENTS = {"Content-Type": "text/event-stream"}


class Cut(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Chunks of a stream whose connection then ends."""

    def __init__(self, *chunks: bytes) -> None:
        self.chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from self.chunks
        raise httpx.RemoteProtocolError("peer closed connection")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            yield chunk
        raise httpx.RemoteProtocolError("peer closed connection")


class Service:
    """Responds to one connection after another."""

    def __init__(self, *responses: httpx.Response) -> None:
        self.responses = responses
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self.responses[len(self.requests) - 1]

    @property
    def resumed(self) -> list[str | None]:
        return [r.headers.get("Last-Event-ID") for r in self.requests]


def follow(kind: str, service: Service, most: int, **arguments: Any) -> list[StreamedEvent]:
    got: list[StreamedEvent] = []
    if kind == "sync":
        for event in Countersign(*AT, http=httpx.Client(transport=httpx.MockTransport(service))).events(**arguments):
            got.append(event)
            if len(got) == most:
                break
        return got

    async def run() -> None:
        async with (
            AsyncCountersign(*AT, http=httpx.AsyncClient(transport=httpx.MockTransport(service))) as client,
            aclosing(client.events(**arguments)) as events,
        ):
            async for event in events:
                got.append(event)
                if len(got) == most:
                    break

    asyncio.run(run())
    return got


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(stream, "FIRST_PAUSE", 0.001)
    return str(request.param)


def message(event_id: str, **data: Any) -> bytes:
    return f"id: {event_id}\nevent: hold.opened\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def opened(*chunks: bytes) -> httpx.Response:
    return httpx.Response(200, headers=EVENTS, stream=Cut(*chunks))


def test_it_continues_after_the_last_event(kind: str) -> None:
    service = Service(
        opened(b": hello\n\n", message("evt_1", id="evt_1"), b"id: evt_2\nevent: hold.opened\nda"),
        opened(message("evt_2", id="evt_2"), b": heartbeat\n\n"),
    )
    assert [e.data["id"] for e in follow(kind, service, 2, type="hold.*", last_event_id="evt_0")] == ["evt_1", "evt_2"]
    assert service.resumed == ["evt_0", "evt_1"]
    request = service.requests[1]
    assert (request.url.params["type"], request.headers["Accept"]) == ("hold.*", "text/event-stream")
    assert request.headers["Authorization"] == "Bearer sk_test_x"


def test_texts_and_borders_of_chunks_are_whole(kind: str) -> None:
    payee = "Jürgen\u2028Groß\u0085😀"
    whole = message("evt_1", payee=payee) + b'id: evt_2\nevent: hold.opened\ndata: {"a":\ndata: 1}\n\n'
    first, second = follow(kind, Service(opened(*(bytes([b]) for b in whole))), 2)
    assert (first.data, second.data) == ({"payee": payee}, {"a": 1})


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (lambda: opened(b"id: evt_1\nevent: hold.opened\ndata: []\n\n"), ProtocolError),
        (lambda: opened(b"data: " + b"x" * (stream.LARGEST + 1)), ProtocolError),
    ],
)
def test_it_ends_with_what_would_come_again(kind: str, response: Callable[[], httpx.Response], error: type[CountersignError]) -> None:
    service = Service(response())
    with pytest.raises(error):
        follow(kind, service, 1)
    assert len(service.requests) == 1


def test_pauses_grow_and_last_as_long_as_the_service_says() -> None:
    s = stream.Stream(Countersign(*AT)._config, {}, None)
    pauses = [s.pause(httpx.ReadError("")) for _ in range(20)]
    assert 0.25 <= pauses[0] <= 0.5
    assert 15 <= pauses[-1] <= stream.LONGEST_PAUSE
    assert s.pause(RefusedError("", status=429, retry_after=90.0)) == 90.0
