package reason

// Codes of proof verification, emitted by internal/authz/proof and by POST /api/v1/verify. The first fault found is reported.
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
	ProofUnknown             Code = "proof_unknown"
	ProofConsumed            Code = "proof_consumed"
	ProofRevoked             Code = "proof_revoked"
)

var proofEntries = []Entry{
	{ProofMalformed, KindProof, "The text is not one compact JWS in canonical form.", "Pass the proof on exactly as the service returned it."},
	{ProofHeaderInvalid, KindProof, "The protected header lacks a key id, or holds a parameter a proof never has.", "Pass the proof on exactly as the service returned it."},
	{ProofAlgorithmInvalid, KindProof, "The header names an algorithm other than ES256.", "Treat the proof as forged."},
	{ProofTypeInvalid, KindProof, "The header's typ is not poa+jwt: this is some other kind of token.", "Pass a Proof of Agency."},
	{ProofKeyUnknown, KindProof, "No published key has the header's key id.", "Fetch the key set again once; if the key is still missing, the proof is of another issuer or environment, or long expired."},
	{ProofSignatureInvalid, KindProof, "The signature does not verify under the named key.", "Treat the proof as forged or altered."},
	{ProofClaimsInvalid, KindProof, "The signed claims are incomplete or not of the shape a proof has.", "Treat the proof as forged; the service signs no such claims."},
	{ProofExpired, KindProof, "The proof's time is over.", "Authorize again; use proofs within the action's proof_ttl_seconds."},
	{ProofNotYetValid, KindProof, "The proof is not valid yet.", "Check the verifier's clock; up to 60 s of difference are allowed for."},
	{ProofIssuerMismatch, KindProof, "The proof is of another issuer.", "Check proof_issuer at GET /api/v1/credential."},
	{ProofAudienceMismatch, KindProof, "The proof is meant for another audience.", "Refuse it; ask for a proof whose audience is yours."},
	{ProofEnvironmentMismatch, KindProof, "The proof is of another environment, such as a sandbox proof shown to live.", "Refuse it; use credentials and proofs of one environment."},
	{ProofActionMismatch, KindProof, "The proof authorizes another action.", "Refuse it; authorize the action that is about to be performed."},
	{ProofResourceMismatch, KindProof, "The proof authorizes the action on another resource.", "Refuse it; authorize the action on this resource."},
	{ProofNonceMismatch, KindProof, "The proof answers a request with another nonce.", "Refuse it; it belongs to another request."},
	{ProofUnknown, KindProof, "The proof's id is not on record in this environment.", "Refuse it; check that the credential is of the environment that issued it."},
	{ProofConsumed, KindProof, "The proof was consumed before: it is good for one use.", "Refuse it; authorize again for another use."},
	{ProofRevoked, KindProof, "The proof was revoked, as happens on subject revocation, recovery and erasure.", "Refuse it; authorize again if the subject may still act."},
}
