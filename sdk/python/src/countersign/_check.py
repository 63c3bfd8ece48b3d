"""Checks a response against the rules generated from the contract (_contract.json), and against itself and its request."""

from __future__ import annotations

import json
import re
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Any

from .canonical import context_digest

_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_LONGEST_PROOF = 8192  # characters

Rule = dict[str, Any]


class Breach(Exception):
    """What of a response violates the contract. It never quotes the response."""


@cache
def contract() -> dict[str, Any]:
    text = resources.files("countersign").joinpath("_contract.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def parse(text: bytes) -> Any:
    """JSON with each name once and in UTF-8."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) != len(pairs):
            raise Breach("has a field twice")
        return dict(pairs)

    def never(_: str) -> Any:
        raise Breach("is not JSON")

    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=unique, parse_constant=never)
    except (ValueError, RecursionError) as error:
        raise Breach("is not JSON") from error


def matches(rule: Rule | None, value: Any, at: str = "the response") -> None:
    """Raises Breach if value violates rule."""
    while rule is not None and "ref" in rule:
        rule = contract()["schemas"].get(rule["ref"])
    if rule is None:
        return
    if "any_of" in rule:
        return _any(rule["any_of"], value, at)
    if "type" in rule and not any(_is(kind, value) for kind in rule["type"]):
        raise Breach(f"{at} is not of type {' or '.join(rule['type'])}")
    if "enum" in rule and not any(value == v and type(value) is type(v) for v in rule["enum"]):
        raise Breach(f"{at} is none of the values of the contract")
    if isinstance(value, str) and rule.get("format") == "date-time" and not _is_time(value):
        raise Breach(f"{at} is not an RFC 3339 time")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        _in_range(rule, value, at)
    if isinstance(value, list):
        for i, item in enumerate(value):
            matches(rule.get("items"), item, f"{at}[{i}]")
    if isinstance(value, dict):
        _object(rule, value, at)


def _in_range(rule: Rule, value: float, at: str) -> None:
    if not rule.get("minimum", value) <= value <= rule.get("maximum", value):
        raise Breach(f"{at} is out of range")


def _any(rules: list[Rule], value: Any, at: str) -> None:
    last = Breach(f"{at} is none of the alternatives")
    for rule in rules:
        try:
            return matches(rule, value, at)
        except Breach as breach:
            last = breach
    raise last


def _object(rule: Rule, value: dict[str, Any], at: str) -> None:
    properties: dict[str, Rule] = rule.get("properties", {})
    folded = {name.casefold() for name in properties}
    for name, member in value.items():
        if name in properties:
            matches(properties[name], member, f"{at}.{name}")
        elif name.casefold() in folded:
            raise Breach(f"{at} has a field whose name is spelled otherwise")
        else:
            matches(rule.get("additional"), member, f"{at}.*")
    for name in rule.get("required", ()):
        if name not in value:
            raise Breach(f"{at}.{name} is missing")


def _is(kind: str, value: Any) -> bool:
    match kind:
        case "null":
            return value is None
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case _:
            return kind == "object" and isinstance(value, dict)


def _is_time(text: str) -> bool:
    if not _TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text[:19].upper())
    except ValueError:
        return False
    return True


def contradiction(operation: str, path: dict[str, Any], body: Any, told: Any) -> str:
    """How a response that matches its schema contradicts itself or its request; empty if it does not."""
    match operation:
        case "authorize":
            return _of_decision(told) or _echo(body, told)
        case "verifyProof":
            return _of_verification(body, told)
        case "completeChallenge":
            return _same("challenge", path.get("challenge_id"), told.get("challenge"))
        case "getAuthorization":
            return _same("id", path.get("authorization_id"), told.get("id"))
        case "reviewAuthorization":
            inner = _of_decision(told["decision"]) if told.get("decision") else ""
            return inner or _same("authorization", path.get("authorization_id"), told.get("authorization"))
        case "getProofStatus":
            return _same("jti", path.get("jti"), told.get("jti"))
        case _:
            return ""


def _same(name: str, asked: Any, told: Any) -> str:
    return "" if told and asked == told else f"{name} is not the one of the request"


def _of_decision(told: dict[str, Any]) -> str:
    proven = told["decision"] == "allow" and told["mode"] == "enforce"
    step_up = told["decision"] == "challenge" and told["mode"] != "shadow"
    proof, challenge = told.get("proof"), told.get("challenge")
    if not (told["id"] and told["environment"] and told["action_hash"]):
        return "id, environment or action_hash is empty"
    if proven != bool(proof) or proven != bool(told.get("proof_id")):
        return "a proof comes with allow in mode enforce, and with nothing else"
    if proof and (len(proof) > _LONGEST_PROOF or not _COMPACT.fullmatch(proof)):
        return "proof is not a compact JWS"
    if step_up != bool(challenge):
        return "a challenge comes with the decision challenge in the modes test and enforce, and with nothing else"
    if challenge and not (challenge["id"] and challenge["methods"]):
        return "challenge has no id or no method"
    return ""


def _echo(asked: dict[str, Any], told: dict[str, Any]) -> str:
    return _same("action", asked["action"], told["action"]) or _same("assurance.subject", asked["subject"], told["assurance"]["subject"])


def _of_verification(asked: dict[str, Any], told: dict[str, Any]) -> str:
    if not told["valid"]:
        return ""
    claims = told["claims"]
    if not claims:
        return "valid comes without claims"
    if told["status"] != ("consumed" if asked.get("consume") else "active"):
        return "valid does not go with status"
    if set(told["reason_codes"]) - {"audience_not_checked"}:
        return "valid does not go with reason_codes"
    for name, found in (("audience", "aud"), ("nonce", "nonce"), ("subject", "sub")):
        if name in asked and asked[name] != claims.get(found):
            return f"claims.{found} is not the one of the request"
    if "action" in asked and asked["action"] != claims["act"].get("key"):
        return "claims.act.key is not the one of the request"
    if "context" in asked and context_digest(asked["context"]) != claims.get("ctx"):
        return "claims.ctx is not the one of the request"
    return ""
