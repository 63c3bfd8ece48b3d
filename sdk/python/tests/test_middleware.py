import json
from typing import Any

import httpx
import pytest

from countersign import AsyncCountersign, Countersign, KeySet, ProofVerifier
from countersign.gate import Ask, AsyncGate, Gate

from .test_gate import AUDIENCE, ISSUER, Service

pytest.importorskip("django")
pytest.importorskip("fastapi")

from django.conf import settings

settings.configure(ALLOWED_HOSTS=["*"], DEFAULT_CHARSET="utf-8")

from django.http import HttpResponse  # noqa: E402
from django.test import RequestFactory  # noqa: E402
from fastapi import Depends, FastAPI, Request  # noqa: E402

from countersign.middleware.asgi import CountersignMiddleware  # noqa: E402
from countersign.middleware.django import countersigned  # noqa: E402
from countersign.middleware.fastapi import countersigned as depends_on  # noqa: E402


def verifier(service: Service) -> ProofVerifier:
    keys = KeySet(ISSUER, ISSUER, http=httpx.Client(transport=httpx.MockTransport(service)))
    return ProofVerifier(base_url=ISSUER, issuer=ISSUER, environment="env_1", audience=AUDIENCE, keys=keys)


def gate(service: Service) -> AsyncGate:
    client = AsyncCountersign(ISSUER, "sk_test_x", retries=0, http=httpx.AsyncClient(transport=httpx.MockTransport(service)))
    return AsyncGate(verifier(service), "payments.transfer", client=client)


def asked(body: bytes) -> Ask:
    payment = json.loads(body)
    if "amount" not in payment:
        raise ValueError("amount is missing")
    return Ask("user-1", {"type": "account", "id": "acc-1"}, {"amount": payment["amount"]})


def through_django(service: Service, body: str) -> int:
    client = Countersign(ISSUER, "sk_test_x", retries=0, http=httpx.Client(transport=httpx.MockTransport(service)))
    guard = Gate(verifier(service), "payments.transfer", client=client)

    @countersigned(guard, lambda request: asked(request.body))
    def view(request: Any) -> HttpResponse:
        assert request.countersign.allowed
        return HttpResponse("moved")

    return int(view(RequestFactory().post("/", body, content_type="application/json")).status_code)


def through_fastapi(service: Service, body: str) -> int:
    async def describe(request: Request) -> Ask:
        return asked(await request.body())

    app = FastAPI()

    @app.post("/", dependencies=[Depends(depends_on(gate(service), describe))])
    async def pay() -> str:
        return "moved"

    return post(app, body)


def through_asgi(service: Service, body: str) -> int:
    app = FastAPI()

    @app.post("/")
    async def pay(request: Request) -> Any:
        assert request.scope["countersign"].allowed
        return await request.json()

    async def describe(scope: Any, text: bytes) -> Ask | None:
        return asked(text)

    return post(CountersignMiddleware(app, gate(service), describe), body)


def post(app: Any, body: str) -> int:
    import asyncio

    async def send() -> int:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
            return (await client.post("/", content=body)).status_code

    return asyncio.run(send())


@pytest.mark.parametrize("through", [through_django, through_fastapi, through_asgi])
@pytest.mark.parametrize(
    ("service", "body", "status"),
    [
        (Service(), '{"amount": 19}', 200),
        (Service("challenge"), '{"amount": 19}', 401),
        (Service("hold"), '{"amount": 19}', 403),
        (Service(alter={"sub": "mallory"}), '{"amount": 19}', 403),
        (Service(status=503), '{"amount": 19}', 503),
        (Service(status=404), '{"amount": 19}', 500),
        (Service(), "{}", 400),
        (Service(), '{"amount": NaN}', 400),
        (Service(), '{"amount": 9007199254740993}', 400),
    ],
)
def test_a_route_runs_only_on_a_consumed_proof(through: Any, service: Service, body: str, status: int) -> None:
    service.consumed.clear()
    assert through(service, body) == status
    assert len(service.consumed) == (status == 200)
