package recovery

import (
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Anchors: what says that the person who recovers is the right one, from weakest to strongest.
const (
	AnchorNone             = "none"
	AnchorCustomerSession  = "customer_session"
	AnchorIDP              = "idp"
	AnchorVerifiedIdentity = "verified_identity"
	AnchorPasskey          = "passkey"
)

// Terms are how a recovery runs.
type Terms struct {
	CoolDown time.Duration // from the beginning until a new enrollment may complete it
	Life     time.Duration // from the beginning until it expires
	Cap      time.Duration // from the completion until claims are no longer capped; 0 is no cap
}

// Life is how long a recovery may take in a live environment.
const Life = 14 * 24 * time.Hour

// capAfterNone is how long claims stay capped after a recovery that nothing vouched for.
const capAfterNone = 7 * 24 * time.Hour

// The cool-down is the time in which the right person can notice and object, so it is the longer the less vouches for the
// one who asks.
var coolDowns = map[string]time.Duration{
	AnchorNone:             24 * time.Hour,
	AnchorCustomerSession:  12 * time.Hour,
	AnchorIDP:              4 * time.Hour,
	AnchorVerifiedIdentity: time.Hour,
	AnchorPasskey:          15 * time.Minute,
}

// In a sandbox a recovery can be tried from end to end while one watches.
var sandbox = struct{ coolDown, coolDownNone, life, cap time.Duration }{5 * time.Second, time.Minute, 24 * time.Hour, 10 * time.Minute}

// TermsOf are the terms of a recovery with the anchor in an environment of the kind.
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

// due is the state that follows r's at the time, and whether r is due to move there.
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

// next is when r is due to move by time alone; the zero time where it is over.
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

// Over reports whether no move leads out of the status.
func Over(s models.RecoveryStatus) bool {
	return s == models.RecoveryCompleted || s == models.RecoveryExpired || s == Gone
}

// Gone is the status of a recovery whose rows were erased with its subject.
const Gone models.RecoveryStatus = "gone"

// Effective is the status at now, however late the timer that moves the row. Pending is shown until the run has begun, but
// never past the time when the recovery is ready.
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
