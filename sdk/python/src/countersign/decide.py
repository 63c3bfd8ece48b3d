"""A decision with a fallback for when the service makes none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from ._models import AuthorizeRequest, AuthorizeResponse
from .client import AsyncCountersign, Countersign, complete
from .errors import CountersignError

Failure = Literal["closed", "open"]
RiskClass = Literal["low", "elevated", "high", "critical"]
T = TypeVar("T")


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


def checked(failure: Failure) -> Failure:
    """A failure mode as it is: a misspelt one is a ValueError, and not another mode."""
    return _one_of(get_args(Failure), failure, "failure")


def _one_of(allowed: tuple[T, ...], value: T, name: str) -> T:
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}, and must be one of {', '.join(map(repr, allowed))}")
    return value


def failure_for(risk_class: RiskClass) -> Failure:
    """Only actions of low risk proceed without a decision."""
    _one_of(get_args(RiskClass), risk_class, "risk_class")
    return "open" if risk_class == "low" else "closed"


def decide(client: Countersign, ask: Mapping[str, Any], failure: Failure) -> Decision:
    """Requests a decision. If the service is unavailable or its response violates the contract, ``failure`` decides. A refusal by a
    quota (429) is never allowed, and a refusal of the request itself is raised: a mistake must never grant access."""
    checked(failure)
    request = complete(ask)
    try:
        return _decided(request, client.authorize(request))
    except CountersignError as error:
        return _undecided(request, error, failure)


async def decide_async(client: AsyncCountersign, ask: Mapping[str, Any], failure: Failure) -> Decision:
    """See decide."""
    checked(failure)
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
