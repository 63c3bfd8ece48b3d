"""Verifies Proofs of Agency offline (docs/proof.md).

A verifier cannot know that a proof was consumed or revoked: consume it at the service (``verify_proof``), as the middleware does.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict
from urllib.parse import quote

import httpx
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256

from .canonical import context_digest, resource_digest
from .errors import CountersignError, ProofError, ProtocolError, UnreachableError

Claims = dict[str, Any]

LONGEST = 8192  # characters of a proof
_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_MOST_LEEWAY = 60.0
_TEXTS = (
    "iss",
    "sub",
    "aud",
    "jti",
    "nonce",
    "env",
    "env_kind",
    "mode",
    "azn",
    "ctx",
    "act.key",
    "act.hash",
    "act.content_hash",
    "res.type",
    "res.digest",
)


class Resource(TypedDict):
    type: str
    id: str


@dataclass(frozen=True)
class Expect:
    """What is about to be done, which the proof must be for.

    With ``unbound=True``, subject, resource and context may be None: compare the claims yourself before you act.
    """

    action: str
    subject: str | None = None
    resource: Resource | None = None
    context: Mapping[str, Any] | None = None
    nonce: str | None = None
    action_hash: str | None = None
    unbound: bool = False

    def __post_init__(self) -> None:
        missing = [] if self.unbound is True else [n for n in ("subject", "resource", "context") if getattr(self, n) is None]
        if not self.action or missing or self.subject == "":
            raise ValueError(f"expected {', '.join(missing) or 'action or subject'} is missing")


class KeySet:
    """The keys of one issuer, kept as their Cache-Control says, and fetched again once for a key that is not known."""

    LEAST, MOST, DEFAULT, BEYOND = 10.0, 600.0, 300.0, 3600.0  # seconds; BEYOND after the last successful fetch

    def __init__(self, base_url: str, issuer: str, *, http: httpx.Client | None = None, now: Callable[[], float] = time.time) -> None:
        self._url = f"{base_url.rstrip('/')}/.well-known/service-proof-keys.json?issuer={quote(issuer, safe='')}"
        self._http = http or httpx.Client(timeout=5.0)
        self._now = now
        self._lock = threading.Lock()
        self._keys: dict[str, ec.EllipticCurvePublicKey] = {}
        self._until = self._tried = self._loaded = float("-inf")
        self._failed: CountersignError | None = None

    def find(self, kid: str) -> ec.EllipticCurvePublicKey:
        """The key; ProofError if a fetched set lacks it, and the error of the fetch if there is no such set."""
        with self._lock:
            now = self._now()
            if now >= self._until or (kid not in self._keys and now - self._tried >= self.LEAST):
                self._refresh(now)
            if now - self._loaded > self.BEYOND:
                self._keys = {}  # one of them may have been removed
            if key := self._keys.get(kid):
                return key
            if self._failed:
                raise self._failed
            raise ProofError("proof_key_unknown", "no published key has the proof's kid")

    def _refresh(self, now: float) -> None:
        self._tried = now
        try:
            self._keys, lifetime = self._load()
            self._loaded, self._until, self._failed = now, now + lifetime, None
        except CountersignError as error:
            self._failed, self._until = error, now + self.LEAST

    def _load(self) -> tuple[dict[str, ec.EllipticCurvePublicKey], float]:
        try:
            response = self._http.send(self._http.build_request("GET", self._url, headers={"Accept": "application/json"}), follow_redirects=False)
        except httpx.HTTPError as error:
            raise UnreachableError("the key set could not be reached") from error
        try:
            entries = json.loads(response.content)["keys"] if response.status_code == 200 else None
        except (ValueError, KeyError, TypeError):
            entries = None
        if not isinstance(entries, list):
            raise ProtocolError("the response is not a key set", status=response.status_code)
        age = re.search(r"(?:^|[\s,])max-age=(\d{1,9})", response.headers.get("Cache-Control", ""))
        return import_keys(entries), min(max(float(age[1]) if age else self.DEFAULT, self.LEAST), self.MOST)


def import_keys(entries: list[Any]) -> dict[str, ec.EllipticCurvePublicKey]:
    """The public P-256 keys for signatures, by kid. All others are passed over: one bad key must not end the good ones."""
    keys: dict[str, ec.EllipticCurvePublicKey] = {}
    for k in entries:
        if not isinstance(k, dict) or k.get("kty") != "EC" or k.get("crv") != "P-256" or "d" in k:
            continue
        if k.get("alg", "ES256") != "ES256" or k.get("use", "sig") != "sig" or not isinstance(k.get("kid"), str) or not k["kid"]:
            continue
        if isinstance(operations := k.get("key_ops"), list) and "verify" not in operations:
            continue
        try:
            point = [_decode(k[name]) for name in ("x", "y")]
            if any(len(c) != 32 for c in point):
                continue
            x, y = (int.from_bytes(c, "big") for c in point)
            keys[k["kid"]] = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()  # checks that it is on the curve
        except (ValueError, KeyError, TypeError):
            continue
    return keys


class ProofVerifier:
    """Verifies proofs for one relying party. ``issuer`` and ``environment`` are those of ``get_credential``."""

    def __init__(
        self,
        *,
        base_url: str,
        issuer: str,
        environment: str,
        audience: str,
        leeway: float = 5.0,
        keys: KeySet | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        if not (base_url and issuer and environment and audience):
            raise ValueError("base_url, issuer, environment and audience are required")
        self.issuer, self.environment, self.audience = issuer, environment, audience
        self._leeway = min(max(leeway, 0.0), _MOST_LEEWAY)
        self._keys = keys or KeySet(base_url, issuer, now=now)
        self._now = now

    def verify(self, proof: str, expect: Expect) -> Claims:
        """The claims of a proof for what is expected. Raises ProofError if it is refused, and another CountersignError if the keys
        could not be fetched: retry later."""
        parts = _split(proof)
        key = self._keys.find(_kid(parts[0]))
        _check_signature(proof, parts[2], key)
        claims = _claims(parts[1])
        self._check_claims(claims, expect)
        self._check_times(claims)
        return claims

    def _check_claims(self, c: Claims, x: Expect) -> None:
        for name, wanted, code in (
            ("iss", self.issuer, "proof_issuer_mismatch"),
            ("env", self.environment, "proof_environment_mismatch"),
            ("aud", self.audience, "proof_audience_mismatch"),
            ("act.key", x.action, "proof_action_mismatch"),
            ("act.hash", x.action_hash, "proof_action_mismatch"),
            ("sub", x.subject, "proof_action_mismatch"),
            ("nonce", x.nonce, "proof_nonce_mismatch"),
            ("ctx", None if x.context is None else context_digest(x.context), "proof_action_mismatch"),
            ("res.type", x.resource and x.resource["type"], "proof_resource_mismatch"),
            ("res.digest", x.resource and resource_digest(x.resource), "proof_resource_mismatch"),
        ):
            if wanted is not None and wanted != _at(c, name):
                raise ProofError(code, f"claim {name} differs from the expected value")

    def _check_times(self, c: Claims) -> None:
        now = self._now()
        if now < c["nbf"] - self._leeway:
            raise ProofError("proof_not_yet_valid", f"not valid before {c['nbf']}")
        if now >= c["exp"] + self._leeway:
            raise ProofError("proof_expired", f"expired at {c['exp']}")


def _decode(text: str) -> bytes:
    """Canonical base64url only: lax decoders accept spare bits in a last character."""
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64.urlsafe_b64encode(raw).rstrip(b"=").decode() != text:
        raise ValueError("not canonical base64url")
    return raw


def _split(proof: str) -> list[bytes]:
    if not isinstance(proof, str) or len(proof) > LONGEST or not _FORM.fullmatch(proof):
        raise ProofError("proof_malformed", "not a compact JWS")
    try:
        parts = [_decode(part) for part in proof.split(".")]
    except (ValueError, binascii.Error):
        raise ProofError("proof_malformed", "not canonical base64url") from None
    if len(parts[2]) != 64:
        raise ProofError("proof_malformed", "the signature is not 64 bytes long")
    return parts


def _object(raw: bytes, code: str) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) != len(pairs):
            raise ValueError("a name twice")
        return dict(pairs)

    try:
        found = json.loads(raw.decode("utf-8"), object_pairs_hook=unique)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ProofError(code, "not a JSON object with each name once")
    return found


def _kid(raw: bytes) -> str:
    """The kid of a header that has exactly alg, kid and typ: others could change which bytes are signed, or supply a key."""
    header = _object(raw, "proof_malformed")
    if header.get("alg") != "ES256":
        raise ProofError("proof_algorithm_invalid", "alg is not ES256")
    if set(header) - {"alg", "kid", "typ"}:
        raise ProofError("proof_header_invalid", "the header has an unexpected member")
    if header.get("typ") != "poa+jwt":
        raise ProofError("proof_type_invalid", "typ is not poa+jwt")
    kid = header.get("kid")
    if not isinstance(kid, str) or not kid:
        raise ProofError("proof_header_invalid", "the header has no kid")
    return kid


def _check_signature(proof: str, signature: bytes, key: ec.EllipticCurvePublicKey) -> None:
    der = utils.encode_dss_signature(int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
    try:
        key.verify(der, proof.rpartition(".")[0].encode(), ec.ECDSA(SHA256()))
    except InvalidSignature:
        raise ProofError("proof_signature_invalid", "the signature does not verify") from None


def _at(claims: Claims, name: str) -> Any:
    outer, _, inner = name.partition(".")
    value = claims.get(outer)
    return value if not inner else value.get(inner) if isinstance(value, dict) else None


def _claims(raw: bytes) -> Claims:
    c = _object(raw, "proof_claims_invalid")
    texts = all(isinstance(_at(c, name), str) and _at(c, name) for name in _TEXTS)
    times = all(type(c.get(name)) is int for name in ("iat", "nbf", "exp"))
    if not texts or not times or c["exp"] <= c["nbf"] or not isinstance(c.get("amr"), list):
        raise ProofError("proof_claims_invalid", "the claims do not have the shape of a proof")
    return c
