"""Guards a route with an action: it runs only on a proof for exactly this request, which is verified and consumed.

A gate makes no decisions of its own. The page repeats a request that got 401 with the proof in ``Countersign-Proof``.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ._models import AuthorizeRequest, AuthorizeResponse, ProofVerification, ProofVerifyRequest
from .canonical import plain
from .client import AsyncCountersign, Countersign
from .decide import Failure, checked
from .errors import CountersignError, ProofError
from .proof import Claims, Expect, ProofVerifier, Resource

PROOF_HEADER = "Countersign-Proof"


@dataclass(frozen=True)
class Ask:
    """What a request is about to do. Fill it from the request's session and body, never from what only the page claims about its user.

    What a decision cannot be about is a ValueError that names it, to which a middleware responds with 400: an empty subject, a number that is
    not exact as a double. A Decimal that is exact is taken."""

    subject: str
    resource: Resource
    context: Mapping[str, Any] = field(default_factory=dict)
    session: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("subject", self.subject), ("resource.type", self.resource["type"]), ("resource.id", self.resource["id"])):
            if not isinstance(value, str) or not value:
                raise ValueError(f"{name} is not a text, or is empty")
        object.__setattr__(self, "context", plain(self.context, "context"))


@dataclass(frozen=True)
class Outcome:
    """``allowed``: the route may run, once. ``claims`` are those of the proof that was consumed; None in modes shadow and test."""

    allowed: bool
    claims: Claims | None = None
    decision: AuthorizeResponse | None = None
    refusal: ProofError | None = None
    error: CountersignError | None = None  # why there is no decision


@dataclass(frozen=True)
class _Gate:
    verifier: ProofVerifier
    action: str
    failure: Failure = "closed"
    require_proof: bool = False

    def __post_init__(self) -> None:
        checked(self.failure)

    def _request(self, ask: Ask) -> AuthorizeRequest:
        request = {
            "subject": ask.subject, "action": self.action, "audience": self.verifier.audience, "resource": dict(ask.resource),
            "context": dict(ask.context), "requested_at": int(time.time()), "nonce": secrets.token_urlsafe(18),
            "idempotency_key": secrets.token_urlsafe(18),
        }  # fmt: skip
        return cast(AuthorizeRequest, request if ask.session is None else {**request, "session": ask.session})

    def _verify(self, ask: Ask, proof: str, nonce: str | None) -> Claims:
        expect = Expect(self.action, subject=ask.subject, resource=ask.resource, context=ask.context, nonce=nonce)
        return self.verifier.verify(proof, expect)

    def _consume(self, proof: str) -> ProofVerifyRequest:
        return {"proof": proof, "audience": self.verifier.audience, "action": self.action, "consume": True}

    def _without_proof(self, decision: AuthorizeResponse) -> Outcome:
        allowed = decision["decision"] == "allow" or decision["mode"] == "shadow"
        return Outcome(allowed and decision["mode"] != "enforce" and not self.require_proof, decision=decision)

    def _failed(self, error: CountersignError, brought: bool, decision: AuthorizeResponse | None) -> Outcome:
        if isinstance(error, ProofError):
            return Outcome(False, refusal=error, decision=decision)
        if not error.rate_limited and not error.unavailable:
            raise error
        return Outcome(self.failure == "open" and not brought and not error.rate_limited, error=error)


def _consumed(claims: Claims, used: ProofVerification, decision: AuthorizeResponse | None) -> Outcome:
    if used["valid"] and used["claims"] is not None and used["claims"].get("jti") == claims["jti"]:
        return Outcome(True, claims, decision)
    return Outcome(False, decision=decision, refusal=ProofError((used["reason_codes"] or ["proof_unknown"])[0], "the service does not accept it"))


@dataclass(frozen=True)
class Gate(_Gate):
    """Guards one action, for threads. ``require_proof`` refuses what comes without a proof, whatever the response says: set it once the
    action is in mode enforce. ``failure`` decides while the service is unavailable; a refusal by a quota (429) never goes through."""

    client: Countersign = field(kw_only=True)

    def check(self, ask: Ask, proof: str | None = None) -> Outcome:
        """Requests a decision, or takes the proof that a request brought. A refused request (CountersignError) is raised."""
        decision = None
        try:
            nonce = None
            if not proof:
                request = self._request(ask)
                decision, nonce = self.client.authorize(request), request["nonce"]
                proof = (decision["decision"] == "allow" and decision.get("proof")) or None
                if not proof:
                    return self._without_proof(decision)
            claims = self._verify(ask, proof, nonce)
            return _consumed(claims, self.client.verify_proof(self._consume(proof)), decision)
        except CountersignError as error:
            return self._failed(error, bool(proof) and decision is None, decision)


@dataclass(frozen=True)
class AsyncGate(_Gate):
    """See Gate. Keys are fetched in a thread."""

    client: AsyncCountersign = field(kw_only=True)

    async def check(self, ask: Ask, proof: str | None = None) -> Outcome:
        import anyio.to_thread

        decision = None
        try:
            nonce = None
            if not proof:
                request = self._request(ask)
                decision = await self.client.authorize(request)
                nonce = request["nonce"]
                proof = (decision["decision"] == "allow" and decision.get("proof")) or None
                if not proof:
                    return self._without_proof(decision)
            claims = await anyio.to_thread.run_sync(self._verify, ask, proof, nonce)
            return _consumed(claims, await self.client.verify_proof(self._consume(proof)), decision)
        except CountersignError as error:
            return self._failed(error, bool(proof) and decision is None, decision)


@dataclass(frozen=True)
class Answer:
    """The response to a request that did not go through."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str]


def answer(outcome: Outcome) -> Answer:
    """401 for a challenge (RFC 9470: the page completes it and repeats the request with the proof), 403 for a hold, a denial or a refused
    proof, 503 if there is no decision."""
    headers = {"Cache-Control": "no-store"}
    if outcome.error is not None:
        wait = max(2, round(outcome.error.retry_after + 0.5) if outcome.error.retry_after else 0)
        return Answer(503, {"decision": "unavailable", "message": "Please try again in a moment."}, headers | {"Retry-After": str(wait)})
    if outcome.refusal is not None:
        return Answer(403, {"decision": "refused", "message": f"The confirmation cannot be used for this: {outcome.refusal.code}."}, headers)
    d = outcome.decision
    if d is None or d["decision"] == "allow" or d["mode"] == "shadow":
        return Answer(403, {"decision": "refused", "message": "The action is not enforced, so that there is no proof for it."}, headers)
    body = {"decision": d["decision"], "authorization": d["id"], "message": d["human_readable"]["detail"]}
    if d["decision"] == "challenge":
        return Answer(401, body | {"challenge": d.get("challenge")}, headers | {"WWW-Authenticate": 'Countersign error="challenge_required"'})
    return Answer(403, body, headers)


def mistaken(error: CountersignError) -> Answer:
    """The response to a request that the service refused: its text belongs in the log and not on the page."""
    status = 422 if error.status == 422 else 500
    return Answer(status, {"decision": "refused", "message": "The request could not be authorized."}, {"Cache-Control": "no-store"})
