"""Verifies webhooks (Standard Webhooks)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import WebhookError

TOLERANCE = 300  # seconds, either way


@dataclass(frozen=True)
class Event:
    """A delivered event. The same id arrives again if the service could not know that an earlier attempt succeeded."""

    id: str
    type: str
    timestamp: str
    data: dict[str, Any]


def verify_webhook(body: bytes, headers: Mapping[str, str], secrets: str | Sequence[str | None], *, now: float | None = None) -> Event:
    """The event of a delivery. ``body`` is the raw body; ``secrets`` are one, or several while one replaces the other. Raises
    WebhookError: respond with 400."""
    keys = [_secret(s) for s in ([secrets] if isinstance(secrets, str) else secrets) if s]
    if not keys:
        raise ValueError("at least one secret is needed")
    found = {name.lower(): value for name, value in headers.items()}
    ident, stamp, signatures = (found.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not ident or not re.fullmatch(r"\d{1,12}", stamp, re.ASCII) or not signatures.split():
        raise WebhookError("webhook-id, webhook-timestamp or webhook-signature is missing or malformed")
    if abs((time.time() if now is None else now) - int(stamp)) > TOLERANCE:
        raise WebhookError("the timestamp is more than 5 minutes from this machine's clock")
    signed = f"{ident}.{stamp}.".encode() + body
    wanted = [hmac.new(key, signed, hashlib.sha256).digest() for key in keys]
    given = [_signature(s) for s in signatures.split()]
    if not any([hmac.compare_digest(w, g) for w in wanted for g in given]):  # a list: every comparison is made
        raise WebhookError("no signature matches")
    try:
        event = json.loads(body)
        return Event(ident, event["type"], event["timestamp"], event["data"])
    except (ValueError, KeyError, TypeError):
        raise WebhookError("the body is not an event") from None


def _secret(secret: str) -> bytes:
    try:
        raw = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raw = b""
    if len(raw) < 24:
        raise ValueError("a secret must be whsec_ and the base64 of at least 24 bytes")
    return raw


def _signature(text: str) -> bytes:
    version, _, encoded = text.partition(",")
    try:
        return base64.b64decode(encoded, validate=True) if version == "v1" else b""
    except (binascii.Error, ValueError):
        return b""
