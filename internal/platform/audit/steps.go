package audit

import (
	"context"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/events"
)

// Impossible is a kind of finding: the log has a step that the record's state machine (docs/states.md) does not have. It stays a finding
// if the stored rows were put back, because the log is never changed.
const Impossible Kind = "impossible"

// ending says which entries end a kind of record. A record ends once.
type ending struct {
	record string
	types  []events.Type
	// key is the member of the entries' data with the id of the record; empty for records that a decision has one of.
	key string
}

// endings are the endings of all records whose moves are resolved by a person or a deadline.
var endings = []ending{
	{"challenge", []events.Type{events.ChallengeCompleted, events.ChallengeCancelled, events.ChallengeExpired, events.ChallengeFailed}, ""},
	{"hold", []events.Type{events.HoldApproved, events.HoldRejected, events.HoldExpired, events.HoldWithdrawn}, ""},
	{"proof", []events.Type{events.ProofConsumed, events.ProofRevoked}, ""},
	{"evaluation", []events.Type{events.EvaluationClosed}, "evaluation"},
	{"session", []events.Type{events.SessionEnded, events.SessionExpired}, "session"},
	{"recovery", []events.Type{events.RecoveryCompleted, events.RecoveryExpired}, "recovery"},
	{"change", []events.Type{
		events.ChangeApproved, events.ChangeRejected, events.ChangeWithdrawn, events.ChangeSuperseded, events.ChangeExpired,
	}, "change"},
}

// steps finds what no state machine allows: records that ended twice, follow-up decisions about a different subject than their parent, and
// entries that give one subject two ids.
func (r *reconciliation) steps(ctx context.Context) error {
	for _, e := range endings {
		repeated, err := endedTwice(ctx, r.q, r.scope, e, maxFindings)
		if err != nil {
			return err
		}
		for _, x := range repeated {
			r.found(Finding{Kind: Impossible, Event: x.Event, Target: x.Record, Field: e.record,
				Detail: "the " + e.record + " ended more than once: " + strings.Join(x.Types, ", then ")})
		}
	}
	foreign, err := foreignFollowUps(ctx, r.q, r.scope, maxFindings)
	if err != nil {
		return err
	}
	for _, x := range foreign {
		r.found(Finding{Kind: Impossible, Event: x.Event, Target: x.Record, Field: "subject",
			Detail: "the decision follows one about a different subject"})
	}
	renamed, err := renamedSubjects(ctx, r.q, r.scope, maxFindings)
	for _, x := range renamed {
		r.found(Finding{Kind: Impossible, Event: x.Event, Target: x.Record, Field: "subject",
			Detail: "the entries of one subject have more than one id of the relying party"})
	}
	return err
}
