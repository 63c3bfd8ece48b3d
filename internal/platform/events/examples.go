package events

// Ids and digests of the examples. They have the form of real ones and identify nothing.
const (
	exampleAuthorization = "azn_01jqx3k5v8e2sbyk0c4m7t9wzd"
	exampleChild         = "azn_01jqx3m2q6f7nbyk0c4m7t9wze"
	exampleChallenge     = "chl_01jqx3k5v8e2sbyk0c4m7t9wzd"
	exampleSession       = "ses_01jqx3k5v8e2sbyk0c4m7t9wzd"
	examplePasskey       = "psk_01jqx3k5v8e2sbyk0c4m7t9wzd"
	exampleEndpoint      = "whe_01jqx3k5v8e2sbyk0c4m7t9wzd"
	exampleChange        = "chg_01jqx3k5v8e2sbyk0c4m7t9wzd"
	exampleCredential    = "credential:crd_01jqx3k5v8e2sbyk0c4m7t9wzd"
	exampleDigest        = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// changeExample is shared by the types of settled change requests.
func changeExample() map[string]any {
	return map[string]any{"action": "payment.release", "change": exampleChange, "kind": "policy.activate",
		"requested_by": exampleCredential, "resolved_by": "person:prs_01jqx3k5v8e2sbyk0c4m7t9wzd"}
}

// waitingExample is shared by the types of change requests that no one settled.
func waitingExample() map[string]any {
	return map[string]any{"action": "payment.release", "change": exampleChange, "kind": "policy.activate",
		"expires_at": "2026-03-02T09:00:00.000Z", "after": exampleDigest}
}

// recoveryExample is shared by the four recovery types, which have the same fields.
func recoveryExample() map[string]any {
	return map[string]any{"subject": "user-4711", "recovery": "rcv_01jqx3k5v8e2sbyk0c4m7t9wzd", "anchor": "passkey",
		"ready_at": "2026-03-02T09:00:00.000Z", "expires_at": "2026-03-08T09:00:00.000Z"}
}
