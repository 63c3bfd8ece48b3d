"""Generated from the contract by scripts/generate.py. Do not edit."""

# ruff: noqa
from __future__ import annotations

from typing import Any, Literal, Mapping, cast

from . import _models as m
from ._transport import Operation

OPERATIONS: dict[str, Operation] = {
    "getMeta": Operation("getMeta", "GET", "/api/v1/meta", False),
    "getOpenAPI": Operation("getOpenAPI", "GET", "/api/v1/openapi.json", False),
    "getCredential": Operation("getCredential", "GET", "/api/v1/credential", False),
    "listCredentials": Operation("listCredentials", "GET", "/api/v1/credentials", False),
    "createCredential": Operation("createCredential", "POST", "/api/v1/credentials", True),
    "revokeCredential": Operation("revokeCredential", "DELETE", "/api/v1/credentials/{credential_id}", False),
    "rotateCredential": Operation("rotateCredential", "POST", "/api/v1/credentials/{credential_id}/rotate", True),
    "listActions": Operation("listActions", "GET", "/api/v1/actions", False),
    "createAction": Operation("createAction", "POST", "/api/v1/actions", True),
    "getAction": Operation("getAction", "GET", "/api/v1/actions/{action_id}", False),
    "updateAction": Operation("updateAction", "PATCH", "/api/v1/actions/{action_id}", False),
    "archiveAction": Operation("archiveAction", "DELETE", "/api/v1/actions/{action_id}", False),
    "listPolicyVersions": Operation("listPolicyVersions", "GET", "/api/v1/actions/{action_id}/policy-versions", False),
    "createPolicyVersion": Operation("createPolicyVersion", "POST", "/api/v1/actions/{action_id}/policy-versions", True),
    "getPolicyVersion": Operation("getPolicyVersion", "GET", "/api/v1/actions/{action_id}/policy-versions/{version}", False),
    "activatePolicyVersion": Operation("activatePolicyVersion", "POST", "/api/v1/actions/{action_id}/policy-versions/{version}/activate", True),
    "simulatePolicyVersion": Operation("simulatePolicyVersion", "POST", "/api/v1/actions/{action_id}/policy-versions/{version}/simulate", False),
    "listTeams": Operation("listTeams", "GET", "/api/v1/teams", False),
    "createTeam": Operation("createTeam", "POST", "/api/v1/teams", True),
    "getTeam": Operation("getTeam", "GET", "/api/v1/teams/{team_id}", False),
    "updateTeam": Operation("updateTeam", "PATCH", "/api/v1/teams/{team_id}", False),
    "deleteTeam": Operation("deleteTeam", "DELETE", "/api/v1/teams/{team_id}", False),
    "setManager": Operation("setManager", "PUT", "/api/v1/people/{person_id}/manager", False),
    "listLists": Operation("listLists", "GET", "/api/v1/lists", False),
    "createList": Operation("createList", "POST", "/api/v1/lists", True),
    "getList": Operation("getList", "GET", "/api/v1/lists/{list_id}", False),
    "deleteList": Operation("deleteList", "DELETE", "/api/v1/lists/{list_id}", False),
    "listListEntries": Operation("listListEntries", "GET", "/api/v1/lists/{list_id}/entries", False),
    "changeListEntries": Operation("changeListEntries", "POST", "/api/v1/lists/{list_id}/entries", True),
    "listChanges": Operation("listChanges", "GET", "/api/v1/changes", False),
    "getChange": Operation("getChange", "GET", "/api/v1/changes/{change_id}", False),
    "explainChange": Operation("explainChange", "PATCH", "/api/v1/changes/{change_id}", False),
    "approveChange": Operation("approveChange", "POST", "/api/v1/changes/{change_id}/approve", True),
    "rejectChange": Operation("rejectChange", "POST", "/api/v1/changes/{change_id}/reject", True),
    "withdrawChange": Operation("withdrawChange", "POST", "/api/v1/changes/{change_id}/withdraw", True),
    "listSubjects": Operation("listSubjects", "GET", "/api/v1/subjects", False),
    "createSubject": Operation("createSubject", "POST", "/api/v1/subjects", True),
    "getSubject": Operation("getSubject", "GET", "/api/v1/subjects/{subject_id}", False),
    "deleteSubject": Operation("deleteSubject", "DELETE", "/api/v1/subjects/{subject_id}", False),
    "freezeAdaptation": Operation("freezeAdaptation", "POST", "/api/v1/subjects/{subject_id}/adaptation/freeze", True),
    "listSubjectAliases": Operation("listSubjectAliases", "GET", "/api/v1/subjects/{subject_id}/aliases", False),
    "setSubjectAliases": Operation("setSubjectAliases", "PUT", "/api/v1/subjects/{subject_id}/aliases", False),
    "listEnrollments": Operation("listEnrollments", "GET", "/api/v1/subjects/{subject_id}/enrollments", False),
    "completeEnrollment": Operation("completeEnrollment", "POST", "/api/v1/subjects/{subject_id}/enrollments/complete", True),
    "listTemplates": Operation("listTemplates", "GET", "/api/v1/subjects/{subject_id}/templates", False),
    "rollbackTemplate": Operation("rollbackTemplate", "POST", "/api/v1/subjects/{subject_id}/templates/rollback", True),
    "exportSubject": Operation("exportSubject", "POST", "/api/v1/subjects/{subject_id}/export", True),
    "listPasskeys": Operation("listPasskeys", "GET", "/api/v1/subjects/{subject_id}/passkeys", False),
    "importPasskey": Operation("importPasskey", "POST", "/api/v1/subjects/{subject_id}/passkeys/import", True),
    "createPasskeyGrant": Operation("createPasskeyGrant", "POST", "/api/v1/subjects/{subject_id}/passkeys/registration-grants", True),
    "passkeyRegisterOptions": Operation("passkeyRegisterOptions", "POST", "/api/v1/subjects/{subject_id}/passkeys/register/options", True),
    "passkeyRegisterComplete": Operation("passkeyRegisterComplete", "POST", "/api/v1/subjects/{subject_id}/passkeys/register/complete", True),
    "revokePasskey": Operation("revokePasskey", "DELETE", "/api/v1/subjects/{subject_id}/passkeys/{passkey_id}", False),
    "getRecovery": Operation("getRecovery", "GET", "/api/v1/subjects/{subject_id}/recovery", False),
    "beginRecovery": Operation("beginRecovery", "POST", "/api/v1/subjects/{subject_id}/recovery", True),
    "setResearchConsent": Operation("setResearchConsent", "POST", "/api/v1/subjects/{subject_id}/research-consent", True),
    "revokeSubject": Operation("revokeSubject", "POST", "/api/v1/subjects/{subject_id}/revoke", True),
    "reinstateSubject": Operation("reinstateSubject", "POST", "/api/v1/subjects/{subject_id}/reinstate", True),
    "createClientToken": Operation("createClientToken", "POST", "/api/v1/client-tokens", True),
    "listSessions": Operation("listSessions", "GET", "/api/v1/sessions", False),
    "createSession": Operation("createSession", "POST", "/api/v1/sessions", True),
    "getSession": Operation("getSession", "GET", "/api/v1/sessions/{session_id}", False),
    "getSessionStatus": Operation("getSessionStatus", "GET", "/api/v1/sessions/{session_id}/status", False),
    "getSessionAssessment": Operation("getSessionAssessment", "GET", "/api/v1/sessions/{session_id}/assessment", False),
    "submitEvidence": Operation("submitEvidence", "POST", "/api/v1/sessions/{session_id}/evidence", False),
    "endSession": Operation("endSession", "POST", "/api/v1/sessions/{session_id}/end", True),
    "authorize": Operation("authorize", "POST", "/api/v1/authorize", False),
    "listAuthorizations": Operation("listAuthorizations", "GET", "/api/v1/authorizations", False),
    "getAuthorization": Operation("getAuthorization", "GET", "/api/v1/authorizations/{authorization_id}", False),
    "reportOutcome": Operation("reportOutcome", "POST", "/api/v1/authorizations/{authorization_id}/outcome", True),
    "reviewAuthorization": Operation("reviewAuthorization", "POST", "/api/v1/authorizations/{authorization_id}/review", True),
    "withdrawAuthorization": Operation("withdrawAuthorization", "POST", "/api/v1/authorizations/{authorization_id}/withdraw", True),
    "assignReview": Operation("assignReview", "POST", "/api/v1/authorizations/{authorization_id}/assignment", True),
    "unassignReview": Operation("unassignReview", "DELETE", "/api/v1/authorizations/{authorization_id}/assignment", False),
    "listAfterReviews": Operation("listAfterReviews", "GET", "/api/v1/after-reviews", False),
    "giveAfterReview": Operation("giveAfterReview", "POST", "/api/v1/after-reviews/{authorization_id}/verdict", True),
    "listStandingApprovals": Operation("listStandingApprovals", "GET", "/api/v1/standing-approvals", False),
    "createStandingApproval": Operation("createStandingApproval", "POST", "/api/v1/standing-approvals", True),
    "getStandingApproval": Operation("getStandingApproval", "GET", "/api/v1/standing-approvals/{standing_approval_id}", False),
    "revokeStandingApproval": Operation("revokeStandingApproval", "POST", "/api/v1/standing-approvals/{standing_approval_id}/revoke", True),
    "createStandingLink": Operation("createStandingLink", "POST", "/api/v1/subjects/{subject_id}/standing-approvals/link", True),
    "listReviews": Operation("listReviews", "GET", "/api/v1/reviews", False),
    "countReviews": Operation("countReviews", "GET", "/api/v1/reviews/counts", False),
    "getChallenge": Operation("getChallenge", "GET", "/api/v1/challenges/{challenge_id}", False),
    "challengePasskeyOptions": Operation("challengePasskeyOptions", "POST", "/api/v1/challenges/{challenge_id}/passkey/options", True),
    "completeChallenge": Operation("completeChallenge", "POST", "/api/v1/challenges/{challenge_id}/complete", True),
    "cancelChallenge": Operation("cancelChallenge", "POST", "/api/v1/challenges/{challenge_id}/cancel", True),
    "createChallengeLink": Operation("createChallengeLink", "POST", "/api/v1/challenges/{challenge_id}/link", True),
    "getProofStatus": Operation("getProofStatus", "GET", "/api/v1/proofs/{jti}/status", False),
    "verifyProof": Operation("verifyProof", "POST", "/api/v1/verify", False),
    "getRelatedOrigins": Operation("getRelatedOrigins", "GET", "/.well-known/webauthn", False),
    "getProofKeys": Operation("getProofKeys", "GET", "/.well-known/service-proof-keys.json", False),
    "getEnvironment": Operation("getEnvironment", "GET", "/api/v1/environment", False),
    "updateEnvironment": Operation("updateEnvironment", "PATCH", "/api/v1/environment", False),
    "listSigningKeys": Operation("listSigningKeys", "GET", "/api/v1/signing-keys", False),
    "rotateSigningKey": Operation("rotateSigningKey", "POST", "/api/v1/signing-keys/rotate", True),
    "listEvaluations": Operation("listEvaluations", "GET", "/api/v1/evaluations", False),
    "createEvaluation": Operation("createEvaluation", "POST", "/api/v1/evaluations", True),
    "getEvaluation": Operation("getEvaluation", "GET", "/api/v1/evaluations/{evaluation_id}", False),
    "closeEvaluation": Operation("closeEvaluation", "POST", "/api/v1/evaluations/{evaluation_id}/close", True),
    "getEvaluationReport": Operation("getEvaluationReport", "GET", "/api/v1/evaluations/{evaluation_id}/report", False),
    "listActivity": Operation("listActivity", "GET", "/api/v1/activity", False),
    "listEventTypes": Operation("listEventTypes", "GET", "/api/v1/event-types", False),
    "listWebhookEndpoints": Operation("listWebhookEndpoints", "GET", "/api/v1/webhook-endpoints", False),
    "createWebhookEndpoint": Operation("createWebhookEndpoint", "POST", "/api/v1/webhook-endpoints", True),
    "getWebhookEndpoint": Operation("getWebhookEndpoint", "GET", "/api/v1/webhook-endpoints/{endpoint_id}", False),
    "updateWebhookEndpoint": Operation("updateWebhookEndpoint", "PATCH", "/api/v1/webhook-endpoints/{endpoint_id}", False),
    "deleteWebhookEndpoint": Operation("deleteWebhookEndpoint", "DELETE", "/api/v1/webhook-endpoints/{endpoint_id}", False),
    "rotateWebhookSecret": Operation("rotateWebhookSecret", "POST", "/api/v1/webhook-endpoints/{endpoint_id}/rotate", True),
    "testWebhookEndpoint": Operation("testWebhookEndpoint", "POST", "/api/v1/webhook-endpoints/{endpoint_id}/test", True),
    "enableWebhookEndpoint": Operation("enableWebhookEndpoint", "POST", "/api/v1/webhook-endpoints/{endpoint_id}/enable", True),
    "replayWebhookEndpoint": Operation("replayWebhookEndpoint", "POST", "/api/v1/webhook-endpoints/{endpoint_id}/replay", True),
    "listWebhookAttempts": Operation("listWebhookAttempts", "GET", "/api/v1/webhook-endpoints/{endpoint_id}/attempts", False),
    "listDestinations": Operation("listDestinations", "GET", "/api/v1/destinations", False),
    "getDestination": Operation("getDestination", "GET", "/api/v1/destinations/{destination_name}", False),
    "setDestination": Operation("setDestination", "PUT", "/api/v1/destinations/{destination_name}", False),
    "removeDestination": Operation("removeDestination", "DELETE", "/api/v1/destinations/{destination_name}", False),
    "setDestinationCredentials": Operation("setDestinationCredentials", "PUT", "/api/v1/destinations/{destination_name}/credentials", False),
    "listAudit": Operation("listAudit", "GET", "/api/v1/audit", False),
    "getAuditHead": Operation("getAuditHead", "GET", "/api/v1/audit/head", False),
    "getAccessMetadata": Operation("getAccessMetadata", "GET", "/.well-known/authzen-configuration", False),
    "evaluateAccess": Operation("evaluateAccess", "POST", "/access/v1/evaluation", True),
    "evaluateAccessBatch": Operation("evaluateAccessBatch", "POST", "/access/v1/evaluations", True),
    "getMetrics": Operation("getMetrics", "GET", "/metrics", False),
}


