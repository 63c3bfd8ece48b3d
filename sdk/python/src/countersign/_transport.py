"""What both clients share: how a call is prepared, when it is sent again, and what its response means."""

from __future__ import annotations

import email.utils
import json
import random
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from . import _check
from .canonical import plain
from .errors import ApprovalRequiredError, CountersignError, Fault, ProtocolError, RefusedError, UnreachableError

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds
LARGEST = 16 << 20  # bytes of a response
_PARAMETER = re.compile(r"{(\w+)}")
_CODE = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Operation:
    """One operation of the contract."""

    id: str
    method: str
    path: str
    keyed: bool  # takes an Idempotency-Key

    @property
    def repeatable(self) -> bool:
        """Sending the request twice does no more than sending it once."""
        return self.keyed or self.method == "GET" or self.id == "authorize"  # whose body has its key


@dataclass(frozen=True)
class Config:
    base_url: str
    api_key: str = field(repr=False)
    retries: int = 2
    timeout: float = 10.0

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("https://", "http://")):
            raise ValueError("base_url must begin with https:// or http://")
        if not self.api_key or not self.api_key.isascii() or not self.api_key.isprintable():
            raise ValueError("api_key is empty, or has characters that no key has")


@dataclass
class Call:
    """One call: its attempts have the same body and key."""

    operation: Operation
    path: dict[str, Any]
    request: httpx.Request
    body: Any
    limited: CountersignError | None = None
    attempts: int = 0

    def again(self, error: CountersignError, retries: int) -> float:
        """The pause before the next attempt. Raises the error if there is none."""
        self.attempts += 1
        if error.rate_limited:
            self.limited = error
        elif self.limited and isinstance(error, UnreachableError):
            self.limited.__cause__ = error
            error = self.limited  # the wait for the limit must not make it a service that is unavailable
        if self.attempts > retries or not self._may_repeat(error):
            raise error
        return max(random.uniform(0, min(FIRST_PAUSE * 2**self.attempts, LONGEST_PAUSE)), error.retry_after)  # noqa: S311 - jitter

    def _may_repeat(self, error: CountersignError) -> bool:
        if isinstance(error, RefusedError):
            if error.status in (429, 503):
                return error.retry_after <= LONGEST_PAUSE  # nothing was changed
            return error.status in (502, 504) and self.operation.repeatable
        if isinstance(error, ProtocolError) and (300 <= error.status < 400 or (400 <= error.status < 500 and error.status != 429)):
            return False
        return error.retry_after <= LONGEST_PAUSE and (self.operation.repeatable or error.status == 429)


def listing(c: Config, operations: Mapping[str, Operation], name: str, path: Mapping[str, Any], query: Mapping[str, Any] | None) -> Call:
    """The call of a list operation. What the contract does not have is refused before anything is sent."""
    operation = operations.get(name)
    rule = _check.contract()["responses"].get(name, {}).get("200") or {}
    if operation is None or operation.method != "GET" or rule.get("type") != ["array"]:
        raise ValueError(f"the contract has no list operation {name!r}")
    for given, known in ((path, _PARAMETER.findall(operation.path)), (query or {}, _check.contract()["operations"][name].get("query", ()))):
        if unknown := set(given) - set(known):
            raise ValueError(f"{name} has no parameter {', '.join(sorted(unknown))}")
    if missing := set(_PARAMETER.findall(operation.path)) - set(path):
        raise ValueError(f"{name} needs {', '.join(sorted(missing))}")
    return prepare(c, operation, path, query, None, None)


def prepare(
    c: Config, operation: Operation, path: Mapping[str, Any], query: Mapping[str, Any] | None, body: Any, headers: Mapping[str, str] | None
) -> Call:
    target = c.base_url.rstrip("/") + operation.path
    for name, value in path.items():
        target = target.replace("{" + name + "}", quote(str(value), safe=""))
    body = plain(body, operation.id)
    sent = {"Authorization": f"Bearer {c.api_key}", "Accept": "application/json"}
    content = None
    if body is not None:
        content = json.dumps(body, ensure_ascii=False).encode()
        sent["Content-Type"] = "application/json"
    if operation.keyed:
        sent["Idempotency-Key"] = secrets.token_urlsafe(18)
    sent.update(headers or {})
    given = {k: _query(v) for k, v in (query or {}).items() if v is not None}
    return Call(operation, dict(path), httpx.Request(operation.method, target, params=given or None, content=content, headers=sent), body)


