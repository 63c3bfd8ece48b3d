"""Fixtures for tests against a sandbox: set COUNTERSIGN_URL and COUNTERSIGN_KEY, an admin key of a sandbox environment."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from .client import Countersign
from .proof import ProofVerifier


@pytest.fixture
def countersign_sandbox() -> Iterator[Countersign]:
    """A client of the sandbox; the test is skipped without one."""
    url, key = os.environ.get("COUNTERSIGN_URL"), os.environ.get("COUNTERSIGN_KEY", "")
    if not url or not key.startswith("sk_test_"):
        pytest.skip("COUNTERSIGN_URL and COUNTERSIGN_KEY (sk_test_...) name no sandbox")
    with Countersign(url, key) as client:
        yield client


@pytest.fixture
def countersign_verifier(countersign_sandbox: Countersign) -> ProofVerifier:
    """A verifier of the sandbox's proofs for the audience ``tests``."""
    me = countersign_sandbox.get_credential()
    return ProofVerifier(base_url=os.environ["COUNTERSIGN_URL"], issuer=me["proof_issuer"], environment=me["environment"], audience="tests")


@pytest.fixture
def countersign_subject(countersign_sandbox: Countersign) -> str:
    """The id of a new subject."""
    return str(countersign_sandbox.create_subject({})["id"])


@pytest.fixture
def countersign_action(countersign_sandbox: Countersign) -> str:
    """The key of a new action in mode enforce that asks the subject to confirm: ``complete_challenge(id, {"method": "sandbox_confirm"})``."""
    key = f"tests.t{uuid.uuid4().hex}"
    action: Any = countersign_sandbox.create_action(
        {"key": key, "name": "Test", "consequence": "None.", "allowed_audiences": ["tests"], "resource_type": "account"}
    )
    countersign_sandbox.create_policy_version(action["id"], {"requirements": {"coverage_min": "none", "explicit_approval_required": True}})
    countersign_sandbox.activate_policy_version(action["id"], 1)
    countersign_sandbox.update_action(action["id"], {"mode": "enforce"})
    return key
