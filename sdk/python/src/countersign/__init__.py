"""Countersign for relying parties: decisions, proofs and webhooks."""

from .canonical import action_hash, canonical, context_digest, digest, resource_digest
from .client import AsyncCountersign, Countersign, complete
from .decide import Decision, decide, decide_async, failure_for
from .errors import (
    ApprovalRequiredError,
    CountersignError,
    Fault,
    ProofError,
    ProtocolError,
    RefusedError,
    UnreachableError,
    WebhookError,
)
from .proof import Expect, KeySet, ProofVerifier
from .stream import StreamedEvent
from .webhooks import Event, verify_webhook

__all__ = [
    "ApprovalRequiredError",
    "AsyncCountersign",
    "Countersign",
    "CountersignError",
    "Decision",
    "Event",
    "Expect",
    "Fault",
    "KeySet",
    "ProofError",
    "ProofVerifier",
    "ProtocolError",
    "RefusedError",
    "StreamedEvent",
    "UnreachableError",
    "WebhookError",
    "action_hash",
    "canonical",
    "complete",
    "context_digest",
    "decide",
    "decide_async",
    "digest",
    "failure_for",
    "resource_digest",
    "verify_webhook",
]