def _query(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def lost(operation: Operation, error: Exception) -> UnreachableError:
    return UnreachableError(f"{operation.id}: no response was received ({type(error).__name__})")


def understand(call: Call, response: httpx.Response) -> Any:
    """The result of a response. Anything that violates the contract is a ProtocolError."""
    operation, status = call.operation, response.status_code
    rules = _check.contract()["responses"].get(operation.id, {})
    if 300 <= status < 400:
        raise _garbled(operation, response, "the response is a redirect, which is never followed")
    if status >= 400:
        raise _refusal(operation, response)
    if str(status) not in rules:
        raise _garbled(operation, response, "the contract has no response with this status")
    rule = rules[str(status)]
    if rule is None:
        if response.content:
            raise _garbled(operation, response, "a body where the contract has none")
        return None
    if _media_type(response) != "application/json":
        raise _garbled(operation, response, "the content type is not application/json")
    try:
        told = _check.parse(response.content)
        _check.matches(rule, told)
    except _check.Breach as breach:
        raise _garbled(operation, response, str(breach)) from None
    if status == 202 and rule.get("ref") == "ChangeRequest" and "200" in rules:
        raise ApprovalRequiredError(f"the change waits for a second approver: approve {told['id']}", status=status, change=told)
    if wrong := _check.contradiction(operation.id, call.path, call.body, told) if status != 202 else "":
        raise _garbled(operation, response, wrong)
    return told


def stream_of_events(operation: Operation, response: httpx.Response) -> None:
    """Raises the error of a response that is no stream of events."""
    if response.status_code >= 400:
        raise _refusal(operation, response)
    if response.status_code != 200 or _media_type(response) != "text/event-stream":
        raise _garbled(operation, response, "the response is not a stream of events")


def _refusal(operation: Operation, response: httpx.Response) -> CountersignError:
    """A problem (RFC 9457), or the faults of a 422; anything else is a refusal by something in between."""
    try:
        body = _check.parse(response.content) if _media_type(response) in ("application/problem+json", "application/json") else None
    except _check.Breach:
        body = None
    about: dict[str, Any] = {
        "status": response.status_code,
        "request_id": response.headers.get("X-Request-Id", ""),
        "retry_after": retry_after(response),
    }
    if response.status_code == 422 and body and _follows("HTTPValidationError", body) and body["detail"]:
        faults = [Fault(tuple(f["loc"]), f["msg"], f["type"]) for f in body["detail"]]
        return RefusedError("; ".join(f.msg for f in faults), code="validation_error", faults=faults, **about)
    if isinstance(body, dict):
        code, status = body.get("code"), body.get("status", response.status_code)
        if isinstance(code, str) and _CODE.fullmatch(code) and status == response.status_code:
            return RefusedError(f"{code}: {body.get('detail') or body.get('title') or ''}", code=code, **about)
    return _garbled(operation, response, "a refusal that the service does not give")


def _follows(schema: str, body: Any) -> bool:
    try:
        _check.matches({"ref": schema}, body)
    except _check.Breach:
        return False
    return True


def _garbled(operation: Operation, response: httpx.Response, what: str) -> ProtocolError:
    return ProtocolError(
        f"{operation.id}: status {response.status_code}: {what}",
        status=response.status_code,
        request_id=response.headers.get("X-Request-Id", ""),
        retry_after=retry_after(response),
    )


def _media_type(response: httpx.Response) -> str:
    kind: str = response.headers.get("Content-Type", "")
    return kind.partition(";")[0].strip().lower()


LONGEST_WAIT = 999_999_999.0  # stands for any longer time that a Retry-After names


def retry_after(response: httpx.Response) -> float:
    """Seconds, the form the service uses, or an HTTP date, the form a proxy may use; 0 for anything else."""
    value = response.headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return float(value) if len(value) < 10 else LONGEST_WAIT
    try:
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return 0.0


def next_page(response: httpx.Response, request: httpx.Request) -> httpx.Request | None:
    """The request for the next page. Only its cursor is taken from the response: its key goes to no other address."""
    link = response.links.get("next", {}).get("url")
    cursor = httpx.URL(link).params.get("cursor") if link else None
    if not cursor:
        return None
    if cursor == request.url.params.get("cursor"):
        raise ProtocolError("a page links to itself", status=response.status_code)
    return httpx.Request(request.method, request.url.copy_set_param("cursor", cursor), headers=request.headers)
