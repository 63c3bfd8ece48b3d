package scoring

import (
	"math"
	"slices"
)

// Trust states of the earlier endpoints. The state ENDED is set by the caller, which knows when a session ends.
const (
	TrustLearning = "LEARNING"
	TrustStable   = "STABLE"
	TrustWatch    = "WATCH"
	TrustDegraded = "DEGRADED"
	TrustBroken   = "BROKEN"
)

// Trust is the trust view of a session: a score from 0 to 1, 1 being the enrolled person, and a state.
type Trust struct {
	Score   float64
	State   string
	Reasons []string
}

// LegacyTrust derives the trust view from a profile and its state. The score is the probability at even prior odds, fitted on
// recordings; one half without evidence.
func LegacyTrust(s State, p Profile) Trust {
	c := p.Claim(ClaimContinuity)
	t := Trust{Score: .5, State: TrustWatch, Reasons: append([]string{}, c.ReasonCodes...)}
	if s.Keystroke.Scored && c.Status != Insufficient {
		t.Score = 1 / (1 + math.Exp(-(.85*s.Keystroke.Long - 3.5)))
	}
	automated := p.Claim(ClaimAutomation).Status == Detected
	replayed := p.Claim(ClaimReplay).Status == Detected
	switch {
	case automated || replayed:
		t.State, t.Score = TrustBroken, math.Min(t.Score, .05)
		t.Reasons = union(p.Claim(ClaimAutomation).ReasonCodes, p.Claim(ClaimReplay).ReasonCodes)
	case c.Status == Insufficient:
		t.State = TrustLearning
	case (c.Status == Confirmed || c.Status == Likely) && slices.Contains(c.Limitations, ReasonRecoveryCap):
		// These endpoints do not distinguish likely from confirmed, so a subject with capped claims is never STABLE.
		t.Score, t.Reasons = math.Min(t.Score, .5), append(t.Reasons, ReasonRecoveryCap)
	case c.Status == Confirmed || c.Status == Likely:
		t.State = TrustStable
	case c.Status == Uncertain:
		t.Score = math.Min(t.Score, .5) // what was typed may have matched; who is there now is not known
	case c.Status == NotConfirmed && p.Claim(ClaimChange).Status == Detected:
		t.State = TrustBroken
	case c.Status == NotConfirmed:
		t.State = TrustDegraded
	}
	t.Score = math.Round(t.Score*1e4) / 1e4
	return t
}
