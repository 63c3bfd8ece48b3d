package proof

// VerifyJWS lets vectors whose header has no typ reach the form, header and signature checks.
var VerifyJWS = verifyJWS
