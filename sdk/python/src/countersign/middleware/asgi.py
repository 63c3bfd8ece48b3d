"""A gate in front of any ASGI application."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ..errors import CountersignError
from ..gate import PROOF_HEADER, Answer, Ask, AsyncGate, answer, mistaken

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Describe = Callable[[Scope, bytes], Awaitable[Ask | None]]

LARGEST = 1 << 20  # bytes of a body


class CountersignMiddleware:
    """Runs the application only on a consumed proof. ``describe`` receives the scope and the body: it returns what the request is about to
    do, or None for a request that needs no decision. A ValueError of it is the request's fault: 400 with its text. The outcome is
    ``scope["countersign"]``."""

    def __init__(self, app: Application, gate: AsyncGate, describe: Describe) -> None:
        self.app, self.gate, self.describe = app, gate, describe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = await _body(receive)
        stop = await self._check(scope, body)
        if stop is not None:
            await _respond(send, stop)
            return
        sent = False

        async def replay() -> Message:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, send)

    async def _check(self, scope: Scope, body: bytes | None) -> Answer | None:
        if body is None:
            return Answer(413, {"decision": "refused", "message": "The body is too large."}, {})
        try:
            ask = await self.describe(scope, body)
        except ValueError as error:
            return Answer(400, {"decision": "refused", "message": str(error)}, {})
        if ask is None:
            return None
        proofs = [v.decode("latin-1") for k, v in scope["headers"] if k.lower() == PROOF_HEADER.lower().encode()]
        try:
            outcome = await self.gate.check(ask, proofs[0] if proofs else None)
        except CountersignError as error:
            logging.getLogger("countersign").error("a request was not authorized: %s", error)
            return mistaken(error)
        scope["countersign"] = outcome
        return None if outcome.allowed else answer(outcome)


async def _body(receive: Receive) -> bytes | None:
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > LARGEST:
            return None
        if not message.get("more_body"):
            return body


async def _respond(send: Send, a: Answer) -> None:
    text = json.dumps(a.body).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(text)), **a.headers}
    await send({"type": "http.response.start", "status": a.status, "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()]})
    await send({"type": "http.response.body", "body": text})
