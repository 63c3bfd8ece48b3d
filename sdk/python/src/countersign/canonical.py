"""RFC 8785 canonical JSON and the digests of docs/proof.md."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

MOST = 2**53 - 1


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


def plain(value: Any, at: str) -> Any:
    """What JSON has for a value, to send it. The service reads each number as a double and hashes that, so that a number which no double has
    would be authorized as another one: it is a ValueError, which names the field, and so is what has no JSON at all."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if not _is_unicode(value):
            raise ValueError(f"{at} has half of a surrogate pair, which is not Unicode")
        return value
    if isinstance(value, (int, float, Decimal)):
        return _exact(value, at)
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise ValueError(f"{at} has a name that is not a text but a {type(name).__name__}")
        return {plain(name, at): plain(member, f"{at}.{name}") for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{at}[{i}]") for i, item in enumerate(value)]
    raise ValueError(f"{at} is a {type(value).__name__}, which has no JSON")


def _exact(value: int | float | Decimal, at: str) -> int | float:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{at} is {value}, which has no JSON")
        return value
    if (isinstance(value, Decimal) and not value.is_finite()) or not -MOST <= value <= MOST:
        raise ValueError(f"{at} is not within ±(2^53-1), where numbers are exact: send it as a text")
    if isinstance(value, int):
        return value
    n = int(value) if value == value.to_integral_value() else float(value)
    if Decimal(repr(n)) != value:
        raise ValueError(f"{at} has more digits than a number is exact to: send it as a text")
    return n


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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
    if isinstance(value, Decimal):
        value = _exact(value, "a Decimal")
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
    if isinstance(given, int) and abs(given) > MOST:
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
