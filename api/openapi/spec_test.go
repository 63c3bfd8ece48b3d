package openapi_test

import "github.com/countersign-dev/countersign/models"

// specRules is section 2 of the specification, and the extensions, as a table by operation.
func specRules() map[string][]rule {
	text := []any{[]any{"a"}}
	risk := oneOf("low", "elevated", "high", "critical")
	coverage := oneOf("none", "sparse", "partial", "sufficient")
	key := []func(*rule){upTo(128), accepts("a", "a1_b.c_2", "payments.transfer"), refuses("", "A", "1a", "a.", ".a", "a..b", "a-b", "a b", "a\n", "é", "_a", "a._b")}
	subjectID := []func(*rule){between(1, 128), accepts("user-4711", "a.b_c:d@e"), refuses("a b", "ü", "a/b", "a\x00")}
	anchor := oneOf("none", "customer_session", "idp", "passkey", "verified_identity")
	timings := []func(*rule){required, between(1, 512), accepts([]any{0.0, 60000.0, 0.25}), refuses([]any{-0.1}, []any{60000.5}, []any{"a"}, []any{nil}, []any{[]any{}})}
	grant := is("registration_grant", "string", required, between(32, 256))
	overlap := is("overlap_seconds", "integer", between(0, 604800), defaults(86400.0))
	patterns := is("events", "list", accepts([]any{"hold.opened"}, []any{"*", "hold.*"}), refuses([]any{"Hold"}, []any{"hold."}, []any{""}, []any{1.0}))
	instants := []func(*rule){accepts("2026-11-21T09:30:00Z", "2026-11-21T09:30:00.123+02:00"), refuses("", "tomorrow", "2026-11-21", "2026-13-01T00:00:00Z", "2026-11-21T09:30:00")}
	with := func(opts []func(*rule), more ...func(*rule)) []func(*rule) {
		return append(append([]func(*rule){}, opts...), more...)
	}

	return map[string][]rule{
		"createAction": {
			is("key", "string", with(key, required)...),
			is("name", "string", required, between(1, 120)),
			is("consequence", "string", required, between(1, 500)),
			{field: "allowed_audiences", kind: "list", required: true, low: ptr(1), accepts: text, refuses: []any{[]any{1.0}, []any{nil}}},
			{field: "allowed_callers", kind: "list", accepts: text, refuses: []any{[]any{1.0}}},
			is("context_schema", "object", accepts(map[string]any{"type": "object"})),
			is("proof_ttl_seconds", "integer", between(30, 900), defaults(300.0)),
			is("resource_type", "string", upTo(64), defaults("resource")),
			is("risk_class", "string", risk, defaults("high")),
		},
		"updateAction": {
			is("name", "string", orNull, upTo(120)),
			is("consequence", "string", orNull, upTo(500)),
			is("mode", "string", orNull, oneOf("test", "shadow", "enforce")),
		},
		"explainChange":  {is("reason", "string", upTo(500))},
		"approveChange":  {is("reason", "string", upTo(500))},
		"rejectChange":   {is("reason", "string", upTo(500))},
		"withdrawChange": {is("reason", "string", upTo(500))},
		"createPolicyVersion": {
			is("reason", "string", upTo(500)),
			is("requirements", "object", required, accepts(map[string]any{})),
			is("requirements.claims", "object", accepts(map[string]any{}, map[string]any{"operator_continuity": "likely"}), refuses(map[string]any{"a": 1.0}, map[string]any{"a": "sure"}, map[string]any{"a": nil})),
			is("requirements.coverage_min", "string", coverage, defaults("partial")),
			is("requirements.freshness_max_ms", "integer", between(1000, 3600000), defaults(60000.0)),
			is("requirements.insufficient_evidence", "string", oneOf("challenge", "hold", "deny"), defaults("challenge"), refuses("allow")),
			is("requirements.max_challenges", "integer", between(1, 5), defaults(2.0)),
			is("requirements.explicit_approval_required", "boolean", defaults(false)),
			is("requirements.challenge_methods", "list", accepts([]any{"passkey", "sandbox_confirm"}), refuses([]any{"sms"}, []any{nil})),
			is("requirements.challenge_compensates", "list", accepts([]any{"operator_continuity", "human_presence", "coverage", "freshness"}), refuses([]any{"automation"})),
			is("requirements.deny_on", "list", accepts(text...), refuses([]any{1.0})),
			is("requirements.hold_on", "list", accepts(text...), refuses([]any{1.0})),
			is("requirements.approvals_required", "integer", between(1, 5), defaults(1.0)),
			is("requirements.self_review", "string", oneOf("allowed", "barred"), defaults("allowed")),
			is("requirements.approval_compensates", "list", accepts([]any{"operator_continuity", "human_presence", "coverage", "freshness", "explicit_approval"}), refuses([]any{"automation"}, []any{"hold_on"})),
			is("requirements.review", "list", accepts([]any{map[string]any{"group": "finance", "approvals": 1.0, "escalate": map[string]any{"after_seconds": 60.0, "group": "leads"}}}), refuses([]any{map[string]any{"group": "Finance", "approvals": 1.0}}, []any{map[string]any{"group": "finance"}}, []any{map[string]any{"group": "finance", "approvals": 6.0}}, []any{map[string]any{"group": "finance", "approvals": 1.0, "escalate": map[string]any{"group": "leads"}}}, []any{1.0})),
			{field: "requirements.passkey_aaguids", kind: "list", low: ptr(1), accepts: []any{[]any{"ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4"}}, refuses: []any{[]any{""}, []any{1.0}}},
			is("requirements.rules", "list", accepts([]any{map[string]any{"name": "r", "when": "true", "requirements": map[string]any{"max_challenges": 1.0}, "reason": "R"}}), refuses([]any{map[string]any{"name": "R"}}, []any{1.0})),
			{field: "allowed_audiences", kind: "list", null: true, low: ptr(1), accepts: text, refuses: []any{[]any{1.0}}},
			is("allowed_callers", "list", orNull, accepts(text...)),
			is("context_schema", "object", orNull, accepts(map[string]any{"type": "object"})),
			is("proof_ttl_seconds", "integer", orNull, between(30, 900)),
		},
		"createTeam": {
			is("key", "string", required, upTo(64), accepts("finance", "a_1"), refuses("", "A", "1a", "a-b", "a b", "a\n", "é", "_a")),
			is("name", "string", required, between(1, 120)),
			is("members", "list", accepts(text...), refuses([]any{1.0})),
		},
		"updateTeam": {
			is("name", "string", orNull, between(1, 120)),
			is("members", "list", orNull, accepts(text...), refuses([]any{1.0})),
		},
		"createList": {
			is("name", "string", required, upTo(64), accepts("trusted_payees", "a_1"), refuses("", "A", "1a", "a-b", "a b", "a\n", "é", "_a")),
			is("kind", "string", required, oneOf("text", "country", "iban_prefix"), refuses("cidr")),
			is("personal", "boolean"),
			is("description", "string", upTo(256)),
		},
		"changeListEntries": {
			is("add", "list", accepts([]any{map[string]any{"value": "DE", "reason": "Known.", "expires_at": nil}}), refuses([]any{map[string]any{"value": "DE"}}, []any{map[string]any{"value": "", "reason": "r"}}, []any{map[string]any{"value": "DE", "reason": "r", "expires_at": 1.0}}, []any{1.0})),
			is("remove", "list", accepts([]any{map[string]any{"id": "lse_1"}, map[string]any{"value": "DE"}}), refuses([]any{map[string]any{"key": "DE"}}, []any{"DE"})),
		},
		"simulatePolicyVersion": {
			is("last", "integer", between(1, 10000), defaults(1000.0)),
			is("list", "integer", between(0, 1000), defaults(100.0)),
			is("since", "string", instants...), is("until", "string", instants...),
		},
		"authorize": {
			is("subject", "string", required),
			is("action", "string", required, upTo(128)),
			is("resource", "object", required, refuses(map[string]any{}, map[string]any{"type": "account"})),
			is("resource.type", "string", required, between(1, 64)),
			is("resource.id", "string", required, between(1, 256)),
			is("audience", "string", required, between(1, 128)),
			is("requested_at", "integer", required, from(0), accepts(0.0, 1795253400.0)),
			is("nonce", "string", required, between(16, 128)),
			is("idempotency_key", "string", required, between(8, 128)),
			is("actor", "object", orNull, refuses(map[string]any{})),
			is("actor.id", "string", required, between(1, 256)),
			{field: "actor.type", kind: "string", values: nil, fallback: "human", accepts: []any{"human"}, refuses: []any{"agent", "", nil}},
			is("context", "object", accepts(map[string]any{}, map[string]any{"a": []any{nil, 1.5, map[string]any{}}})),
			is("session", "string", orNull),
			is("mandate_ref", "null", refuses("m", "", 1.0)),
		},
		"evaluateAccess": {
			is("subject", "object", required, refuses(map[string]any{})),
			is("subject.type", "string", required, between(1, 64)),
			is("subject.id", "string", required, between(1, 128)),
			is("subject.properties", "object", accepts(map[string]any{"a": []any{nil}})),
			is("action", "object", required, refuses(map[string]any{})),
			is("action.name", "string", required, between(1, 128)),
			is("action.properties", "object", accepts(map[string]any{"a": true})),
			is("resource", "object", required, refuses(map[string]any{}, map[string]any{"type": "account"})),
			is("resource.type", "string", required, between(1, 64)),
			is("resource.id", "string", required, between(1, 256)),
			is("resource.properties", "object", accepts(map[string]any{"a": "b"})),
			is("context", "object", accepts(map[string]any{}, map[string]any{"a": 1.5})),
			is("context.countersign", "object", accepts(map[string]any{}), refuses(map[string]any{"a": 1.0})),
			is("context.countersign.audience", "string", between(1, 128)),
			is("context.countersign.nonce", "string", between(16, 128)),
			is("context.countersign.session", "string", between(1, 128)),
		},
		"evaluateAccessBatch": {
			is("subject", "object"), is("action", "object"), is("resource", "object"), is("context", "object"),
			{field: "evaluations", kind: "list", high: ptr(50), accepts: []any{[]any{map[string]any{}}}, refuses: []any{[]any{1.0}, []any{nil}}},
			is("options", "object", accepts(map[string]any{"b": 1.0})),
			is("options.evaluations_semantic", "string", oneOf("execute_all", "deny_on_first_deny", "permit_on_first_permit"), defaults("execute_all")),
		},
		"reportOutcome": {
			is("outcome", "string", required, oneOf("executed", "not_executed", "manually_approved", "manually_rejected", "confirmed_attack", "false_challenge", "customer_override", "unknown")),
			is("note", "string", orNull, upTo(500)),
		},
		"reviewAuthorization": {
			is("resolution", "string", required, oneOf("approve", "reject")),
			is("note", "string", orNull, upTo(500)),
		},
		"assignReview": {is("previous", "string", orNull, between(1, 128))},
		"completeChallenge": {
			is("method", "string", required, oneOf("passkey", "sandbox_confirm")),
			is("assertion", "object", orNull, accepts(map[string]any{})),
			is("assertion.id", "string"), is("assertion.rawId", "string"), is("assertion.type", "string"), is("assertion.response", "object"),
		},
		"createClientToken": {
			is("subject", "string", required),
			is("origin", "string", required, between(1, 2048)),
			is("ttl_seconds", "integer", between(60, 3600), defaults(900.0)),
			{field: "purposes", kind: "list", low: ptr(1), accepts: []any{[]any{"score"}, []any{"enroll"}, []any{"enroll", "score"}},
				refuses: []any{[]any{"spy"}, []any{"score", "score"}, []any{"score", "enroll", "score"}, []any{nil}}, values: []string{"score"}},
			is("session", "string", between(1, 128)),
		},
		"completeEnrollment": {
			is("session", "string", required),
			is("force", "boolean", defaults(false)),
		},
		"submitEvidence": {
			is("frame_id", "string", required, between(1, 128)),
			is("timestamp", "number", required, accepts(0.0, 1795253400.25, 1795253400250.0)),
			is("duration_ms", "number", required, between(0, 600000)),
			is("features", "object", required, accepts(map[string]any{})),
			is("purpose", "string", oneOf("score", "enroll"), defaults("score")),
			is("research_optin", "boolean", defaults(false)),
			is("window_start", "number", orNull, from(0)),
			is("window_end", "number", orNull, from(0)),
		},
		"setResearchConsent": {is("consented", "boolean", required)},
		"beginRecovery": {
			is("anchor", "string", required, anchor),
			is("anchor_evidence_ref", "string", orNull, between(8, 256)), is("reference", "string", between(1, 128)),
		},
		"passkeyRegisterOptions":  {grant, is("rp_id", "string", between(1, 253))},
		"challengePasskeyOptions": {is("rp_id", "string", between(1, 253))},
		"importPasskey": {
			is("credential_id", "string", required, between(1, 1364)), is("public_key", "string", required, between(1, 2731)),
			is("counter", "integer", required, between(0, 4294967295)), is("flags", "object", required, refuses(map[string]any{"backed_up": true})),
			is("flags.user_verified", "boolean"), is("flags.backup_eligible", "boolean", required), is("flags.backed_up", "boolean", required),
			{field: "transports", kind: "list", high: ptr(10), accepts: text, refuses: []any{[]any{""}, []any{1.0}}},
			is("aaguid", "string", between(36, 36)), is("rp_id", "string", between(1, 253)),
		},
		"passkeyRegisterComplete": {
			grant,
			is("credential", "object", required),
			is("credential.id", "string"), is("credential.rawId", "string"), is("credential.type", "string"), is("credential.response", "object"),
		},
		"createEvaluation": {
			is("name", "string", required, upTo(120)),
			is("action_keys", "list", required, between(1, 100), accepts(text...), refuses([]any{1.0}, []any{"a", "a"})),
			is("starts_at", "string", with(instants, orNull)...), is("ends_at", "string", with(instants, orNull)...),
			is("success_criteria", "object", accepts(map[string]any{})),
			is("success_criteria.min_shadow_decisions", "integer", between(1, 1000000), defaults(50.0)),
			is("success_criteria.min_outcome_coverage", "number", between(0, 1), defaults(0.5)),
			is("success_criteria.max_abstention_rate", "number", between(0, 1), defaults(0.5)),
		},
		"createSubject":    {is("id", "string", subjectID...)},
		"freezeAdaptation": {is("frozen", "boolean", defaults(true)), is("reason", "string", upTo(500))},
		"revokeSubject":    {is("reason", "string", upTo(500))},
		"createSession": {
			is("subject", "string", required, between(1, 128)),
			is("device_class", "string", oneOf("desktop", "mobile", "tablet", "unknown"), defaults("unknown")),
		},
		"verifyProof": {
			is("proof", "string", required, upTo(16384), accepts("", "a.b.c")),
			is("audience", "string", between(1, 128)),
			is("action", "string", between(1, 128)),
			is("resource", "object", refuses(map[string]any{})),
			is("resource.type", "string", required, between(1, 64)),
			is("resource.id", "string", required, between(1, 256)),
			is("nonce", "string", between(16, 128)),
			is("consume", "boolean", defaults(false)),
		},
		"createCredential": {
			is("scope", "string", required, oneOf("client", "server", "admin")),
			{field: "permissions", kind: "list", low: ptr(1), values: models.AllPermissions.Strings(),
				accepts: []any{[]any{"decide"}, []any{"verify", "decide"}}, refuses: []any{[]any{"everything"}, []any{"decide", "decide"}, []any{nil}, []any{""}}},
			is("name", "string", between(1, 120)),
			is("rate_limit", "integer", between(1, 1000000000)),
			is("expires_at", "string", instants...),
		},
		"rollbackTemplate": {
			is("modality", "string", required, oneOf("keystroke", "pointer")),
			is("device_class", "string", required, oneOf("desktop", "mobile", "tablet", "unknown")),
			is("version", "integer", orNull, between(1, 2147483647)),
		},
		"updateEnvironment": {
			is("rp_name", "string", between(1, 120)),
			{field: "origins", kind: "list", low: ptr(1), high: ptr(20), accepts: text, refuses: []any{[]any{""}, []any{1.0}}},
			is("challenge_ttl_seconds", "integer", between(30, 900)),
			is("hold_ttl_seconds", "integer", between(60, 2592000)),
			is("enrollment_grant_required", "boolean"),
			is("bar_self_review", "boolean"),
			is("page_origin", "string", upTo(2048)),
			{field: "return_origins", kind: "list", high: ptr(20), accepts: text, refuses: []any{[]any{""}, []any{1.0}}},
			{field: "frame_ancestors", kind: "list", high: ptr(20), accepts: text, refuses: []any{[]any{""}, []any{1.0}}},
			is("brand", "object", accepts(map[string]any{}), refuses(map[string]any{"font": "x"})),
			is("brand.name", "string", upTo(60)), is("brand.accent", "string", upTo(7)), is("brand.language", "string", upTo(16)), is("brand.logo", "string", upTo(43700)),
			is("passkeys", "object", accepts(map[string]any{}), refuses(map[string]any{"uv": true})),
			{field: "passkeys.rp_ids", kind: "list", high: ptr(10), accepts: text, refuses: []any{[]any{""}, []any{1.0}}},
			{field: "passkeys.related_origins", kind: "list", high: ptr(20), accepts: text, refuses: []any{[]any{""}, []any{1.0}}},
			is("passkeys.attestation", "string", accepts("none", "required"), refuses("direct")),
			{field: "passkeys.attestation_roots", kind: "list", high: ptr(20), accepts: text, refuses: []any{[]any{""}, []any{1.0}}},
			{field: "passkeys.aaguids", kind: "list", high: ptr(100), accepts: text, refuses: []any{[]any{""}, []any{1.0}}},
			is("second_approver_required", "boolean"),
			is("change_ttl_seconds", "integer", between(300, 2592000)),
			is("federated_key_days", "integer", between(0, 3650)),
			is("background", "string", oneOf("prior", "own", "shared")),
			is("key_expiry_required", "boolean"),
			is("review_notes", "boolean"),
			is("case_link", "string", upTo(2048)),
		},
		"rotateCredential":    {overlap},
		"rotateWebhookSecret": {overlap},
		"createChallengeLink": {
			is("return_url", "string", accepts("https://bank.example/payments/1"), refuses("", "bank.example", "/payments")),
		},
		"createWebhookEndpoint": {
			is("url", "string", required, accepts("https://hooks.example.com/x"), refuses("", "hooks.example.com", "/x")),
			patterns,
			is("description", "string", upTo(500)),
			is("include_details", "boolean"),
		},
		"updateWebhookEndpoint": {
			is("url", "string", accepts("https://hooks.example.com/x"), refuses("", "hooks.example.com", "/x")),
			patterns,
			is("description", "string", orNull, upTo(500)),
			is("status", "string", oneOf("enabled", "disabled")),
			is("include_details", "boolean"),
		},
		"replayWebhookEndpoint": {
			is("since", "string", instants...), is("until", "string", instants...),
			is("status", "string", oneOf("failed", "succeeded", "all"), defaults("failed")),
			is("event", "string", between(1, 128)),
		},
		"legacySessionStart": {is("user_id", "string", with(subjectID, required)...), is("device_id", "string", required, between(1, 256))},
		"legacyIngest": {
			is("session_id", "string", required, between(1, 128)),
			is("frames", "list", required, accepts([]any{map[string]any{"ts": 1795253400250.0, "x": "y"}}), refuses([]any{map[string]any{}}, []any{map[string]any{"ts": 1.5}}, []any{1.0})),
		},
		"legacySessionEnd": {is("session_id", "string", required, between(1, 128))},
		"legacyEnrol": {
			is("user_id", "string", with(subjectID, required)...),
			is("reaction_times", "list", timings...), is("keystroke_intervals", "list", timings...),
			is("consent", "boolean", defaults(false)),
		},
		"legacyAuth": {
			is("user_id", "string", with(subjectID, required)...),
			is("reaction_times", "list", timings...), is("keystroke_intervals", "list", timings...),
		},
	}
}

func ptr(f float64) *float64 { return &f }