class Operations:
    def _call(self, operation: Operation, path: Mapping[str, Any], query: Mapping[str, Any] | None, body: Any, headers: Any) -> Any:
        raise NotImplementedError

    def get_meta(self, *, headers: Mapping[str, str] | None = None) -> m.Meta:
        """Capability states and reason codes."""
        return cast('m.Meta', self._call(OPERATIONS["getMeta"], {}, None, None, headers))

    def get_open_api(self, *, headers: Mapping[str, str] | None = None) -> m.OpenAPIDocument:
        """This document."""
        return cast('m.OpenAPIDocument', self._call(OPERATIONS["getOpenAPI"], {}, None, None, headers))

    def get_credential(self, *, headers: Mapping[str, str] | None = None) -> m.CredentialIdentity:
        """Read the calling credential."""
        return cast('m.CredentialIdentity', self._call(OPERATIONS["getCredential"], {}, None, None, headers))

    def list_credentials(self, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Credential]:
        """List the environment's keys."""
        return cast('list[m.Credential]', self._call(OPERATIONS["listCredentials"], {}, {"limit": limit, "cursor": cursor}, None, headers))

    def create_credential(self, body: m.CredentialCreate, *, headers: Mapping[str, str] | None = None) -> m.CredentialWithKey:
        """Issue a key."""
        return cast('m.CredentialWithKey', self._call(OPERATIONS["createCredential"], {}, None, body, headers))

    def revoke_credential(self, credential_id: str, *, children_to: str | None = None, headers: Mapping[str, str] | None = None) -> None:
        """Revoke a key."""
        self._call(OPERATIONS["revokeCredential"], {"credential_id": credential_id}, {"children_to": children_to}, None, headers)

    def rotate_credential(self, credential_id: str, body: m.RotateRequest | None = None, *, headers: Mapping[str, str] | None = None) -> m.CredentialWithKey:
        """Replace a key."""
        return cast('m.CredentialWithKey', self._call(OPERATIONS["rotateCredential"], {"credential_id": credential_id}, None, body, headers))

    def list_actions(self, *, key: str | None = None, mode: m.Mode | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.ProtectedAction]:
        """List protected actions."""
        return cast('list[m.ProtectedAction]', self._call(OPERATIONS["listActions"], {}, {"key": key, "mode": mode, "limit": limit, "cursor": cursor}, None, headers))

    def create_action(self, body: m.ActionCreate, *, headers: Mapping[str, str] | None = None) -> m.ProtectedAction:
        """Register a protected action."""
        return cast('m.ProtectedAction', self._call(OPERATIONS["createAction"], {}, None, body, headers))

    def get_action(self, action_id: str, *, headers: Mapping[str, str] | None = None) -> m.ProtectedAction:
        """Read a protected action."""
        return cast('m.ProtectedAction', self._call(OPERATIONS["getAction"], {"action_id": action_id}, None, None, headers))

    def update_action(self, action_id: str, body: m.ActionUpdate, *, headers: Mapping[str, str] | None = None) -> m.ProtectedAction:
        """Change a protected action."""
        return cast('m.ProtectedAction', self._call(OPERATIONS["updateAction"], {"action_id": action_id}, None, body, headers))

    def archive_action(self, action_id: str, *, headers: Mapping[str, str] | None = None) -> None:
        """Archive a protected action."""
        self._call(OPERATIONS["archiveAction"], {"action_id": action_id}, None, None, headers)

    def list_policy_versions(self, action_id: str, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.PolicyVersion]:
        """List an action's policy versions."""
        return cast('list[m.PolicyVersion]', self._call(OPERATIONS["listPolicyVersions"], {"action_id": action_id}, {"limit": limit, "cursor": cursor}, None, headers))

    def create_policy_version(self, action_id: str, body: m.PolicyVersionCreate, *, headers: Mapping[str, str] | None = None) -> m.PolicyVersion:
        """Add a policy version."""
        return cast('m.PolicyVersion', self._call(OPERATIONS["createPolicyVersion"], {"action_id": action_id}, None, body, headers))

    def get_policy_version(self, action_id: str, version: int, *, headers: Mapping[str, str] | None = None) -> m.PolicyVersion:
        """Read a policy version."""
        return cast('m.PolicyVersion', self._call(OPERATIONS["getPolicyVersion"], {"action_id": action_id, "version": version}, None, None, headers))

    def activate_policy_version(self, action_id: str, version: int, *, headers: Mapping[str, str] | None = None) -> m.PolicyVersion:
        """Activate a policy version."""
        return cast('m.PolicyVersion', self._call(OPERATIONS["activatePolicyVersion"], {"action_id": action_id, "version": version}, None, None, headers))

    def simulate_policy_version(self, action_id: str, version: int, body: m.PolicySimulationRequest | None = None, *, headers: Mapping[str, str] | None = None) -> m.PolicySimulation:
        """Re-evaluate stored decisions under this version."""
        return cast('m.PolicySimulation', self._call(OPERATIONS["simulatePolicyVersion"], {"action_id": action_id, "version": version}, None, body, headers))

    def list_teams(self, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Team]:
        """List the teams of reviewers."""
        return cast('list[m.Team]', self._call(OPERATIONS["listTeams"], {}, {"limit": limit, "cursor": cursor}, None, headers))

    def create_team(self, body: m.TeamCreate, *, headers: Mapping[str, str] | None = None) -> m.Team:
        """Create a team."""
        return cast('m.Team', self._call(OPERATIONS["createTeam"], {}, None, body, headers))

    def get_team(self, team_id: str, *, headers: Mapping[str, str] | None = None) -> m.Team:
        """Read a team."""
        return cast('m.Team', self._call(OPERATIONS["getTeam"], {"team_id": team_id}, None, None, headers))

    def update_team(self, team_id: str, body: m.TeamUpdate, *, headers: Mapping[str, str] | None = None) -> m.Team:
        """Change the name or the members of a team."""
        return cast('m.Team', self._call(OPERATIONS["updateTeam"], {"team_id": team_id}, None, body, headers))

    def delete_team(self, team_id: str, *, headers: Mapping[str, str] | None = None) -> None:
        """Delete a team."""
        self._call(OPERATIONS["deleteTeam"], {"team_id": team_id}, None, None, headers)

    def set_manager(self, person_id: str, body: m.PersonManagerUpdate, *, headers: Mapping[str, str] | None = None) -> m.PersonManager:
        """Record who manages a member of staff."""
        return cast('m.PersonManager', self._call(OPERATIONS["setManager"], {"person_id": person_id}, None, body, headers))

    def list_lists(self, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.NamedList]:
        """List the lists."""
        return cast('list[m.NamedList]', self._call(OPERATIONS["listLists"], {}, {"limit": limit, "cursor": cursor}, None, headers))

    def create_list(self, body: m.NamedListCreate, *, headers: Mapping[str, str] | None = None) -> m.NamedList:
        """Create a list."""
        return cast('m.NamedList', self._call(OPERATIONS["createList"], {}, None, body, headers))

    def get_list(self, list_id: str, *, headers: Mapping[str, str] | None = None) -> m.NamedList:
        """Read a list."""
        return cast('m.NamedList', self._call(OPERATIONS["getList"], {"list_id": list_id}, None, None, headers))

    def delete_list(self, list_id: str, *, headers: Mapping[str, str] | None = None) -> None:
        """Delete a list with its entries."""
        self._call(OPERATIONS["deleteList"], {"list_id": list_id}, None, None, headers)

    def list_list_entries(self, list_id: str, *, value: str | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.NamedListEntry]:
        """List the entries of a list."""
        return cast('list[m.NamedListEntry]', self._call(OPERATIONS["listListEntries"], {"list_id": list_id}, {"value": value, "limit": limit, "cursor": cursor}, None, headers))

    def change_list_entries(self, list_id: str, body: m.NamedListChange, *, headers: Mapping[str, str] | None = None) -> m.NamedList:
        """Add and remove entries of a list."""
        return cast('m.NamedList', self._call(OPERATIONS["changeListEntries"], {"list_id": list_id}, None, body, headers))

    def list_changes(self, *, status: m.ChangeStatus | None = None, kind: m.ChangeKind | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.ChangeRequest]:
        """List change requests."""
        return cast('list[m.ChangeRequest]', self._call(OPERATIONS["listChanges"], {}, {"status": status, "kind": kind, "limit": limit, "cursor": cursor}, None, headers))

    def get_change(self, change_id: str, *, headers: Mapping[str, str] | None = None) -> m.ChangeRequest:
        """Read a change request, with its simulation."""
        return cast('m.ChangeRequest', self._call(OPERATIONS["getChange"], {"change_id": change_id}, None, None, headers))

    def explain_change(self, change_id: str, body: m.ChangeReason, *, headers: Mapping[str, str] | None = None) -> m.ChangeRequest:
        """Say why a change is requested."""
        return cast('m.ChangeRequest', self._call(OPERATIONS["explainChange"], {"change_id": change_id}, None, body, headers))

    def approve_change(self, change_id: str, body: m.ChangeReason | None = None, *, headers: Mapping[str, str] | None = None) -> m.ChangeRequest:
        """Approve a change request."""
        return cast('m.ChangeRequest', self._call(OPERATIONS["approveChange"], {"change_id": change_id}, None, body, headers))

    def reject_change(self, change_id: str, body: m.ChangeReason | None = None, *, headers: Mapping[str, str] | None = None) -> m.ChangeRequest:
        """Reject a change request."""
        return cast('m.ChangeRequest', self._call(OPERATIONS["rejectChange"], {"change_id": change_id}, None, body, headers))

    def withdraw_change(self, change_id: str, body: m.ChangeReason | None = None, *, headers: Mapping[str, str] | None = None) -> m.ChangeRequest:
        """Withdraw a change request."""
        return cast('m.ChangeRequest', self._call(OPERATIONS["withdrawChange"], {"change_id": change_id}, None, body, headers))

    def list_subjects(self, *, status: m.SubjectStatus | None = None, enrollment: m.EnrollmentState | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Subject]:
        """List subjects."""
        return cast('list[m.Subject]', self._call(OPERATIONS["listSubjects"], {}, {"status": status, "enrollment": enrollment, "limit": limit, "cursor": cursor}, None, headers))

    def create_subject(self, body: m.SubjectCreate | None = None, *, headers: Mapping[str, str] | None = None) -> m.Subject:
        """Create a subject."""
        return cast('m.Subject', self._call(OPERATIONS["createSubject"], {}, None, body, headers))

    def get_subject(self, subject_id: str, *, headers: Mapping[str, str] | None = None) -> m.Subject:
        """Read a subject."""
        return cast('m.Subject', self._call(OPERATIONS["getSubject"], {"subject_id": subject_id}, None, None, headers))

    def delete_subject(self, subject_id: str, *, headers: Mapping[str, str] | None = None) -> m.ErasureReceipt:
        """Erase a subject."""
        return cast('m.ErasureReceipt', self._call(OPERATIONS["deleteSubject"], {"subject_id": subject_id}, None, None, headers))

    def freeze_adaptation(self, subject_id: str, body: m.AdaptationFreeze | None = None, *, headers: Mapping[str, str] | None = None) -> m.Subject:
        """Freeze or unfreeze adaptation."""
        return cast('m.Subject', self._call(OPERATIONS["freezeAdaptation"], {"subject_id": subject_id}, None, body, headers))

    def list_subject_aliases(self, subject_id: str, *, headers: Mapping[str, str] | None = None) -> m.SubjectAliases:
        """List a subject's names in security events."""
        return cast('m.SubjectAliases', self._call(OPERATIONS["listSubjectAliases"], {"subject_id": subject_id}, None, None, headers))

    def set_subject_aliases(self, subject_id: str, body: m.SubjectAliasesUpdate, *, headers: Mapping[str, str] | None = None) -> m.SubjectAliases:
        """Replace a subject's names in security events."""
        return cast('m.SubjectAliases', self._call(OPERATIONS["setSubjectAliases"], {"subject_id": subject_id}, None, body, headers))

    def list_enrollments(self, subject_id: str, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Enrollment]:
        """List a subject's enrollments."""
        return cast('list[m.Enrollment]', self._call(OPERATIONS["listEnrollments"], {"subject_id": subject_id}, {"limit": limit, "cursor": cursor}, None, headers))

    def complete_enrollment(self, subject_id: str, body: m.EnrollmentComplete, *, headers: Mapping[str, str] | None = None) -> m.Enrollment:
        """Train the template with the collected evidence."""
        return cast('m.Enrollment', self._call(OPERATIONS["completeEnrollment"], {"subject_id": subject_id}, None, body, headers))

    def list_templates(self, subject_id: str, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Template]:
        """List the versions of a subject's templates."""
        return cast('list[m.Template]', self._call(OPERATIONS["listTemplates"], {"subject_id": subject_id}, {"limit": limit, "cursor": cursor}, None, headers))

    def rollback_template(self, subject_id: str, body: m.TemplateRollback, *, headers: Mapping[str, str] | None = None) -> m.Template:
        """Roll back to an earlier version of a template."""
        return cast('m.Template', self._call(OPERATIONS["rollbackTemplate"], {"subject_id": subject_id}, None, body, headers))

    def export_subject(self, subject_id: str, *, headers: Mapping[str, str] | None = None) -> m.SubjectExport:
        """Export all stored data of a subject."""
        return cast('m.SubjectExport', self._call(OPERATIONS["exportSubject"], {"subject_id": subject_id}, None, None, headers))

    def list_passkeys(self, subject_id: str, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Passkey]:
        """List a subject's passkeys."""
        return cast('list[m.Passkey]', self._call(OPERATIONS["listPasskeys"], {"subject_id": subject_id}, {"limit": limit, "cursor": cursor}, None, headers))

    def import_passkey(self, subject_id: str, body: m.PasskeyImport, *, headers: Mapping[str, str] | None = None) -> m.PasskeyRegistered:
        """Import a passkey of another server."""
        return cast('m.PasskeyRegistered', self._call(OPERATIONS["importPasskey"], {"subject_id": subject_id}, None, body, headers))

    def create_passkey_grant(self, subject_id: str, *, headers: Mapping[str, str] | None = None) -> m.PasskeyRegistrationGrant:
        """Permit the registration of one passkey."""
        return cast('m.PasskeyRegistrationGrant', self._call(OPERATIONS["createPasskeyGrant"], {"subject_id": subject_id}, None, None, headers))

    def passkey_register_options(self, subject_id: str, body: m.PasskeyRegistrationOptionsRequest, *, headers: Mapping[str, str] | None = None) -> m.PasskeyRegistrationOptions:
        """Exchange a grant for registration options."""
        return cast('m.PasskeyRegistrationOptions', self._call(OPERATIONS["passkeyRegisterOptions"], {"subject_id": subject_id}, None, body, headers))

    def passkey_register_complete(self, subject_id: str, body: m.PasskeyRegistrationComplete, *, headers: Mapping[str, str] | None = None) -> m.PasskeyRegistered:
        """Register the passkey."""
        return cast('m.PasskeyRegistered', self._call(OPERATIONS["passkeyRegisterComplete"], {"subject_id": subject_id}, None, body, headers))

    def revoke_passkey(self, subject_id: str, passkey_id: str, *, headers: Mapping[str, str] | None = None) -> None:
        """Revoke a passkey."""
        self._call(OPERATIONS["revokePasskey"], {"subject_id": subject_id, "passkey_id": passkey_id}, None, None, headers)

    def get_recovery(self, subject_id: str, *, headers: Mapping[str, str] | None = None) -> m.Recovery:
        """Read a subject's newest recovery."""
        return cast('m.Recovery', self._call(OPERATIONS["getRecovery"], {"subject_id": subject_id}, None, None, headers))

    def begin_recovery(self, subject_id: str, body: m.RecoveryBegin, *, headers: Mapping[str, str] | None = None) -> m.Recovery:
        """Begin a recovery."""
        return cast('m.Recovery', self._call(OPERATIONS["beginRecovery"], {"subject_id": subject_id}, None, body, headers))

    def set_research_consent(self, subject_id: str, body: m.ResearchConsentRequest, *, headers: Mapping[str, str] | None = None) -> m.ResearchConsentRecord:
        """Record the consent to research use."""
        return cast('m.ResearchConsentRecord', self._call(OPERATIONS["setResearchConsent"], {"subject_id": subject_id}, None, body, headers))

    def revoke_subject(self, subject_id: str, body: m.Reason | None = None, *, headers: Mapping[str, str] | None = None) -> m.Subject:
        """Revoke a subject."""
        return cast('m.Subject', self._call(OPERATIONS["revokeSubject"], {"subject_id": subject_id}, None, body, headers))

    def reinstate_subject(self, subject_id: str, body: m.SubjectReinstate, *, headers: Mapping[str, str] | None = None) -> m.ChangeRequest:
        """Request the end of a revocation."""
        return cast('m.ChangeRequest', self._call(OPERATIONS["reinstateSubject"], {"subject_id": subject_id}, None, body, headers))

    def create_client_token(self, body: m.ClientTokenCreate, *, headers: Mapping[str, str] | None = None) -> m.ClientTokenCreated:
        """Create a browser credential."""
        return cast('m.ClientTokenCreated', self._call(OPERATIONS["createClientToken"], {}, None, body, headers))

    def list_sessions(self, *, subject: m.SubjectId | None = None, status: m.SessionState | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Session]:
        """List sessions."""
        return cast('list[m.Session]', self._call(OPERATIONS["listSessions"], {}, {"subject": subject, "status": status, "limit": limit, "cursor": cursor}, None, headers))

    def create_session(self, body: m.SessionCreate, *, headers: Mapping[str, str] | None = None) -> m.Session:
        """Start an observation session."""
        return cast('m.Session', self._call(OPERATIONS["createSession"], {}, None, body, headers))

    def get_session(self, session_id: str, *, headers: Mapping[str, str] | None = None) -> m.Session:
        """Read a session."""
        return cast('m.Session', self._call(OPERATIONS["getSession"], {"session_id": session_id}, None, None, headers))

    def get_session_status(self, session_id: str, *, headers: Mapping[str, str] | None = None) -> m.SessionStatus:
        """Read a session and how much evidence it has."""
        return cast('m.SessionStatus', self._call(OPERATIONS["getSessionStatus"], {"session_id": session_id}, None, None, headers))

    def get_session_assessment(self, session_id: str, *, headers: Mapping[str, str] | None = None) -> m.AssuranceProfile:
        """Assess a session."""
        return cast('m.AssuranceProfile', self._call(OPERATIONS["getSessionAssessment"], {"session_id": session_id}, None, None, headers))

    def submit_evidence(self, session_id: str, body: m.FeatureFrameRequest, *, headers: Mapping[str, str] | None = None) -> m.EvidenceAck:
        """Submit a frame of evidence."""
        return cast('m.EvidenceAck', self._call(OPERATIONS["submitEvidence"], {"session_id": session_id}, None, body, headers))

    def end_session(self, session_id: str, *, headers: Mapping[str, str] | None = None) -> m.Session:
        """End a session."""
        return cast('m.Session', self._call(OPERATIONS["endSession"], {"session_id": session_id}, None, None, headers))

    def authorize(self, body: m.AuthorizeRequest, *, headers: Mapping[str, str] | None = None) -> m.AuthorizeResponse:
        """Make a decision."""
        return cast('m.AuthorizeResponse', self._call(OPERATIONS["authorize"], {}, None, body, headers))

    def list_authorizations(self, *, subject: m.SubjectId | None = None, action: str | None = None, decision: m.Decision | None = None, mode: m.Mode | None = None, review_status: m.ReviewStatus | None = None, parent: m.PathId | None = None, since: str | None = None, until: str | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.AuthorizationTrace]:
        """List stored decisions."""
        return cast('list[m.AuthorizationTrace]', self._call(OPERATIONS["listAuthorizations"], {}, {"subject": subject, "action": action, "decision": decision, "mode": mode, "review_status": review_status, "parent": parent, "since": since, "until": until, "limit": limit, "cursor": cursor}, None, headers))

    def get_authorization(self, authorization_id: str, *, headers: Mapping[str, str] | None = None) -> m.AuthorizationTrace:
        """Read a stored decision."""
        return cast('m.AuthorizationTrace', self._call(OPERATIONS["getAuthorization"], {"authorization_id": authorization_id}, None, None, headers))

    def report_outcome(self, authorization_id: str, body: m.OutcomeReport, *, headers: Mapping[str, str] | None = None) -> m.OutcomeReceipt:
        """Report the outcome of the action."""
        return cast('m.OutcomeReceipt', self._call(OPERATIONS["reportOutcome"], {"authorization_id": authorization_id}, None, body, headers))

    def review_authorization(self, authorization_id: str, body: m.ManualReviewRequest, *, headers: Mapping[str, str] | None = None) -> m.ManualReviewReceipt:
        """Approve or reject a hold."""
        return cast('m.ManualReviewReceipt', self._call(OPERATIONS["reviewAuthorization"], {"authorization_id": authorization_id}, None, body, headers))

    def withdraw_authorization(self, authorization_id: str, *, headers: Mapping[str, str] | None = None) -> m.ReviewWithdrawal:
        """Withdraw a request that waits for reviewers."""
        return cast('m.ReviewWithdrawal', self._call(OPERATIONS["withdrawAuthorization"], {"authorization_id": authorization_id}, None, None, headers))

    def assign_review(self, authorization_id: str, body: m.ReviewAssign | None = None, *, headers: Mapping[str, str] | None = None) -> m.ReviewAssignment:
        """Take a hold."""
        return cast('m.ReviewAssignment', self._call(OPERATIONS["assignReview"], {"authorization_id": authorization_id}, None, body, headers))

    def unassign_review(self, authorization_id: str, *, headers: Mapping[str, str] | None = None) -> m.ReviewAssignment:
        """Release a hold."""
        return cast('m.ReviewAssignment', self._call(OPERATIONS["unassignReview"], {"authorization_id": authorization_id}, None, None, headers))

    def list_after_reviews(self, *, status: Literal['open', 'justified', 'not_justified'] | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.AfterReview]:
        """List the reviews of break-glasses."""
        return cast('list[m.AfterReview]', self._call(OPERATIONS["listAfterReviews"], {}, {"status": status, "limit": limit, "cursor": cursor}, None, headers))

    def give_after_review(self, authorization_id: str, body: m.AfterReviewVerdict, *, headers: Mapping[str, str] | None = None) -> m.AfterReview:
        """Say whether a break-glass was justified."""
        return cast('m.AfterReview', self._call(OPERATIONS["giveAfterReview"], {"authorization_id": authorization_id}, None, body, headers))

    def list_standing_approvals(self, *, subject: m.SubjectId | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.StandingApproval]:
        """List standing approvals."""
        return cast('list[m.StandingApproval]', self._call(OPERATIONS["listStandingApprovals"], {}, {"subject": subject, "limit": limit, "cursor": cursor}, None, headers))

    def create_standing_approval(self, body: m.StandingApprovalCreate, *, headers: Mapping[str, str] | None = None) -> m.StandingApprovalOpened:
        """Ask for a standing approval."""
        return cast('m.StandingApprovalOpened', self._call(OPERATIONS["createStandingApproval"], {}, None, body, headers))

    def get_standing_approval(self, standing_approval_id: str, *, headers: Mapping[str, str] | None = None) -> m.StandingApproval:
        """Read a standing approval."""
        return cast('m.StandingApproval', self._call(OPERATIONS["getStandingApproval"], {"standing_approval_id": standing_approval_id}, None, None, headers))

    def revoke_standing_approval(self, standing_approval_id: str, *, headers: Mapping[str, str] | None = None) -> m.StandingApproval:
        """Revoke a standing approval."""
        return cast('m.StandingApproval', self._call(OPERATIONS["revokeStandingApproval"], {"standing_approval_id": standing_approval_id}, None, None, headers))

    def create_standing_link(self, subject_id: str, *, headers: Mapping[str, str] | None = None) -> m.StandingLink:
        """Create a link to the subject's standing approvals."""
        return cast('m.StandingLink', self._call(OPERATIONS["createStandingLink"], {"subject_id": subject_id}, None, None, headers))

    def list_reviews(self, *, status: Literal['pending', 'approved', 'rejected', 'expired', 'withdrawn'] | None = None, subject: m.SubjectId | None = None, action: str | None = None, risk_class: m.RiskClass | None = None, opened_before: str | None = None, due_before: str | None = None, order: Literal['newest', 'due', 'amount'] | None = None, q: str | None = None, assigned_to: str | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.HeldReview]:
        """List holds for reviewers."""
        return cast('list[m.HeldReview]', self._call(OPERATIONS["listReviews"], {}, {"status": status, "subject": subject, "action": action, "risk_class": risk_class, "opened_before": opened_before, "due_before": due_before, "order": order, "q": q, "assigned_to": assigned_to, "limit": limit, "cursor": cursor}, None, headers))

    def count_reviews(self, *, action: str | None = None, risk_class: m.RiskClass | None = None, headers: Mapping[str, str] | None = None) -> m.ReviewCounts:
        """Count pending holds."""
        return cast('m.ReviewCounts', self._call(OPERATIONS["countReviews"], {}, {"action": action, "risk_class": risk_class}, None, headers))

    def get_challenge(self, challenge_id: str, *, headers: Mapping[str, str] | None = None) -> m.ChallengePublicView:
        """Read a challenge."""
        return cast('m.ChallengePublicView', self._call(OPERATIONS["getChallenge"], {"challenge_id": challenge_id}, None, None, headers))

    def challenge_passkey_options(self, challenge_id: str, body: m.PasskeyAssertionOptionsRequest | None = None, *, headers: Mapping[str, str] | None = None) -> m.PasskeyAssertionOptions:
        """Begin the passkey step-up."""
        return cast('m.PasskeyAssertionOptions', self._call(OPERATIONS["challengePasskeyOptions"], {"challenge_id": challenge_id}, None, body, headers))

    def complete_challenge(self, challenge_id: str, body: m.ChallengeCompleteRequest, *, headers: Mapping[str, str] | None = None) -> m.ChallengeCompletionReceipt:
        """Complete a challenge."""
        return cast('m.ChallengeCompletionReceipt', self._call(OPERATIONS["completeChallenge"], {"challenge_id": challenge_id}, None, body, headers))

    def cancel_challenge(self, challenge_id: str, *, headers: Mapping[str, str] | None = None) -> m.ChallengeCancelled:
        """Cancel a challenge."""
        return cast('m.ChallengeCancelled', self._call(OPERATIONS["cancelChallenge"], {"challenge_id": challenge_id}, None, None, headers))

    def create_challenge_link(self, challenge_id: str, body: m.ChallengeLinkRequest | None = None, *, headers: Mapping[str, str] | None = None) -> m.ChallengeLink:
        """Create a link that opens this challenge in a browser."""
        return cast('m.ChallengeLink', self._call(OPERATIONS["createChallengeLink"], {"challenge_id": challenge_id}, None, body, headers))

    def get_proof_status(self, jti: str, *, headers: Mapping[str, str] | None = None) -> m.ProofStatus:
        """Read a proof's status."""
        return cast('m.ProofStatus', self._call(OPERATIONS["getProofStatus"], {"jti": jti}, None, None, headers))

    def verify_proof(self, body: m.ProofVerifyRequest, *, headers: Mapping[str, str] | None = None) -> m.ProofVerification:
        """Verify and optionally consume a proof."""
        return cast('m.ProofVerification', self._call(OPERATIONS["verifyProof"], {}, None, body, headers))

    def get_related_origins(self, *, headers: Mapping[str, str] | None = None) -> m.RelatedOrigins:
        """List the sites that may use the passkeys of this host."""
        return cast('m.RelatedOrigins', self._call(OPERATIONS["getRelatedOrigins"], {}, None, None, headers))

    def get_proof_keys(self, *, issuer: str | None = None, headers: Mapping[str, str] | None = None) -> m.JWKSet:
        """Public keys that verify proofs."""
        return cast('m.JWKSet', self._call(OPERATIONS["getProofKeys"], {}, {"issuer": issuer}, None, headers))

    def get_environment(self, *, headers: Mapping[str, str] | None = None) -> m.Environment:
        """Read the environment's settings."""
        return cast('m.Environment', self._call(OPERATIONS["getEnvironment"], {}, None, None, headers))

    def update_environment(self, body: m.EnvironmentUpdate, *, headers: Mapping[str, str] | None = None) -> m.Environment:
        """Change the environment's settings."""
        return cast('m.Environment', self._call(OPERATIONS["updateEnvironment"], {}, None, body, headers))

    def list_signing_keys(self, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.SigningKey]:
        """List the environment's signing keys."""
        return cast('list[m.SigningKey]', self._call(OPERATIONS["listSigningKeys"], {}, {"limit": limit, "cursor": cursor}, None, headers))

    def rotate_signing_key(self, *, headers: Mapping[str, str] | None = None) -> m.SigningKey:
        """Activate the next signing key."""
        return cast('m.SigningKey', self._call(OPERATIONS["rotateSigningKey"], {}, None, None, headers))

    def list_evaluations(self, *, status: m.EvaluationStatus | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Evaluation]:
        """List evaluations."""
        return cast('list[m.Evaluation]', self._call(OPERATIONS["listEvaluations"], {}, {"status": status, "limit": limit, "cursor": cursor}, None, headers))

    def create_evaluation(self, body: m.EvaluationCreate, *, headers: Mapping[str, str] | None = None) -> m.Evaluation:
        """Open an evaluation."""
        return cast('m.Evaluation', self._call(OPERATIONS["createEvaluation"], {}, None, body, headers))

    def get_evaluation(self, evaluation_id: str, *, headers: Mapping[str, str] | None = None) -> m.Evaluation:
        """Read an evaluation."""
        return cast('m.Evaluation', self._call(OPERATIONS["getEvaluation"], {"evaluation_id": evaluation_id}, None, None, headers))

    def close_evaluation(self, evaluation_id: str, *, headers: Mapping[str, str] | None = None) -> m.Evaluation:
        """Close an evaluation."""
        return cast('m.Evaluation', self._call(OPERATIONS["closeEvaluation"], {"evaluation_id": evaluation_id}, None, None, headers))

    def get_evaluation_report(self, evaluation_id: str, *, headers: Mapping[str, str] | None = None) -> m.EvaluationReport:
        """Read an evaluation's report."""
        return cast('m.EvaluationReport', self._call(OPERATIONS["getEvaluationReport"], {"evaluation_id": evaluation_id}, None, None, headers))

    def list_activity(self, *, type: m.EventTypePattern | None = None, subject: m.SubjectId | None = None, action: str | None = None, decision: m.Decision | None = None, since: str | None = None, until: str | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.ActivityEntry]:
        """Read the event log."""
        return cast('list[m.ActivityEntry]', self._call(OPERATIONS["listActivity"], {}, {"type": type, "subject": subject, "action": action, "decision": decision, "since": since, "until": until, "limit": limit, "cursor": cursor}, None, headers))

    def list_event_types(self, *, headers: Mapping[str, str] | None = None) -> list[m.EventTypeInfo]:
        """List the event types with schema and example."""
        return cast('list[m.EventTypeInfo]', self._call(OPERATIONS["listEventTypes"], {}, None, None, headers))

    def list_webhook_endpoints(self, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.WebhookEndpoint]:
        """List webhook endpoints."""
        return cast('list[m.WebhookEndpoint]', self._call(OPERATIONS["listWebhookEndpoints"], {}, {"limit": limit, "cursor": cursor}, None, headers))

    def create_webhook_endpoint(self, body: m.WebhookEndpointCreate, *, headers: Mapping[str, str] | None = None) -> m.WebhookEndpointWithSecret:
        """Add a webhook endpoint."""
        return cast('m.WebhookEndpointWithSecret', self._call(OPERATIONS["createWebhookEndpoint"], {}, None, body, headers))

    def get_webhook_endpoint(self, endpoint_id: str, *, headers: Mapping[str, str] | None = None) -> m.WebhookEndpoint:
        """Read a webhook endpoint."""
        return cast('m.WebhookEndpoint', self._call(OPERATIONS["getWebhookEndpoint"], {"endpoint_id": endpoint_id}, None, None, headers))

    def update_webhook_endpoint(self, endpoint_id: str, body: m.WebhookEndpointUpdate, *, headers: Mapping[str, str] | None = None) -> m.WebhookEndpoint:
        """Change a webhook endpoint."""
        return cast('m.WebhookEndpoint', self._call(OPERATIONS["updateWebhookEndpoint"], {"endpoint_id": endpoint_id}, None, body, headers))

    def delete_webhook_endpoint(self, endpoint_id: str, *, headers: Mapping[str, str] | None = None) -> None:
        """Remove a webhook endpoint."""
        self._call(OPERATIONS["deleteWebhookEndpoint"], {"endpoint_id": endpoint_id}, None, None, headers)

    def rotate_webhook_secret(self, endpoint_id: str, body: m.RotateRequest | None = None, *, headers: Mapping[str, str] | None = None) -> m.WebhookEndpointWithSecret:
        """Replace the signing secret."""
        return cast('m.WebhookEndpointWithSecret', self._call(OPERATIONS["rotateWebhookSecret"], {"endpoint_id": endpoint_id}, None, body, headers))

    def test_webhook_endpoint(self, endpoint_id: str, *, headers: Mapping[str, str] | None = None) -> m.WebhookTestResult:
        """Send a webhook.test event now, once."""
        return cast('m.WebhookTestResult', self._call(OPERATIONS["testWebhookEndpoint"], {"endpoint_id": endpoint_id}, None, None, headers))

    def enable_webhook_endpoint(self, endpoint_id: str, *, headers: Mapping[str, str] | None = None) -> m.WebhookEndpoint:
        """Enable an endpoint again."""
        return cast('m.WebhookEndpoint', self._call(OPERATIONS["enableWebhookEndpoint"], {"endpoint_id": endpoint_id}, None, None, headers))

    def replay_webhook_endpoint(self, endpoint_id: str, body: m.WebhookReplayRequest | None = None, *, headers: Mapping[str, str] | None = None) -> m.WebhookReplay:
        """Deliver events again."""
        return cast('m.WebhookReplay', self._call(OPERATIONS["replayWebhookEndpoint"], {"endpoint_id": endpoint_id}, None, body, headers))

    def list_webhook_attempts(self, endpoint_id: str, *, status: m.AttemptStatus | None = None, event: m.PathId | None = None, since: str | None = None, until: str | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.WebhookAttempt]:
        """List attempts to deliver."""
        return cast('list[m.WebhookAttempt]', self._call(OPERATIONS["listWebhookAttempts"], {"endpoint_id": endpoint_id}, {"status": status, "event": event, "since": since, "until": until, "limit": limit, "cursor": cursor}, None, headers))

    def list_destinations(self, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Destination]:
        """List the destinations of the log."""
        return cast('list[m.Destination]', self._call(OPERATIONS["listDestinations"], {}, {"limit": limit, "cursor": cursor}, None, headers))

    def get_destination(self, destination_name: str, *, headers: Mapping[str, str] | None = None) -> m.Destination:
        """Read a destination of the log."""
        return cast('m.Destination', self._call(OPERATIONS["getDestination"], {"destination_name": destination_name}, None, None, headers))

    def set_destination(self, destination_name: str, body: m.DestinationSet, *, headers: Mapping[str, str] | None = None) -> m.Destination:
        """Set up a destination of the log."""
        return cast('m.Destination', self._call(OPERATIONS["setDestination"], {"destination_name": destination_name}, None, body, headers))

    def remove_destination(self, destination_name: str, *, headers: Mapping[str, str] | None = None) -> None:
        """Remove a destination of the log."""
        self._call(OPERATIONS["removeDestination"], {"destination_name": destination_name}, None, None, headers)

    def set_destination_credentials(self, destination_name: str, body: m.DestinationCredentials, *, headers: Mapping[str, str] | None = None) -> m.Destination:
        """Replace the credentials of a destination."""
        return cast('m.Destination', self._call(OPERATIONS["setDestinationCredentials"], {"destination_name": destination_name}, None, body, headers))

    def list_audit(self, *, actor: str | None = None, kind: str | None = None, since: str | None = None, until: str | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.AuditEntry]:
        """Read the audit log."""
        return cast('list[m.AuditEntry]', self._call(OPERATIONS["listAudit"], {}, {"actor": actor, "kind": kind, "since": since, "until": until, "limit": limit, "cursor": cursor}, None, headers))

    def get_audit_head(self, *, headers: Mapping[str, str] | None = None) -> m.AuditHead:
        """The signed head of the audit log."""
        return cast('m.AuditHead', self._call(OPERATIONS["getAuditHead"], {}, None, None, headers))

    def get_access_metadata(self, *, headers: Mapping[str, str] | None = None) -> m.AccessMetadata:
        """Metadata of the policy decision point."""
        return cast('m.AccessMetadata', self._call(OPERATIONS["getAccessMetadata"], {}, None, None, headers))

    def evaluate_access(self, body: m.AccessEvaluationRequest, *, headers: Mapping[str, str] | None = None) -> m.AccessEvaluation:
        """Evaluate one access request."""
        return cast('m.AccessEvaluation', self._call(OPERATIONS["evaluateAccess"], {}, None, body, headers))

    def evaluate_access_batch(self, body: m.AccessEvaluationsRequest, *, headers: Mapping[str, str] | None = None) -> m.AccessEvaluationsResponse:
        """Evaluate several access requests."""
        return cast('m.AccessEvaluationsResponse', self._call(OPERATIONS["evaluateAccessBatch"], {}, None, body, headers))

    def get_metrics(self, *, headers: Mapping[str, str] | None = None) -> m.MetricsSummary:
        """System-level metrics and latency summaries."""
        return cast('m.MetricsSummary', self._call(OPERATIONS["getMetrics"], {}, None, None, headers))


