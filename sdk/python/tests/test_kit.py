import asyncio
import json
from typing import Any

import httpx
import pytest

from countersign import (
    AsyncCountersign,
    Countersign,
    CountersignError,
    Expect,
    KeySet,
    ProofError,
    ProofVerifier,
    ProtocolError,
    _transport,
    canonical,
    digest,
    verify_webhook,
)
from countersign.canonical import action_hash
from countersign.errors import WebhookError

from . import kit

PROOFS = kit.load("proofs.json")
RESPONSES = kit.load("responses.json")


def verify(case: Any) -> Any:
    jwks = case.get("jwks", PROOFS["jwks"])
    http = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, json=jwks)))

    def now() -> float:
        return float(case.get("now", PROOFS["now"]))

    keys = KeySet("https://countersign.example", PROOFS["issuer"], http=http, now=now)
    verifier = ProofVerifier(
        base_url="https://countersign.example",
        issuer=PROOFS["issuer"],
        environment=PROOFS["environment"],
        audience=PROOFS["audience"],
        leeway=case.get("leeway", 0),
        keys=keys,
        now=now,
    )
    return verifier.verify(case["proof"], Expect(**{**PROOFS["expect"], **case.get("expect", {})}))


@pytest.mark.parametrize("case", PROOFS["cases"], ids=kit.name_of)
def test_proofs(case: Any) -> None:
    if not case.get("code"):
        assert verify(case)["jti"] == "prf_1"
        return
    with pytest.raises(ProofError) as refused:
        verify(case)
    assert refused.value.code in case["code"].split("|"), case["guard"]


@pytest.mark.parametrize("case", kit.cases("webhooks.json"), ids=kit.name_of)
def test_webhooks(case: Any) -> None:
    now = kit.load("webhooks.json")["now"]
    if case["accepted"]:
        event = verify_webhook(case["body"].encode(), case["headers"], case["secrets"], now=now)
        assert (event.id, event.type) == ("evt_1", "hold.approved")
        return
    with pytest.raises(WebhookError):
        verify_webhook(case["body"].encode(), case["headers"], case["secrets"], now=now)


@pytest.mark.parametrize("case", kit.cases("canonical.json"), ids=kit.name_of)
def test_canonical(case: Any) -> None:
    value = json.loads(case["json"])
    assert canonical(value) == case["canonical"]
    assert digest(value) == case["digest"]


@pytest.mark.parametrize("case", kit.cases("canonical.json", "refused"), ids=kit.name_of)
def test_canonical_refuses(case: Any) -> None:
    with pytest.raises(ValueError, match=r"surrogates|JSON"):
        canonical(json.loads(case["json"]))


@pytest.mark.parametrize("case", kit.cases("canonical.json", "action_hashes"), ids=kit.name_of)
def test_action_hash(case: Any) -> None:
    d = case["document"]
    got = action_hash(
        action=d["action"]["key"],
        policy_version=d["action"]["policy_version"],
        content_hash=d["action"]["content_hash"],
        actor=d["actor"] and d["actor"]["id"],
        **{name: d[name] for name in ("subject", "resource", "audience", "nonce", "environment", "context")},
    )
    assert got == case["action_hash"]


def outcome(error: CountersignError) -> str:
    if error.rate_limited:
        return "rate_limited"
    if isinstance(error, ProtocolError) and error.status < 400:
        return "protocol_error"
    return "unavailable" if error.unavailable else "refused"


class Cut(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body whose connection ends before it does."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def __iter__(self) -> Any:
        yield self.body
        raise httpx.RemoteProtocolError("peer closed connection")

    async def __aiter__(self) -> Any:
        yield self.body
        raise httpx.RemoteProtocolError("peer closed connection")


def served(case: Any) -> httpx.Response:
    if case.get("drop"):
        raise httpx.ReadError("connection reset by peer")
    body = case.get("body", "").encode()
    if case.get("content_length"):
        return httpx.Response(case["status"], headers=case["headers"], stream=Cut(body))
    return httpx.Response(case["status"], headers=case.get("headers"), content=body)


def call(kind: str, handler: Any, request: Any, retries: int) -> Any:
    at = ("https://countersign.example", "sk_test_x")
    if kind == "sync":
        client = Countersign(*at, retries=retries, http=httpx.Client(transport=httpx.MockTransport(handler)))
        return client.authorize(request)

    async def run() -> Any:
        async with AsyncCountersign(*at, retries=retries, http=httpx.AsyncClient(transport=httpx.MockTransport(handler))) as client:
            return await client.authorize(request)

    return asyncio.run(run())


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("case", RESPONSES["cases"], ids=kit.name_of)
def test_responses(case: Any, kind: str) -> None:
    request = RESPONSES["recorded"][case["of"]]["request"]
    if case["outcome"] == "decision":
        assert call(kind, lambda _: served(case), request, 0)["decision"] == json.loads(case["body"])["decision"]
        return
    with pytest.raises(CountersignError) as failed:
        call(kind, lambda _: served(case), request, 0)
    assert outcome(failed.value) == case["outcome"], f"{case['guard']}: {failed.value}"
    assert failed.value.code == case.get("code", failed.value.code)
    if "retry_after" in case:
        assert failed.value.retry_after == case["retry_after"]


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("script", kit.cases("retries.json", "scripts"), ids=kit.name_of)
def test_retries(script: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_transport, "FIRST_PAUSE", 0.001)
    attempts: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        attempts.append(json.loads(request.content)["idempotency_key"])
        return served(script["steps"][(len(attempts) - 1) % len(script["steps"])])

    request = kit.load("retries.json")["recorded"]["request"]
    if script["outcome"] == "decision":
        call(kind, handler, request, 2)
    else:
        with pytest.raises(CountersignError) as failed:
            call(kind, handler, request, 2)
        assert outcome(failed.value) == script["outcome"], str(failed.value)
    assert len(attempts) == script["attempts"]
    assert len(set(attempts)) == 1
