package proof

// VerifyJWS lets vectors whose header has no typ reach the form, header and signature checks.
var VerifyJWS = verifyJWS

// FixedSize returns a DER signature as r and s of 32 bytes each.
func FixedSize(der []byte) []byte { return fixedSize(der) }
