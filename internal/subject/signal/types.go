package signal

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/models"
)

// Names of effects, in the order in which they are made.
const (
	EffectRevoke      = "revoke"
	EffectEndSessions = "end_sessions"
	EffectVoidProofs  = "void_proofs"
	EffectChallenge   = "challenge"
)

// The prefixes of the types of events, which are URIs.
const (
	caep = "https://schemas.openid.net/secevent/caep/event-type/"
	risc = "https://schemas.openid.net/secevent/risc/event-type/"
	ssf  = "https://schemas.openid.net/secevent/ssf/event-type/"
	sse  = "https://schemas.openid.net/secevent/sse/event-type/" // of drafts
)

// Types about the stream itself.
const (
	verification  = "verification"
	streamUpdated = "stream-updated"
)

// maxChallenge is the longest time for which an event requires challenges.
const maxChallenge = 30 * 24 * time.Hour

const (
	hour = 60 * 60
	day  = 24 * hour
)

// defaults are the effects of events unless the operator says otherwise. No event ends a person for ever: revoking is off. Types that are missing do nothing.
var defaults = map[string]models.SignalEffects{
	"session-revoked":                    {EndSessions: true, VoidProofs: true},
	"credential-change":                  {VoidProofs: true, ChallengeSeconds: day},
	"credential-compromise":              {EndSessions: true, VoidProofs: true, ChallengeSeconds: 7 * day},
	"account-credential-change-required": {EndSessions: true, VoidProofs: true, ChallengeSeconds: day},
	"account-disabled":                   {EndSessions: true, VoidProofs: true, ChallengeSeconds: day},
	"account-purged":                     {EndSessions: true, VoidProofs: true, ChallengeSeconds: 7 * day},
	"identifier-changed":                 {ChallengeSeconds: day},
	"identifier-recycled":                {EndSessions: true, VoidProofs: true, ChallengeSeconds: 7 * day},
	"recovery-activated":                 {VoidProofs: true, ChallengeSeconds: day},
	"recovery-information-changed":       {ChallengeSeconds: day},
	"assurance-level-change":             {VoidProofs: true, ChallengeSeconds: hour},
	"device-compliance-change":           {VoidProofs: true, ChallengeSeconds: hour},
	"risk-level-change":                  {ChallengeSeconds: hour},
	"token-claims-change":                {VoidProofs: true},
}

// Defaults returns what events of each type do unless the operator says otherwise.
func Defaults() map[string]models.SignalEffects {
	out := map[string]models.SignalEffects{}
	for _, kind := range rules.SignalTypes {
		out[kind] = defaults[kind]
	}
	return out
}

// typeOf returns the short name of a type of events; empty for one of no profile that is known.
func typeOf(uri string) string {
	for _, prefix := range []string{caep, risc, ssf, sse} {
		name, of := strings.CutPrefix(uri, prefix)
		switch {
		case !of:
		case name == "sessions-revoked": // of RISC, replaced by CAEP's
			return "session-revoked"
		case slices.Contains(rules.SignalTypes, name), name == verification, name == streamUpdated:
			return name
		}
	}
	return ""
}

// payload has the members of an event that are read. Others are not looked at.
type payload struct {
	Subject   json.RawMessage `json:"subject"` // of drafts and RISC; else sub_id of the token
	At        json.RawMessage `json:"event_timestamp"`
	Direction string          `json:"change_direction"` // of assurance-level-change
	Current   string          `json:"current_status"`   // of device-compliance-change
	Level     string          `json:"current_level"`    // of risk-level-change
	Status    string          `json:"status"`           // of stream-updated
}

// eased reports whether an event says that a risk became smaller. It does nothing, and rules do not count it.
func (p payload) eased(kind string) bool {
	switch kind {
	case "account-enabled":
		return true
	case "assurance-level-change":
		return p.Direction == "increase"
	case "device-compliance-change":
		return p.Current == "compliant"
	case "risk-level-change":
		return strings.EqualFold(p.Level, "low")
	}
	return false
}
