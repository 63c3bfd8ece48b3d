package recovery

import (
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Anchors, from weakest to strongest: how the relying party has established that the person who recovers is the subject.
const (
	AnchorNone             = "none"              // no evidence at all
	AnchorCustomerSession  = "customer_session"  // a session at the relying party
	AnchorIDP              = "idp"               // a sign-in at an identity provider
	AnchorVerifiedIdentity = "verified_identity" // a check of identity documents
	AnchorPasskey          = "passkey"           // an active passkey of the subject
)

// Terms are the durations of a recovery. docs/passkeys.md documents them.
type Terms struct {
	CoolDown time.Duration // from the start until a new enrollment may complete it
	Life     time.Duration // from the start until it expires
	Cap      time.Duration // from the completion until claims are no longer capped; 0 is no cap
}

// Life is how long a recovery lasts in a live environment before it expires.
const Life = 14 * 24 * time.Hour

// capAfterNone is how long claims stay capped after a recovery with the anchor none.
const capAfterNone = 7 * 24 * time.Hour

// coolDowns has the cool-down of each anchor in a live environment. It is the time in which the real subject can notice and
// object, so it is longer for weaker anchors.
var coolDowns = map[string]time.Duration{
	AnchorNone:             24 * time.Hour,
	AnchorCustomerSession:  12 * time.Hour,
	AnchorIDP:              4 * time.Hour,
	AnchorVerifiedIdentity: time.Hour,
	AnchorPasskey:          15 * time.Minute,
}

// sandbox has the durations of sandbox environments, short enough to test a recovery from start to end.
var sandbox = struct{ coolDown, coolDownNone, life, cap time.Duration }{5 * time.Second, time.Minute, 24 * time.Hour, 10 * time.Minute}

// TermsOf returns the terms of a recovery with the anchor in an environment of the kind.
func TermsOf(kind models.EnvironmentKind, anchor string) Terms {
	t := Terms{CoolDown: coolDowns[anchor], Life: Life}
	if kind == models.Sandbox {
		t = Terms{CoolDown: sandbox.coolDown, Life: sandbox.life}
	}
	if anchor != AnchorNone {
		return t
	}
	t.Cap = capAfterNone
	if kind == models.Sandbox {
		t.CoolDown, t.Cap = sandbox.coolDownNone, sandbox.cap
	}
	return t
}

// nextStatus returns the status that follows r's, and whether r is due to move there at the time.
//
//	pending -> cooling_down -> ready -> completed (by an enrollment)
//	                                 -> expired
func nextStatus(r models.Recovery, at time.Time) (models.RecoveryStatus, bool) {
	switch {
	case Over(r.Status):
		return r.Status, false
	case r.Status == models.RecoveryReady:
		return models.RecoveryExpired, !at.Before(r.ExpiresAt)
	case r.Status == models.RecoveryCoolingDown:
		return models.RecoveryReady, !at.Before(r.ReadyAt)
	default:
		return models.RecoveryCoolingDown, true
	}
}

// nextMoveAt returns when r is due to move by time alone; the zero time if it is over.
func nextMoveAt(r models.Recovery) time.Time {
	switch {
	case Over(r.Status):
		return time.Time{}
	case r.Status == models.RecoveryReady:
		return r.ExpiresAt.UTC()
	default:
		return r.ReadyAt.UTC()
	}
}

// Over reports whether the status is final.
func Over(s models.RecoveryStatus) bool {
	return s == models.RecoveryCompleted || s == models.RecoveryExpired || s == Gone
}

// Open reports whether r is open at the time: it blocks another recovery, and an enrollment may complete it once it is ready. The
// stored status does not decide that, because it stays the same past the end until the workflow's timer fires.
func Open(r models.Recovery, at time.Time) bool { return !Over(Effective(r, at)) }

// Gone is the status of a recovery that was erased with its subject. It is never stored.
const Gone models.RecoveryStatus = "gone"

// Effective returns the status as of now, however late the workflow's timer is. Pending is shown until the workflow has begun,
// but not after the time at which the recovery is ready.
func Effective(r models.Recovery, now time.Time) models.RecoveryStatus {
	switch {
	case Over(r.Status):
		return r.Status
	case !now.Before(r.ExpiresAt):
		return models.RecoveryExpired
	case !now.Before(r.ReadyAt):
		return models.RecoveryReady
	default:
		return r.Status
	}
}
