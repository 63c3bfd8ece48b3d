"""A dependency for FastAPI routes."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import HTTPException, Request

from ..errors import CountersignError
from ..gate import PROOF_HEADER, Answer, Ask, AsyncGate, Outcome, answer, mistaken


def countersigned(gate: AsyncGate, describe: Callable[[Request], Awaitable[Ask]]) -> Callable[[Request], Awaitable[Outcome]]:
    """A dependency that is satisfied only by a consumed proof, and is its outcome: ``Depends(countersigned(gate, describe))``. A ValueError
    of describe is the request's fault: 400 with its text. The response of a refusal is in ``detail``."""

    async def dependency(request: Request) -> Outcome:
        try:
            ask = await describe(request)
        except ValueError as error:
            raise _refused(Answer(400, {"decision": "refused", "message": str(error)}, {})) from None
        try:
            outcome = await gate.check(ask, request.headers.get(PROOF_HEADER))
        except CountersignError as error:
            logging.getLogger("countersign").error("a request was not authorized: %s", error)
            raise _refused(mistaken(error)) from None
        if not outcome.allowed:
            raise _refused(answer(outcome))
        return outcome

    return dependency


def _refused(a: Answer) -> HTTPException:
    detail: dict[str, Any] = a.body
    return HTTPException(a.status, detail=detail, headers=a.headers)
