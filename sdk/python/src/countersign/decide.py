"""A decision with a fallback for when the service makes none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ._models import AuthorizeRequest, AuthorizeResponse
from .client import AsyncCountersign, Countersign, complete
from .errors import CountersignError

Failure = Literal["closed", "open"]
RiskClass = Literal["low", "elevated", "high", "critical"]


@dataclass(frozen=True)
class Decision:
    """``allowed`` says whether to carry out the action: for an allow, and for every decision in mode shadow, which refuses nothing.

    ``response`` is None if the service made no decision; then ``error`` says why. An allow in mode enforce has
    ``response["proof"]``: verify it before you act.
    """

    allowed: bool
    request: AuthorizeRequest
    response: AuthorizeResponse | None = None
    error: CountersignError | None = None


def failure_for(risk_class: RiskClass) -> Failure:
    """Only actions of low risk proceed without a decision."""
    return "open" if risk_class == "low" else "closed"


def decide(client: Countersign, ask: Mapping[str, Any], failure: Failure) -> Decision:
    """Requests a decision. If the service is unavailable or its response violates the contract, ``failure`` decides. A refusal by a
    quota (429) is never allowed, and a refusal of the request itself is raised: a mistake must never grant access."""
    request = complete(ask)
    try:
        return _decided(request, client.authorize(request))
    except CountersignError as error:
        return _undecided(request, error, failure)


async def decide_async(client: AsyncCountersign, ask: Mapping[str, Any], failure: Failure) -> Decision:
    """See decide."""
    request = complete(ask)
    try:
        return _decided(request, await client.authorize(request))
    except CountersignError as error:
        return _undecided(request, error, failure)


def _decided(request: AuthorizeRequest, told: AuthorizeResponse) -> Decision:
    return Decision(told["decision"] == "allow" or told["mode"] == "shadow", request, told)


def _undecided(request: AuthorizeRequest, error: CountersignError, failure: Failure) -> Decision:
    if error.rate_limited:
        return Decision(False, request, error=error)
    if not error.unavailable:
        raise error
    return Decision(failure == "open", request, error=error)
