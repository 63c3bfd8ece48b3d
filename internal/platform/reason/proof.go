package reason

// Codes of proof verification, emitted by internal/authz/proof and by POST /api/v1/verify. Only the first fault found is reported.
const (
	ProofMalformed           Code = "proof_malformed"
	ProofHeaderInvalid       Code = "proof_header_invalid"
	ProofAlgorithmInvalid    Code = "proof_algorithm_invalid"
	ProofTypeInvalid         Code = "proof_type_invalid"
	ProofKeyUnknown          Code = "proof_key_unknown"
	ProofSignatureInvalid    Code = "proof_signature_invalid"
	ProofClaimsInvalid       Code = "proof_claims_invalid"
	ProofExpired             Code = "proof_expired"
	ProofNotYetValid         Code = "proof_not_yet_valid"
	ProofIssuerMismatch      Code = "proof_issuer_mismatch"
	ProofAudienceMismatch    Code = "proof_audience_mismatch"
	ProofEnvironmentMismatch Code = "proof_environment_mismatch"
	ProofActionMismatch      Code = "proof_action_mismatch"
	ProofResourceMismatch    Code = "proof_resource_mismatch"
	ProofNonceMismatch       Code = "proof_nonce_mismatch"
	AudienceNotChecked       Code = "audience_not_checked"
	ProofUnknown             Code = "proof_unknown"
	ProofConsumed            Code = "proof_consumed"
	ProofRevoked             Code = "proof_revoked"
)

var proofEntries = []Entry{
	{ProofMalformed, KindProof, "The text is not one compact JWS in canonical form.", "Pass the proof on exactly as the service returned it."},
	{ProofHeaderInvalid, KindProof, "The protected header lacks a key id, or contains a parameter that a proof never has.", "Pass the proof on exactly as the service returned it."},
	{ProofAlgorithmInvalid, KindProof, "The header names an algorithm other than ES256.", "Treat the proof as forged."},
	{ProofTypeInvalid, KindProof, "The header's typ is not poa+jwt: this is a different kind of token.", "Pass a Proof of Agency."},
	{ProofKeyUnknown, KindProof, "No published key has the header's key id.", "Fetch the key set again once; if the key is still missing, the proof is from another issuer or environment, or expired long ago."},
	{ProofSignatureInvalid, KindProof, "The signature does not verify under the named key.", "Treat the proof as forged or altered."},
	{ProofClaimsInvalid, KindProof, "The signed claims are incomplete or malformed.", "Treat the proof as forged; the service does not sign such claims."},
	{ProofExpired, KindProof, "The proof has expired.", "Authorize again; use proofs within the action's proof_ttl_seconds."},
	{ProofNotYetValid, KindProof, "The proof is not valid yet.", "Check the verifier's clock; a difference of up to 60 s is tolerated."},
	{ProofIssuerMismatch, KindProof, "The proof is from another issuer.", "Compare the issuer with proof_issuer from GET /api/v1/credential."},
	{ProofAudienceMismatch, KindProof, "The proof is for another audience.", "Refuse it; request a proof for your audience."},
	{ProofEnvironmentMismatch, KindProof, "The proof is from another environment, for example a sandbox proof presented to live.", "Refuse it; use credentials and proofs of one environment."},
	{ProofActionMismatch, KindProof, "The proof authorizes another action, another subject, or the action with other details (its context).", "Refuse it; authorize exactly the action that is about to be performed."},
	{ProofResourceMismatch, KindProof, "The proof authorizes the action on another resource.", "Refuse it; authorize the action on this resource."},
	{ProofNonceMismatch, KindProof, "The proof belongs to a request with another nonce.", "Refuse it; it belongs to another request."},
	{AudienceNotChecked, KindProof, "The proof is valid, and the request did not say for whom: it may have been issued for another audience.", "Pass your audience. Pass the action, subject, resource, context and nonce of what you are about to perform as well: what is omitted is not checked."},
	{ProofUnknown, KindProof, "No proof with this id was issued in this environment.", "Refuse it; check that the credential belongs to the environment that issued the proof."},
	{ProofConsumed, KindProof, "The proof was already consumed: it is valid for one use.", "Refuse it; authorize again for another use."},
	{ProofRevoked, KindProof, "The proof was revoked, for example by a revocation, recovery or erasure of the subject.", "Refuse it; authorize again if the subject may still act."},
}
