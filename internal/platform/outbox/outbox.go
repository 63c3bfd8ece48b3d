// Package outbox carries work over a commit: a row written with the change it follows from, and a relay that takes due
// rows, hands each to its topic's handler and deletes it once that is done. Delivery is at least once and in no order,
// so handlers must be safe to repeat. The package decides nothing and knows no topic's meaning.
package outbox

import (
	"context"
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Topics. A topic's Ref is the id of what it is about.
const (
	TopicChallengeStart   = "challenge.start"   // challenge id: start its run
	TopicChallengeSettled = "challenge.settled" // challenge id: its row was settled past the run; tell the run
	TopicHoldStart        = "hold.start"        // authorization id
	TopicHoldSettled      = "hold.settled"      // authorization id
	TopicEvaluationStart  = "evaluation.start"  // evaluation id
	TopicEnrollmentStart  = "enrollment.start"  // enrollment id
	TopicRecoveryStart    = "recovery.start"    // recovery id
	TopicErasureStart     = "erasure.start"     // erasure id
	TopicAdaptationStart  = "adaptation.start"  // session id
	TopicEvent            = "event"             // event id: fan out to webhook endpoints
)

// Item is work that must follow the commit. At is when it becomes due, and when it was asked for.
type Item struct {
	Topic       string
	Environment string
	Ref         string
	Payload     any // nil is the empty object; ids and digests only
	At          time.Time
}

// Add writes the item in the caller's transaction.
func Add(ctx context.Context, q *store.Q, i Item) error {
	payload := models.JSON("{}")
	if i.Payload != nil {
		raw, err := json.Marshal(i.Payload)
		if err != nil {
			return err
		}
		payload = raw
	}
	return q.Outbox().Insert(ctx, models.Outbox{
		Topic: i.Topic, EnvironmentID: i.Environment, Ref: i.Ref, Payload: payload, CreatedAt: i.At, AvailableAt: i.At,
	})
}
