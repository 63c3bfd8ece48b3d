package countersign

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/sdk/go/proof"
)

// contradiction checks what no schema can express: a response agrees with itself and with its request. It returns what
// is wrong, or an empty string.
func contradiction(r request, out any) string {
	switch told := out.(type) {
	case *AuthorizeResponse:
		asked, _ := r.body.(AuthorizeRequest)
		return cmp.Or(ofDecision(told), echoed(&asked, told))
	case *ProofVerification:
		asked, _ := r.body.(ProofVerifyRequest)
		return ofVerification(&asked, told)
	case *ChallengeCompletionReceipt:
		return r.names("challenge", told.Challenge)
	case *AuthorizationTrace:
		return r.names("id", told.ID)
	case *ManualReviewReceipt:
		if told.Decision != nil && ofDecision(told.Decision) != "" {
			return "decision: " + ofDecision(told.Decision)
		}
		return r.names("authorization", told.Authorization)
	case *ProofStatus:
		return r.names("jti", told.JTI)
	}
	return ""
}

// names compares an id of the response with the path of the request.
func (r request) names(field, id string) string {
	if id != "" && slices.Contains(strings.Split(r.path, "/"), url.PathEscape(id)) {
		return ""
	}
	return notAsked(field)
}

func notAsked(field string) string { return field + " is not the one asked for" }

const longestProof = 8192 // characters

var compactForm = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)

func ofDecision(told *AuthorizeResponse) string {
	proven := told.Decision == DecisionAllow && told.Mode == ModeEnforce
	stepUp := told.Decision == DecisionChallenge && told.Mode != ModeShadow
	switch {
	case told.ID == "" || told.Environment == "" || told.ActionHash == "":
		return "id, environment or action_hash is empty"
	case proven != (told.Proof != "") || proven != (told.ProofID != ""):
		return "a proof comes with allow in mode enforce, and with nothing else"
	case proven && (len(told.Proof) > longestProof || !compactForm.MatchString(told.Proof)):
		return "proof is not a compact JWS"
	case stepUp != (told.Challenge != nil):
		return "a challenge comes with the decision challenge in the modes test and enforce, and with nothing else"
	case stepUp && (told.Challenge.ID == "" || len(told.Challenge.Methods) == 0):
		return "challenge has no id or no method"
	}
	return ""
}

func echoed(asked *AuthorizeRequest, told *AuthorizeResponse) string {
	switch {
	case told.Action != asked.Action:
		return notAsked("action")
	case told.Assurance.Subject != asked.Subject:
		return notAsked("assurance.subject")
	}
	return ""
}

func ofVerification(asked *ProofVerifyRequest, told *ProofVerification) string {
	if !told.Valid {
		return ""
	}
	status := ProofStateActive
	if asked.Consume {
		status = ProofStateConsumed
	}
	switch {
	case told.Claims == nil:
		return "valid comes without claims"
	case told.Status != status:
		return "valid does not go with status"
	case slices.ContainsFunc(told.ReasonCodes, func(code string) bool { return code != audienceNotChecked }):
		return "valid does not go with reason_codes"
	case asked.Audience != "" && told.Claims.Aud != asked.Audience:
		return notAsked("claims.aud")
	case asked.Action != "" && told.Claims.Act["key"] != asked.Action:
		return notAsked("claims.act.key")
	case asked.Nonce != "" && told.Claims.Nonce != asked.Nonce:
		return notAsked("claims.nonce")
	case asked.Subject != "" && told.Claims.Sub != asked.Subject:
		return notAsked("claims.sub")
	case asked.Context != nil && told.Claims.Ctx != contextDigest(asked.Context):
		return notAsked("claims.ctx")
	}
	return ""
}

// contextDigest returns the digest that a proof has of a context; empty if it has none.
func contextDigest(context map[string]any) string {
	digest, err := proof.ContextDigest(context)
	if err != nil {
		return ""
	}
	return digest
}

// audienceNotChecked is the one code that a valid proof may have.
const audienceNotChecked = "audience_not_checked"
