"""The clients: one for threads, one for asyncio, with the same methods."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from contextlib import aclosing, closing
from types import TracebackType
from typing import Any, TypeVar, cast

import httpx

from . import _transport as t
from ._models import AuthorizeRequest, AuthorizeResponse
from ._operations import OPERATIONS, AsyncOperations, Operations
from .errors import CountersignError
from .stream import Stream, StreamedEvent

Self = TypeVar("Self")


def complete(ask: Mapping[str, Any]) -> AuthorizeRequest:
    """An authorize request with a fresh nonce and idempotency key, and the time. Keep it to repeat the attempt."""
    fresh = {"requested_at": int(time.time()), "nonce": secrets.token_urlsafe(18), "idempotency_key": secrets.token_urlsafe(18)}
    return cast(AuthorizeRequest, fresh | dict(ask))


def _http(timeout: float) -> dict[str, Any]:
    return {"timeout": timeout, "follow_redirects": False, "limits": httpx.Limits(max_keepalive_connections=64)}


class Countersign(Operations):
    """A client of the service, for threads.

    ``timeout`` is in seconds, for one attempt. A call is attempted up to ``1 + retries`` times, and again only if that does no more
    than sending it once. ``http`` replaces the HTTP client; redirects are not followed whatever it says.
    """

    def __init__(self, base_url: str, api_key: str, *, retries: int = 2, timeout: float = 10.0, http: httpx.Client | None = None) -> None:
        self._config = t.Config(base_url, api_key, retries, timeout)
        self._client = http or httpx.Client(**_http(timeout))

    def __repr__(self) -> str:
        return f"Countersign({self._config.base_url!r})"

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def _call(self, operation: t.Operation, path: Mapping[str, Any], query: Mapping[str, Any] | None, body: Any, headers: Any) -> Any:
        call = t.prepare(self._config, operation, path, query, body, headers)
        return t.understand(call, self._send(call))

    def _send(self, call: t.Call) -> httpx.Response:
        """Sends until the response is understood; it is checked again by the caller, who wants its value."""
        while True:
            try:
                response = self._client.send(call.request, follow_redirects=False)
                t.understand(call, response)
                return response
            except httpx.HTTPError as error:
                failed: CountersignError = t.lost(call.operation, error)
            except CountersignError as error:
                failed = error
            time.sleep(call.again(failed, self._config.retries))

    def each(self, operation: str, query: Mapping[str, Any] | None = None, **path: Any) -> Iterator[Any]:
        """Every entry of a list operation, such as ``listReviews``, over all pages. An operation that is no list is a ValueError, and is
        not carried out."""
        call = t.listing(self._config, OPERATIONS, operation, path, query)
        while True:
            response = self._send(call)
            yield from t.understand(call, response)
            following = t.next_page(response, call.request)
            if following is None:
                return
            call = t.Call(call.operation, call.path, following, None)

    def events(
        self, *, type: str | None = None, subject: str | None = None, action: str | None = None, last_event_id: str | None = None
    ) -> Generator[StreamedEvent, None, None]:
        """Follows the environment's events from the next one on, or from the one after ``last_event_id``; see docs/events.md.

        It reconnects by itself and continues after the last event. ``type`` may be a family such as ``hold.*``. Store the id of each
        event with what you did on it: it is where to resume.
        """
        stream = Stream(self._config, {"type": type, "subject": subject, "action": action}, last_event_id)
        while True:
            failed: Exception | None = None
            try:
                with closing(self._client.send(stream.request(), stream=True, follow_redirects=False)) as response:
                    if response.status_code != 200:
                        response.read()
                    stream.opened(response)
                    for chunk in response.iter_bytes():
                        yield from stream.read(chunk)
            except (httpx.HTTPError, CountersignError) as error:
                failed = error
            time.sleep(stream.pause(failed))


class AsyncCountersign(AsyncOperations):
    """A client of the service, for asyncio; see Countersign."""

    def __init__(self, base_url: str, api_key: str, *, retries: int = 2, timeout: float = 10.0, http: httpx.AsyncClient | None = None) -> None:
        self._config = t.Config(base_url, api_key, retries, timeout)
        self._client = http or httpx.AsyncClient(**_http(timeout))

    def __repr__(self) -> str:
        return f"AsyncCountersign({self._config.base_url!r})"

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    async def _call(self, operation: t.Operation, path: Mapping[str, Any], query: Mapping[str, Any] | None, body: Any, headers: Any) -> Any:
        call = t.prepare(self._config, operation, path, query, body, headers)
        return t.understand(call, await self._send(call))

    async def _send(self, call: t.Call) -> httpx.Response:
        while True:
            try:
                response = await self._client.send(call.request, follow_redirects=False)
                t.understand(call, response)
                return response
            except httpx.HTTPError as error:
                failed: CountersignError = t.lost(call.operation, error)
            except CountersignError as error:
                failed = error
            await asyncio.sleep(call.again(failed, self._config.retries))

    async def each(self, operation: str, query: Mapping[str, Any] | None = None, **path: Any) -> AsyncIterator[Any]:
        """Every entry of a list operation over all pages."""
        call = t.listing(self._config, OPERATIONS, operation, path, query)
        while True:
            response = await self._send(call)
            for entry in t.understand(call, response):
                yield entry
            following = t.next_page(response, call.request)
            if following is None:
                return
            call = t.Call(call.operation, call.path, following, None)

    async def events(
        self, *, type: str | None = None, subject: str | None = None, action: str | None = None, last_event_id: str | None = None
    ) -> AsyncGenerator[StreamedEvent, None]:
        """Follows the environment's events; see Countersign.events. Close it (``contextlib.aclosing``) when you leave it."""
        stream = Stream(self._config, {"type": type, "subject": subject, "action": action}, last_event_id)
        while True:
            failed: Exception | None = None
            try:
                async with aclosing(await self._client.send(stream.request(), stream=True, follow_redirects=False)) as response:
                    if response.status_code != 200:
                        await response.aread()
                    stream.opened(response)
                    async for chunk in response.aiter_bytes():
                        for event in stream.read(chunk):
                            yield event
            except (httpx.HTTPError, CountersignError) as error:
                failed = error
            await asyncio.sleep(stream.pause(failed))


__all__ = ["AsyncCountersign", "AuthorizeRequest", "AuthorizeResponse", "Countersign", "complete"]
