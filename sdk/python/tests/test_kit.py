import asyncio
import itertools
import json
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from typing import Any
from urllib.parse import unquote

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
    stream,
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


class Script:
    """Plays the steps of a script."""

    def __init__(self, *steps: Any) -> None:
        self.steps = steps
        self.sent: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        return served(self.steps[(len(self.sent) - 1) % len(self.steps)])


AT = ("https://countersign.example", "sk_test_x")


def call(kind: str, script: Script, retries: int, method: str, *arguments: Any, **named: Any) -> Any:
    if kind == "sync":
        client = Countersign(*AT, retries=retries, http=httpx.Client(transport=httpx.MockTransport(script)))
        return getattr(client, method)(*arguments, **named)

    async def run() -> Any:
        async with AsyncCountersign(*AT, retries=retries, http=httpx.AsyncClient(transport=httpx.MockTransport(script))) as client:
            return await getattr(client, method)(*arguments, **named)

    return asyncio.run(run())


def collect(kind: str, script: Script, most: int | None, method: str, *arguments: Any, **named: Any) -> list[Any]:
    """What an iterator of the client returns, up to most values."""
    got: list[Any] = []
    if kind == "sync":
        client = Countersign(*AT, http=httpx.Client(transport=httpx.MockTransport(script)))
        got.extend(itertools.islice(getattr(client, method)(*arguments, **named), most))
        return got

    async def run() -> None:
        async with (
            AsyncCountersign(*AT, http=httpx.AsyncClient(transport=httpx.MockTransport(script))) as client,
            aclosing(getattr(client, method)(*arguments, **named)) as values,
        ):
            async for value in values:
                got.append(value)
                if len(got) == most:
                    break

    asyncio.run(run())
    return got


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("case", kit.cases("requests.json"), ids=kit.name_of)
def test_requests(case: Any, kind: str) -> None:
    script, wanted = Script(case["response"]), case["request"]
    methods = {"authorize": "authorize", "createChallengeLink": "create_challenge_link", "listPasskeys": "list_passkeys"}
    body = [case["body"]] if "body" in case else []
    call(kind, script, 0, methods[case["operation"]], *case.get("path", {}).values(), *body, **(case.get("query") or {}))
    (sent,) = script.sent
    assert sent.method == wanted["method"]
    path, _, _ = sent.url.raw_path.decode().partition("?")
    assert [unquote(s) for s in path.split("/")[1:]] == wanted["segments"]
    assert dict(sent.url.params) == (wanted["query"] or {})
    for name, value in wanted["headers"].items():
        assert sent.headers.get(name, "") == value or (value == "*" and sent.headers[name])
    if wanted["body"]:
        assert json.loads(sent.content) == wanted["body"]


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("case", RESPONSES["cases"], ids=kit.name_of)
def test_responses(case: Any, kind: str) -> None:
    request = RESPONSES["recorded"][case["of"]]["request"]
    if case["outcome"] == "decision":
        assert call(kind, Script(case), 0, "authorize", request)["decision"] == json.loads(case["body"])["decision"]
        return
    with pytest.raises(CountersignError) as failed:
        call(kind, Script(case), 0, "authorize", request)
    assert outcome(failed.value) == case["outcome"], f"{case['guard']}: {failed.value}"
    assert failed.value.code == case.get("code", "" if case["outcome"] == "refused" else failed.value.code)
    if "retry_after" in case:
        assert failed.value.retry_after == case["retry_after"]


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("script", kit.cases("retries.json", "scripts"), ids=kit.name_of)
def test_retries(script: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_transport, "FIRST_PAUSE", 0.001)
    play, request = Script(*script["steps"]), kit.load("retries.json")["recorded"]["request"]
    with ending(script["outcome"], "decision"):
        call(kind, play, 2, "authorize", request)
    assert len(play.sent) == script["attempts"]
    assert len({json.loads(r.content)["idempotency_key"] for r in play.sent}) == 1


@contextmanager
def ending(wanted: str, result: str) -> Iterator[None]:
    """Expects the error of an outcome that is not the result."""
    if wanted == result:
        yield
        return
    with pytest.raises(CountersignError) as failed:
        yield
    assert outcome(failed.value) == wanted, str(failed.value)


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("script", kit.cases("pages.json", "scripts"), ids=kit.name_of)
def test_pages(script: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_transport, "FIRST_PAUSE", 0.001)
    play, pages = Script(*script["steps"]), kit.load("pages.json")
    with ending(script["outcome"], "entries"):
        got = collect(kind, play, None, "each", "listPasskeys", {"limit": pages["limit"]}, subject_id=pages["subject"])
        assert [entry["id"] for entry in got] == script.get("entries", [])
    assert [r.url.params.get("cursor", "") for r in play.sent] == script["cursors"]
    assert {(r.url.host, r.url.params["limit"]) for r in play.sent} == {("countersign.example", str(pages["limit"]))}


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("script", kit.cases("streams.json", "scripts"), ids=kit.name_of)
def test_streams(script: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "FIRST_PAUSE", 0.001)
    play, events = Script(*script["steps"]), script.get("events", [])
    with ending(script["outcome"], "events"):
        got = collect(kind, play, len(events) or 1, "events", last_event_id=script.get("last_event_id"))
        assert [{"id": e.id, "type": e.type, "data": e.data} for e in got] == events
    assert [r.headers.get("Last-Event-ID", "") for r in play.sent] == script["resumed"]


@pytest.mark.parametrize("script", kit.cases("keys.json", "scripts"), ids=kit.name_of)
def test_key_sets(script: Any) -> None:
    play, keys = Script(*script["steps"]), kit.load("keys.json")
    at = [float(keys["now"])]
    about = {name: keys[name] for name in ("issuer", "environment", "audience")}
    found = KeySet(AT[0], keys["issuer"], http=httpx.Client(transport=httpx.MockTransport(play)), now=lambda: at[0])
    verifier = ProofVerifier(base_url=AT[0], keys=found, now=lambda: at[0], **about)
    for check in script["checks"]:
        at[0] = float(keys["now"] + check["at"])
        try:
            verifier.verify(check["proof"], Expect(**keys["expect"]))
            got = "valid"
        except ProofError as error:
            got = error.code
        except CountersignError as error:
            got = outcome(error) if outcome(error) != "protocol_error" else "unavailable"
        assert got == check["outcome"], check["at"]
    assert len(play.sent) == script["fetches"]
    assert {(r.url.params["issuer"], r.headers.get("Authorization")) for r in play.sent} == {(keys["issuer"], None)}
