"""RFC 8785 canonical JSON and the digests of docs/proof.md."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any


def canonical(value: Any) -> str:
    """The canonical JSON of what this package sends for value. Raises ValueError if it has none."""
    return _write(value)


def digest(value: Any) -> str:
    """``sha256:`` and the hex SHA-256 of the canonical form."""
    return "sha256:" + hashlib.sha256(canonical(value).encode()).hexdigest()


def context_digest(context: Mapping[str, Any] | None) -> str:
    """``ctx`` of a proof; None is {}."""
    return digest(context or {})


def resource_digest(resource: Mapping[str, Any]) -> str:
    """``res.digest`` of a proof."""
    return digest({"type": _text(resource["type"]), "id": _text(resource["id"])})


def action_hash(
    *,
    action: str,
    policy_version: int,
    content_hash: str,
    subject: str,
    resource: Mapping[str, Any],
    audience: str,
    nonce: str,
    environment: str,
    actor: str | None = None,
    context: Mapping[str, Any] | None = None,
) -> str:
    """``action_hash`` of a request, to compare with ``act.hash`` of its proof."""
    return digest(
        {
            "v": "countersign.action.v1",
            "action": {"key": action, "policy_version": policy_version, "content_hash": content_hash},
            "subject": subject,
            "actor": None if actor is None else {"type": "human", "id": actor},
            "resource": {"type": resource["type"], "id": resource["id"]},
            "audience": audience,
            "nonce": nonce,
            "context": context or {},
            "environment": environment,
        }
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a {type(value).__name__} where a text is required")
    return value


def _write(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        value.encode()  # half of a surrogate pair is not Unicode
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)):
        return _number(float(value), value)
    if isinstance(value, Mapping):
        members = sorted(((_text(k), v) for k, v in value.items()), key=lambda m: m[0].encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(_write(k) + ":" + _write(v) for k, v in members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_write, value)) + "]"
    raise ValueError(f"a {type(value).__name__} has no JSON")


def _number(n: float, given: int | float) -> str:
    """The number as ECMAScript writes it."""
    if not math.isfinite(n):
        raise ValueError(f"{n} has no JSON")
    if isinstance(given, int) and abs(given) > 2**53 - 1:
        raise ValueError("an integer beyond 2^53-1 is not exact: send it as a text")
    if n == 0:
        return "0"
    sign, rest = ("-", -n) if n < 0 else ("", n)
    mantissa, _, exponent = f"{rest!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if fraction == "0" and not exponent:
        point = len(whole)
    if 0 < point <= 21:
        text = digits.ljust(point, "0")
        text = text[:point] + ("." + text[point:] if len(text) > point else "")
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + f"e{point - 1:+d}"
    return sign + text