class AsyncOperations:
    async def _call(self, operation: Operation, path: Mapping[str, Any], query: Mapping[str, Any] | None, body: Any, headers: Any) -> Any:
        raise NotImplementedError

    async def get_meta(self, *, headers: Mapping[str, str] | None = None) -> m.Meta:
        """Capability states and reason codes."""
        return cast('m.Meta', await self._call(OPERATIONS["getMeta"], {}, None, None, headers))

    async def get_open_api(self, *, headers: Mapping[str, str] | None = None) -> m.OpenAPIDocument:
        """This document."""
        return cast('m.OpenAPIDocument', await self._call(OPERATIONS["getOpenAPI"], {}, None, None, headers))

    async def get_credential(self, *, headers: Mapping[str, str] | None = None) -> m.CredentialIdentity:
        """Read the calling credential."""
        return cast('m.CredentialIdentity', await self._call(OPERATIONS["getCredential"], {}, None, None, headers))

    async def list_credentials(self, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Credential]:
        """List the environment's keys."""
        return cast('list[m.Credential]', await self._call(OPERATIONS["listCredentials"], {}, {"limit": limit, "cursor": cursor}, None, headers))

    async def create_credential(self, body: m.CredentialCreate, *, headers: Mapping[str, str] | None = None) -> m.CredentialWithKey:
        """Issue a key."""
        return cast('m.CredentialWithKey', await self._call(OPERATIONS["createCredential"], {}, None, body, headers))

    async def revoke_credential(self, credential_id: str, *, children_to: str | None = None, headers: Mapping[str, str] | None = None) -> None:
        """Revoke a key."""
        await self._call(OPERATIONS["revokeCredential"], {"credential_id": credential_id}, {"children_to": children_to}, None, headers)

    async def rotate_credential(self, credential_id: str, body: m.RotateRequest | None = None, *, headers: Mapping[str, str] | None = None) -> m.CredentialWithKey:
        """Replace a key."""
        return cast('m.CredentialWithKey', await self._call(OPERATIONS["rotateCredential"], {"credential_id": credential_id}, None, body, headers))

    async def list_actions(self, *, key: str | None = None, mode: m.Mode | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.ProtectedAction]:
        """List protected actions."""
        return cast('list[m.ProtectedAction]', await self._call(OPERATIONS["listActions"], {}, {"key": key, "mode": mode, "limit": limit, "cursor": cursor}, None, headers))

    async def create_action(self, body: m.ActionCreate, *, headers: Mapping[str, str] | None = None) -> m.ProtectedAction:
        """Register a protected action."""
        return cast('m.ProtectedAction', await self._call(OPERATIONS["createAction"], {}, None, body, headers))

    async def get_action(self, action_id: str, *, headers: Mapping[str, str] | None = None) -> m.ProtectedAction:
        """Read a protected action."""
        return cast('m.ProtectedAction', await self._call(OPERATIONS["getAction"], {"action_id": action_id}, None, None, headers))

    async def update_action(self, action_id: str, body: m.ActionUpdate, *, headers: Mapping[str, str] | None = None) -> m.ProtectedAction:
        """Change a protected action."""
        return cast('m.ProtectedAction', await self._call(OPERATIONS["updateAction"], {"action_id": action_id}, None, body, headers))

    async def archive_action(self, action_id: str, *, headers: Mapping[str, str] | None = None) -> None:
        """Archive a protected action."""
        await self._call(OPERATIONS["archiveAction"], {"action_id": action_id}, None, None, headers)

    async def list_policy_versions(self, action_id: str, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.PolicyVersion]:
        """List an action's policy versions."""
        return cast('list[m.PolicyVersion]', await self._call(OPERATIONS["listPolicyVersions"], {"action_id": action_id}, {"limit": limit, "cursor": cursor}, None, headers))

    async def create_policy_version(self, action_id: str, body: m.PolicyVersionCreate, *, headers: Mapping[str, str] | None = None) -> m.PolicyVersion:
        """Add a policy version."""
        return cast('m.PolicyVersion', await self._call(OPERATIONS["createPolicyVersion"], {"action_id": action_id}, None, body, headers))

    async def get_policy_version(self, action_id: str, version: int, *, headers: Mapping[str, str] | None = None) -> m.PolicyVersion:
        """Read a policy version."""
        return cast('m.PolicyVersion', await self._call(OPERATIONS["getPolicyVersion"], {"action_id": action_id, "version": version}, None, None, headers))

    async def activate_policy_version(self, action_id: str, version: int, *, headers: Mapping[str, str] | None = None) -> m.PolicyVersion:
        """Activate a policy version."""
        return cast('m.PolicyVersion', await self._call(OPERATIONS["activatePolicyVersion"], {"action_id": action_id, "version": version}, None, None, headers))

    async def simulate_policy_version(self, action_id: str, version: int, body: m.PolicySimulationRequest | None = None, *, headers: Mapping[str, str] | None = None) -> m.PolicySimulation:
        """Re-evaluate stored decisions under this version."""
        return cast('m.PolicySimulation', await self._call(OPERATIONS["simulatePolicyVersion"], {"action_id": action_id, "version": version}, None, body, headers))

    async def list_teams(self, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Team]:
        """List the teams of reviewers."""
        return cast('list[m.Team]', await self._call(OPERATIONS["listTeams"], {}, {"limit": limit, "cursor": cursor}, None, headers))

    async def create_team(self, body: m.TeamCreate, *, headers: Mapping[str, str] | None = None) -> m.Team:
        """Create a team."""
        return cast('m.Team', await self._call(OPERATIONS["createTeam"], {}, None, body, headers))

    async def get_team(self, team_id: str, *, headers: Mapping[str, str] | None = None) -> m.Team:
        """Read a team."""
        return cast('m.Team', await self._call(OPERATIONS["getTeam"], {"team_id": team_id}, None, None, headers))

    async def update_team(self, team_id: str, body: m.TeamUpdate, *, headers: Mapping[str, str] | None = None) -> m.Team:
        """Change the name or the members of a team."""
        return cast('m.Team', await self._call(OPERATIONS["updateTeam"], {"team_id": team_id}, None, body, headers))

    async def delete_team(self, team_id: str, *, headers: Mapping[str, str] | None = None) -> None:
        """Delete a team."""
        await self._call(OPERATIONS["deleteTeam"], {"team_id": team_id}, None, None, headers)

    async def set_manager(self, person_id: str, body: m.PersonManagerUpdate, *, headers: Mapping[str, str] | None = None) -> m.PersonManager:
        """Record who manages a member of staff."""
        return cast('m.PersonManager', await self._call(OPERATIONS["setManager"], {"person_id": person_id}, None, body, headers))

    async def list_lists(self, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.NamedList]:
        """List the lists."""
        return cast('list[m.NamedList]', await self._call(OPERATIONS["listLists"], {}, {"limit": limit, "cursor": cursor}, None, headers))

    async def create_list(self, body: m.NamedListCreate, *, headers: Mapping[str, str] | None = None) -> m.NamedList:
        """Create a list."""
        return cast('m.NamedList', await self._call(OPERATIONS["createList"], {}, None, body, headers))

    async def get_list(self, list_id: str, *, headers: Mapping[str, str] | None = None) -> m.NamedList:
        """Read a list."""
        return cast('m.NamedList', await self._call(OPERATIONS["getList"], {"list_id": list_id}, None, None, headers))

    async def delete_list(self, list_id: str, *, headers: Mapping[str, str] | None = None) -> None:
        """Delete a list with its entries."""
        await self._call(OPERATIONS["deleteList"], {"list_id": list_id}, None, None, headers)

    async def list_list_entries(self, list_id: str, *, value: str | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.NamedListEntry]:
        """List the entries of a list."""
        return cast('list[m.NamedListEntry]', await self._call(OPERATIONS["listListEntries"], {"list_id": list_id}, {"value": value, "limit": limit, "cursor": cursor}, None, headers))

    async def change_list_entries(self, list_id: str, body: m.NamedListChange, *, headers: Mapping[str, str] | None = None) -> m.NamedList:
        """Add and remove entries of a list."""
        return cast('m.NamedList', await self._call(OPERATIONS["changeListEntries"], {"list_id": list_id}, None, body, headers))

    async def list_changes(self, *, status: m.ChangeStatus | None = None, kind: m.ChangeKind | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.ChangeRequest]:
        """List change requests."""
        return cast('list[m.ChangeRequest]', await self._call(OPERATIONS["listChanges"], {}, {"status": status, "kind": kind, "limit": limit, "cursor": cursor}, None, headers))

    async def get_change(self, change_id: str, *, headers: Mapping[str, str] | None = None) -> m.ChangeRequest:
        """Read a change request, with its simulation."""
        return cast('m.ChangeRequest', await self._call(OPERATIONS["getChange"], {"change_id": change_id}, None, None, headers))

    async def explain_change(self, change_id: str, body: m.ChangeReason, *, headers: Mapping[str, str] | None = None) -> m.ChangeRequest:
        """Say why a change is requested."""
        return cast('m.ChangeRequest', await self._call(OPERATIONS["explainChange"], {"change_id": change_id}, None, body, headers))

    async def approve_change(self, change_id: str, body: m.ChangeReason | None = None, *, headers: Mapping[str, str] | None = None) -> m.ChangeRequest:
        """Approve a change request."""
        return cast('m.ChangeRequest', await self._call(OPERATIONS["approveChange"], {"change_id": change_id}, None, body, headers))

    async def reject_change(self, change_id: str, body: m.ChangeReason | None = None, *, headers: Mapping[str, str] | None = None) -> m.ChangeRequest:
        """Reject a change request."""
        return cast('m.ChangeRequest', await self._call(OPERATIONS["rejectChange"], {"change_id": change_id}, None, body, headers))

    async def withdraw_change(self, change_id: str, body: m.ChangeReason | None = None, *, headers: Mapping[str, str] | None = None) -> m.ChangeRequest:
        """Withdraw a change request."""
        return cast('m.ChangeRequest', await self._call(OPERATIONS["withdrawChange"], {"change_id": change_id}, None, body, headers))

    async def list_subjects(self, *, status: m.SubjectStatus | None = None, enrollment: m.EnrollmentState | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Subject]:
        """List subjects."""
        return cast('list[m.Subject]', await self._call(OPERATIONS["listSubjects"], {}, {"status": status, "enrollment": enrollment, "limit": limit, "cursor": cursor}, None, headers))

    async def create_subject(self, body: m.SubjectCreate | None = None, *, headers: Mapping[str, str] | None = None) -> m.Subject:
        """Create a subject."""
        return cast('m.Subject', await self._call(OPERATIONS["createSubject"], {}, None, body, headers))

    async def get_subject(self, subject_id: str, *, headers: Mapping[str, str] | None = None) -> m.Subject:
        """Read a subject."""
        return cast('m.Subject', await self._call(OPERATIONS["getSubject"], {"subject_id": subject_id}, None, None, headers))

    async def delete_subject(self, subject_id: str, *, headers: Mapping[str, str] | None = None) -> m.ErasureReceipt:
        """Erase a subject."""
        return cast('m.ErasureReceipt', await self._call(OPERATIONS["deleteSubject"], {"subject_id": subject_id}, None, None, headers))

    async def freeze_adaptation(self, subject_id: str, body: m.AdaptationFreeze | None = None, *, headers: Mapping[str, str] | None = None) -> m.Subject:
        """Freeze or unfreeze adaptation."""
        return cast('m.Subject', await self._call(OPERATIONS["freezeAdaptation"], {"subject_id": subject_id}, None, body, headers))

    async def list_subject_aliases(self, subject_id: str, *, headers: Mapping[str, str] | None = None) -> m.SubjectAliases:
        """List a subject's names in security events."""
        return cast('m.SubjectAliases', await self._call(OPERATIONS["listSubjectAliases"], {"subject_id": subject_id}, None, None, headers))

    async def set_subject_aliases(self, subject_id: str, body: m.SubjectAliasesUpdate, *, headers: Mapping[str, str] | None = None) -> m.SubjectAliases:
        """Replace a subject's names in security events."""
        return cast('m.SubjectAliases', await self._call(OPERATIONS["setSubjectAliases"], {"subject_id": subject_id}, None, body, headers))

    async def list_enrollments(self, subject_id: str, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Enrollment]:
        """List a subject's enrollments."""
        return cast('list[m.Enrollment]', await self._call(OPERATIONS["listEnrollments"], {"subject_id": subject_id}, {"limit": limit, "cursor": cursor}, None, headers))

    async def complete_enrollment(self, subject_id: str, body: m.EnrollmentComplete, *, headers: Mapping[str, str] | None = None) -> m.Enrollment:
        """Train the template with the collected evidence."""
        return cast('m.Enrollment', await self._call(OPERATIONS["completeEnrollment"], {"subject_id": subject_id}, None, body, headers))

    async def list_templates(self, subject_id: str, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Template]:
        """List the versions of a subject's templates."""
        return cast('list[m.Template]', await self._call(OPERATIONS["listTemplates"], {"subject_id": subject_id}, {"limit": limit, "cursor": cursor}, None, headers))

    async def rollback_template(self, subject_id: str, body: m.TemplateRollback, *, headers: Mapping[str, str] | None = None) -> m.Template:
        """Roll back to an earlier version of a template."""
        return cast('m.Template', await self._call(OPERATIONS["rollbackTemplate"], {"subject_id": subject_id}, None, body, headers))

    async def export_subject(self, subject_id: str, *, headers: Mapping[str, str] | None = None) -> m.SubjectExport:
        """Export all stored data of a subject."""
        return cast('m.SubjectExport', await self._call(OPERATIONS["exportSubject"], {"subject_id": subject_id}, None, None, headers))

    async def list_passkeys(self, subject_id: str, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Passkey]:
        """List a subject's passkeys."""
        return cast('list[m.Passkey]', await self._call(OPERATIONS["listPasskeys"], {"subject_id": subject_id}, {"limit": limit, "cursor": cursor}, None, headers))

    async def import_passkey(self, subject_id: str, body: m.PasskeyImport, *, headers: Mapping[str, str] | None = None) -> m.PasskeyRegistered:
        """Import a passkey of another server."""
        return cast('m.PasskeyRegistered', await self._call(OPERATIONS["importPasskey"], {"subject_id": subject_id}, None, body, headers))

    async def create_passkey_grant(self, subject_id: str, *, headers: Mapping[str, str] | None = None) -> m.PasskeyRegistrationGrant:
        """Permit the registration of one passkey."""
        return cast('m.PasskeyRegistrationGrant', await self._call(OPERATIONS["createPasskeyGrant"], {"subject_id": subject_id}, None, None, headers))

    async def passkey_register_options(self, subject_id: str, body: m.PasskeyRegistrationOptionsRequest, *, headers: Mapping[str, str] | None = None) -> m.PasskeyRegistrationOptions:
        """Exchange a grant for registration options."""
        return cast('m.PasskeyRegistrationOptions', await self._call(OPERATIONS["passkeyRegisterOptions"], {"subject_id": subject_id}, None, body, headers))

    async def passkey_register_complete(self, subject_id: str, body: m.PasskeyRegistrationComplete, *, headers: Mapping[str, str] | None = None) -> m.PasskeyRegistered:
        """Register the passkey."""
        return cast('m.PasskeyRegistered', await self._call(OPERATIONS["passkeyRegisterComplete"], {"subject_id": subject_id}, None, body, headers))

    async def revoke_passkey(self, subject_id: str, passkey_id: str, *, headers: Mapping[str, str] | None = None) -> None:
        """Revoke a passkey."""
        await self._call(OPERATIONS["revokePasskey"], {"subject_id": subject_id, "passkey_id": passkey_id}, None, None, headers)

    async def get_recovery(self, subject_id: str, *, headers: Mapping[str, str] | None = None) -> m.Recovery:
        """Read a subject's newest recovery."""
        return cast('m.Recovery', await self._call(OPERATIONS["getRecovery"], {"subject_id": subject_id}, None, None, headers))

    async def begin_recovery(self, subject_id: str, body: m.RecoveryBegin, *, headers: Mapping[str, str] | None = None) -> m.Recovery:
        """Begin a recovery."""
        return cast('m.Recovery', await self._call(OPERATIONS["beginRecovery"], {"subject_id": subject_id}, None, body, headers))

    async def set_research_consent(self, subject_id: str, body: m.ResearchConsentRequest, *, headers: Mapping[str, str] | None = None) -> m.ResearchConsentRecord:
        """Record the consent to research use."""
        return cast('m.ResearchConsentRecord', await self._call(OPERATIONS["setResearchConsent"], {"subject_id": subject_id}, None, body, headers))

    async def revoke_subject(self, subject_id: str, body: m.Reason | None = None, *, headers: Mapping[str, str] | None = None) -> m.Subject:
        """Revoke a subject."""
        return cast('m.Subject', await self._call(OPERATIONS["revokeSubject"], {"subject_id": subject_id}, None, body, headers))

    async def reinstate_subject(self, subject_id: str, body: m.SubjectReinstate, *, headers: Mapping[str, str] | None = None) -> m.ChangeRequest:
        """Request the end of a revocation."""
        return cast('m.ChangeRequest', await self._call(OPERATIONS["reinstateSubject"], {"subject_id": subject_id}, None, body, headers))

    async def create_client_token(self, body: m.ClientTokenCreate, *, headers: Mapping[str, str] | None = None) -> m.ClientTokenCreated:
        """Create a browser credential."""
        return cast('m.ClientTokenCreated', await self._call(OPERATIONS["createClientToken"], {}, None, body, headers))

    async def list_sessions(self, *, subject: m.SubjectId | None = None, status: m.SessionState | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Session]:
        """List sessions."""
        return cast('list[m.Session]', await self._call(OPERATIONS["listSessions"], {}, {"subject": subject, "status": status, "limit": limit, "cursor": cursor}, None, headers))

    async def create_session(self, body: m.SessionCreate, *, headers: Mapping[str, str] | None = None) -> m.Session:
        """Start an observation session."""
        return cast('m.Session', await self._call(OPERATIONS["createSession"], {}, None, body, headers))

    async def get_session(self, session_id: str, *, headers: Mapping[str, str] | None = None) -> m.Session:
        """Read a session."""
        return cast('m.Session', await self._call(OPERATIONS["getSession"], {"session_id": session_id}, None, None, headers))

    async def get_session_status(self, session_id: str, *, headers: Mapping[str, str] | None = None) -> m.SessionStatus:
        """Read a session and how much evidence it has."""
        return cast('m.SessionStatus', await self._call(OPERATIONS["getSessionStatus"], {"session_id": session_id}, None, None, headers))

    async def get_session_assessment(self, session_id: str, *, headers: Mapping[str, str] | None = None) -> m.AssuranceProfile:
        """Assess a session."""
        return cast('m.AssuranceProfile', await self._call(OPERATIONS["getSessionAssessment"], {"session_id": session_id}, None, None, headers))

    async def submit_evidence(self, session_id: str, body: m.FeatureFrameRequest, *, headers: Mapping[str, str] | None = None) -> m.EvidenceAck:
        """Submit a frame of evidence."""
        return cast('m.EvidenceAck', await self._call(OPERATIONS["submitEvidence"], {"session_id": session_id}, None, body, headers))

    async def end_session(self, session_id: str, *, headers: Mapping[str, str] | None = None) -> m.Session:
        """End a session."""
        return cast('m.Session', await self._call(OPERATIONS["endSession"], {"session_id": session_id}, None, None, headers))

    async def authorize(self, body: m.AuthorizeRequest, *, headers: Mapping[str, str] | None = None) -> m.AuthorizeResponse:
        """Make a decision."""
        return cast('m.AuthorizeResponse', await self._call(OPERATIONS["authorize"], {}, None, body, headers))

    async def list_authorizations(self, *, subject: m.SubjectId | None = None, action: str | None = None, decision: m.Decision | None = None, mode: m.Mode | None = None, review_status: m.ReviewStatus | None = None, parent: m.PathId | None = None, since: str | None = None, until: str | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.AuthorizationTrace]:
        """List stored decisions."""
        return cast('list[m.AuthorizationTrace]', await self._call(OPERATIONS["listAuthorizations"], {}, {"subject": subject, "action": action, "decision": decision, "mode": mode, "review_status": review_status, "parent": parent, "since": since, "until": until, "limit": limit, "cursor": cursor}, None, headers))

    async def get_authorization(self, authorization_id: str, *, headers: Mapping[str, str] | None = None) -> m.AuthorizationTrace:
        """Read a stored decision."""
        return cast('m.AuthorizationTrace', await self._call(OPERATIONS["getAuthorization"], {"authorization_id": authorization_id}, None, None, headers))

    async def report_outcome(self, authorization_id: str, body: m.OutcomeReport, *, headers: Mapping[str, str] | None = None) -> m.OutcomeReceipt:
        """Report the outcome of the action."""
        return cast('m.OutcomeReceipt', await self._call(OPERATIONS["reportOutcome"], {"authorization_id": authorization_id}, None, body, headers))

    async def review_authorization(self, authorization_id: str, body: m.ManualReviewRequest, *, headers: Mapping[str, str] | None = None) -> m.ManualReviewReceipt:
        """Approve or reject a hold."""
        return cast('m.ManualReviewReceipt', await self._call(OPERATIONS["reviewAuthorization"], {"authorization_id": authorization_id}, None, body, headers))

    async def withdraw_authorization(self, authorization_id: str, *, headers: Mapping[str, str] | None = None) -> m.ReviewWithdrawal:
        """Withdraw a request that waits for reviewers."""
        return cast('m.ReviewWithdrawal', await self._call(OPERATIONS["withdrawAuthorization"], {"authorization_id": authorization_id}, None, None, headers))

    async def assign_review(self, authorization_id: str, body: m.ReviewAssign | None = None, *, headers: Mapping[str, str] | None = None) -> m.ReviewAssignment:
        """Take a hold."""
        return cast('m.ReviewAssignment', await self._call(OPERATIONS["assignReview"], {"authorization_id": authorization_id}, None, body, headers))

    async def unassign_review(self, authorization_id: str, *, headers: Mapping[str, str] | None = None) -> m.ReviewAssignment:
        """Release a hold."""
        return cast('m.ReviewAssignment', await self._call(OPERATIONS["unassignReview"], {"authorization_id": authorization_id}, None, None, headers))

    async def list_after_reviews(self, *, status: Literal['open', 'justified', 'not_justified'] | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.AfterReview]:
        """List the reviews of break-glasses."""
        return cast('list[m.AfterReview]', await self._call(OPERATIONS["listAfterReviews"], {}, {"status": status, "limit": limit, "cursor": cursor}, None, headers))

    async def give_after_review(self, authorization_id: str, body: m.AfterReviewVerdict, *, headers: Mapping[str, str] | None = None) -> m.AfterReview:
        """Say whether a break-glass was justified."""
        return cast('m.AfterReview', await self._call(OPERATIONS["giveAfterReview"], {"authorization_id": authorization_id}, None, body, headers))

    async def list_standing_approvals(self, *, subject: m.SubjectId | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.StandingApproval]:
        """List standing approvals."""
        return cast('list[m.StandingApproval]', await self._call(OPERATIONS["listStandingApprovals"], {}, {"subject": subject, "limit": limit, "cursor": cursor}, None, headers))

    async def create_standing_approval(self, body: m.StandingApprovalCreate, *, headers: Mapping[str, str] | None = None) -> m.StandingApprovalOpened:
        """Ask for a standing approval."""
        return cast('m.StandingApprovalOpened', await self._call(OPERATIONS["createStandingApproval"], {}, None, body, headers))

    async def get_standing_approval(self, standing_approval_id: str, *, headers: Mapping[str, str] | None = None) -> m.StandingApproval:
        """Read a standing approval."""
        return cast('m.StandingApproval', await self._call(OPERATIONS["getStandingApproval"], {"standing_approval_id": standing_approval_id}, None, None, headers))

    async def revoke_standing_approval(self, standing_approval_id: str, *, headers: Mapping[str, str] | None = None) -> m.StandingApproval:
        """Revoke a standing approval."""
        return cast('m.StandingApproval', await self._call(OPERATIONS["revokeStandingApproval"], {"standing_approval_id": standing_approval_id}, None, None, headers))

    async def create_standing_link(self, subject_id: str, *, headers: Mapping[str, str] | None = None) -> m.StandingLink:
        """Create a link to the subject's standing approvals."""
        return cast('m.StandingLink', await self._call(OPERATIONS["createStandingLink"], {"subject_id": subject_id}, None, None, headers))

    async def list_reviews(self, *, status: Literal['pending', 'approved', 'rejected', 'expired', 'withdrawn'] | None = None, subject: m.SubjectId | None = None, action: str | None = None, risk_class: m.RiskClass | None = None, opened_before: str | None = None, due_before: str | None = None, order: Literal['newest', 'due', 'amount'] | None = None, q: str | None = None, assigned_to: str | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.HeldReview]:
        """List holds for reviewers."""
        return cast('list[m.HeldReview]', await self._call(OPERATIONS["listReviews"], {}, {"status": status, "subject": subject, "action": action, "risk_class": risk_class, "opened_before": opened_before, "due_before": due_before, "order": order, "q": q, "assigned_to": assigned_to, "limit": limit, "cursor": cursor}, None, headers))

    async def count_reviews(self, *, action: str | None = None, risk_class: m.RiskClass | None = None, headers: Mapping[str, str] | None = None) -> m.ReviewCounts:
        """Count pending holds."""
        return cast('m.ReviewCounts', await self._call(OPERATIONS["countReviews"], {}, {"action": action, "risk_class": risk_class}, None, headers))

    async def get_challenge(self, challenge_id: str, *, headers: Mapping[str, str] | None = None) -> m.ChallengePublicView:
        """Read a challenge."""
        return cast('m.ChallengePublicView', await self._call(OPERATIONS["getChallenge"], {"challenge_id": challenge_id}, None, None, headers))

    async def challenge_passkey_options(self, challenge_id: str, body: m.PasskeyAssertionOptionsRequest | None = None, *, headers: Mapping[str, str] | None = None) -> m.PasskeyAssertionOptions:
        """Begin the passkey step-up."""
        return cast('m.PasskeyAssertionOptions', await self._call(OPERATIONS["challengePasskeyOptions"], {"challenge_id": challenge_id}, None, body, headers))

    async def complete_challenge(self, challenge_id: str, body: m.ChallengeCompleteRequest, *, headers: Mapping[str, str] | None = None) -> m.ChallengeCompletionReceipt:
        """Complete a challenge."""
        return cast('m.ChallengeCompletionReceipt', await self._call(OPERATIONS["completeChallenge"], {"challenge_id": challenge_id}, None, body, headers))

    async def cancel_challenge(self, challenge_id: str, *, headers: Mapping[str, str] | None = None) -> m.ChallengeCancelled:
        """Cancel a challenge."""
        return cast('m.ChallengeCancelled', await self._call(OPERATIONS["cancelChallenge"], {"challenge_id": challenge_id}, None, None, headers))

    async def create_challenge_link(self, challenge_id: str, body: m.ChallengeLinkRequest | None = None, *, headers: Mapping[str, str] | None = None) -> m.ChallengeLink:
        """Create a link that opens this challenge in a browser."""
        return cast('m.ChallengeLink', await self._call(OPERATIONS["createChallengeLink"], {"challenge_id": challenge_id}, None, body, headers))

    async def get_proof_status(self, jti: str, *, headers: Mapping[str, str] | None = None) -> m.ProofStatus:
        """Read a proof's status."""
        return cast('m.ProofStatus', await self._call(OPERATIONS["getProofStatus"], {"jti": jti}, None, None, headers))

    async def verify_proof(self, body: m.ProofVerifyRequest, *, headers: Mapping[str, str] | None = None) -> m.ProofVerification:
        """Verify and optionally consume a proof."""
        return cast('m.ProofVerification', await self._call(OPERATIONS["verifyProof"], {}, None, body, headers))

    async def get_related_origins(self, *, headers: Mapping[str, str] | None = None) -> m.RelatedOrigins:
        """List the sites that may use the passkeys of this host."""
        return cast('m.RelatedOrigins', await self._call(OPERATIONS["getRelatedOrigins"], {}, None, None, headers))

    async def get_proof_keys(self, *, issuer: str | None = None, headers: Mapping[str, str] | None = None) -> m.JWKSet:
        """Public keys that verify proofs."""
        return cast('m.JWKSet', await self._call(OPERATIONS["getProofKeys"], {}, {"issuer": issuer}, None, headers))

    async def get_environment(self, *, headers: Mapping[str, str] | None = None) -> m.Environment:
        """Read the environment's settings."""
        return cast('m.Environment', await self._call(OPERATIONS["getEnvironment"], {}, None, None, headers))

    async def update_environment(self, body: m.EnvironmentUpdate, *, headers: Mapping[str, str] | None = None) -> m.Environment:
        """Change the environment's settings."""
        return cast('m.Environment', await self._call(OPERATIONS["updateEnvironment"], {}, None, body, headers))

    async def list_signing_keys(self, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.SigningKey]:
        """List the environment's signing keys."""
        return cast('list[m.SigningKey]', await self._call(OPERATIONS["listSigningKeys"], {}, {"limit": limit, "cursor": cursor}, None, headers))

    async def rotate_signing_key(self, *, headers: Mapping[str, str] | None = None) -> m.SigningKey:
        """Activate the next signing key."""
        return cast('m.SigningKey', await self._call(OPERATIONS["rotateSigningKey"], {}, None, None, headers))

    async def list_evaluations(self, *, status: m.EvaluationStatus | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Evaluation]:
        """List evaluations."""
        return cast('list[m.Evaluation]', await self._call(OPERATIONS["listEvaluations"], {}, {"status": status, "limit": limit, "cursor": cursor}, None, headers))

    async def create_evaluation(self, body: m.EvaluationCreate, *, headers: Mapping[str, str] | None = None) -> m.Evaluation:
        """Open an evaluation."""
        return cast('m.Evaluation', await self._call(OPERATIONS["createEvaluation"], {}, None, body, headers))

    async def get_evaluation(self, evaluation_id: str, *, headers: Mapping[str, str] | None = None) -> m.Evaluation:
        """Read an evaluation."""
        return cast('m.Evaluation', await self._call(OPERATIONS["getEvaluation"], {"evaluation_id": evaluation_id}, None, None, headers))

    async def close_evaluation(self, evaluation_id: str, *, headers: Mapping[str, str] | None = None) -> m.Evaluation:
        """Close an evaluation."""
        return cast('m.Evaluation', await self._call(OPERATIONS["closeEvaluation"], {"evaluation_id": evaluation_id}, None, None, headers))

    async def get_evaluation_report(self, evaluation_id: str, *, headers: Mapping[str, str] | None = None) -> m.EvaluationReport:
        """Read an evaluation's report."""
        return cast('m.EvaluationReport', await self._call(OPERATIONS["getEvaluationReport"], {"evaluation_id": evaluation_id}, None, None, headers))

    async def list_activity(self, *, type: m.EventTypePattern | None = None, subject: m.SubjectId | None = None, action: str | None = None, decision: m.Decision | None = None, since: str | None = None, until: str | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.ActivityEntry]:
        """Read the event log."""
        return cast('list[m.ActivityEntry]', await self._call(OPERATIONS["listActivity"], {}, {"type": type, "subject": subject, "action": action, "decision": decision, "since": since, "until": until, "limit": limit, "cursor": cursor}, None, headers))

    async def list_event_types(self, *, headers: Mapping[str, str] | None = None) -> list[m.EventTypeInfo]:
        """List the event types with schema and example."""
        return cast('list[m.EventTypeInfo]', await self._call(OPERATIONS["listEventTypes"], {}, None, None, headers))

    async def list_webhook_endpoints(self, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.WebhookEndpoint]:
        """List webhook endpoints."""
        return cast('list[m.WebhookEndpoint]', await self._call(OPERATIONS["listWebhookEndpoints"], {}, {"limit": limit, "cursor": cursor}, None, headers))

    async def create_webhook_endpoint(self, body: m.WebhookEndpointCreate, *, headers: Mapping[str, str] | None = None) -> m.WebhookEndpointWithSecret:
        """Add a webhook endpoint."""
        return cast('m.WebhookEndpointWithSecret', await self._call(OPERATIONS["createWebhookEndpoint"], {}, None, body, headers))

    async def get_webhook_endpoint(self, endpoint_id: str, *, headers: Mapping[str, str] | None = None) -> m.WebhookEndpoint:
        """Read a webhook endpoint."""
        return cast('m.WebhookEndpoint', await self._call(OPERATIONS["getWebhookEndpoint"], {"endpoint_id": endpoint_id}, None, None, headers))

    async def update_webhook_endpoint(self, endpoint_id: str, body: m.WebhookEndpointUpdate, *, headers: Mapping[str, str] | None = None) -> m.WebhookEndpoint:
        """Change a webhook endpoint."""
        return cast('m.WebhookEndpoint', await self._call(OPERATIONS["updateWebhookEndpoint"], {"endpoint_id": endpoint_id}, None, body, headers))

    async def delete_webhook_endpoint(self, endpoint_id: str, *, headers: Mapping[str, str] | None = None) -> None:
        """Remove a webhook endpoint."""
        await self._call(OPERATIONS["deleteWebhookEndpoint"], {"endpoint_id": endpoint_id}, None, None, headers)

    async def rotate_webhook_secret(self, endpoint_id: str, body: m.RotateRequest | None = None, *, headers: Mapping[str, str] | None = None) -> m.WebhookEndpointWithSecret:
        """Replace the signing secret."""
        return cast('m.WebhookEndpointWithSecret', await self._call(OPERATIONS["rotateWebhookSecret"], {"endpoint_id": endpoint_id}, None, body, headers))

    async def test_webhook_endpoint(self, endpoint_id: str, *, headers: Mapping[str, str] | None = None) -> m.WebhookTestResult:
        """Send a webhook.test event now, once."""
        return cast('m.WebhookTestResult', await self._call(OPERATIONS["testWebhookEndpoint"], {"endpoint_id": endpoint_id}, None, None, headers))

    async def enable_webhook_endpoint(self, endpoint_id: str, *, headers: Mapping[str, str] | None = None) -> m.WebhookEndpoint:
        """Enable an endpoint again."""
        return cast('m.WebhookEndpoint', await self._call(OPERATIONS["enableWebhookEndpoint"], {"endpoint_id": endpoint_id}, None, None, headers))

    async def replay_webhook_endpoint(self, endpoint_id: str, body: m.WebhookReplayRequest | None = None, *, headers: Mapping[str, str] | None = None) -> m.WebhookReplay:
        """Deliver events again."""
        return cast('m.WebhookReplay', await self._call(OPERATIONS["replayWebhookEndpoint"], {"endpoint_id": endpoint_id}, None, body, headers))

    async def list_webhook_attempts(self, endpoint_id: str, *, status: m.AttemptStatus | None = None, event: m.PathId | None = None, since: str | None = None, until: str | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.WebhookAttempt]:
        """List attempts to deliver."""
        return cast('list[m.WebhookAttempt]', await self._call(OPERATIONS["listWebhookAttempts"], {"endpoint_id": endpoint_id}, {"status": status, "event": event, "since": since, "until": until, "limit": limit, "cursor": cursor}, None, headers))

    async def list_destinations(self, *, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.Destination]:
        """List the destinations of the log."""
        return cast('list[m.Destination]', await self._call(OPERATIONS["listDestinations"], {}, {"limit": limit, "cursor": cursor}, None, headers))

    async def get_destination(self, destination_name: str, *, headers: Mapping[str, str] | None = None) -> m.Destination:
        """Read a destination of the log."""
        return cast('m.Destination', await self._call(OPERATIONS["getDestination"], {"destination_name": destination_name}, None, None, headers))

    async def set_destination(self, destination_name: str, body: m.DestinationSet, *, headers: Mapping[str, str] | None = None) -> m.Destination:
        """Set up a destination of the log."""
        return cast('m.Destination', await self._call(OPERATIONS["setDestination"], {"destination_name": destination_name}, None, body, headers))

    async def remove_destination(self, destination_name: str, *, headers: Mapping[str, str] | None = None) -> None:
        """Remove a destination of the log."""
        await self._call(OPERATIONS["removeDestination"], {"destination_name": destination_name}, None, None, headers)

    async def set_destination_credentials(self, destination_name: str, body: m.DestinationCredentials, *, headers: Mapping[str, str] | None = None) -> m.Destination:
        """Replace the credentials of a destination."""
        return cast('m.Destination', await self._call(OPERATIONS["setDestinationCredentials"], {"destination_name": destination_name}, None, body, headers))

    async def list_audit(self, *, actor: str | None = None, kind: str | None = None, since: str | None = None, until: str | None = None, limit: int | None = None, cursor: str | None = None, headers: Mapping[str, str] | None = None) -> list[m.AuditEntry]:
        """Read the audit log."""
        return cast('list[m.AuditEntry]', await self._call(OPERATIONS["listAudit"], {}, {"actor": actor, "kind": kind, "since": since, "until": until, "limit": limit, "cursor": cursor}, None, headers))

    async def get_audit_head(self, *, headers: Mapping[str, str] | None = None) -> m.AuditHead:
        """The signed head of the audit log."""
        return cast('m.AuditHead', await self._call(OPERATIONS["getAuditHead"], {}, None, None, headers))

    async def get_access_metadata(self, *, headers: Mapping[str, str] | None = None) -> m.AccessMetadata:
        """Metadata of the policy decision point."""
        return cast('m.AccessMetadata', await self._call(OPERATIONS["getAccessMetadata"], {}, None, None, headers))

    async def evaluate_access(self, body: m.AccessEvaluationRequest, *, headers: Mapping[str, str] | None = None) -> m.AccessEvaluation:
        """Evaluate one access request."""
        return cast('m.AccessEvaluation', await self._call(OPERATIONS["evaluateAccess"], {}, None, body, headers))

    async def evaluate_access_batch(self, body: m.AccessEvaluationsRequest, *, headers: Mapping[str, str] | None = None) -> m.AccessEvaluationsResponse:
        """Evaluate several access requests."""
        return cast('m.AccessEvaluationsResponse', await self._call(OPERATIONS["evaluateAccessBatch"], {}, None, body, headers))

    async def get_metrics(self, *, headers: Mapping[str, str] | None = None) -> m.MetricsSummary:
        """System-level metrics and latency summaries."""
        return cast('m.MetricsSummary', await self._call(OPERATIONS["getMetrics"], {}, None, None, headers))
