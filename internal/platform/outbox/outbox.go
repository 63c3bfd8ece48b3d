// Package outbox runs work after the commit of the transaction that requires it (transactional outbox). Add writes a row in that
// transaction; a Relay claims due rows, passes each to its topic's handler and deletes it when the handler returns nil.
//
// Delivery is at least once and unordered, so handlers must be idempotent. The package may not know what a topic means.
package outbox

import (
	"context"
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Topics, with the id that each topic's Ref holds. A row outlives deployments: never rename a topic.
const (
	// Challenge id: start its workflow.
	TopicChallengeStart = "challenge.start"
	// Challenge id: settled outside its workflow; notify it.
	TopicChallengeSettled = "challenge.settled"
	TopicHoldStart        = "hold.start"       // authorization id
	TopicHoldSettled      = "hold.settled"     // authorization id
	TopicReview           = "hold.review"      // authorization id, with the reviewer in the payload: make a review that was given
	TopicChangeStart      = "change.start"     // change request id
	TopicEvaluationStart  = "evaluation.start" // evaluation id
	TopicEnrollmentStart  = "enrollment.start" // enrollment id
	TopicRecoveryStart    = "recovery.start"   // recovery id
	TopicErasureStart     = "erasure.start"    // erasure id
	TopicAdaptationStart  = "adaptation.start" // session id
	TopicBackgroundStart  = "background.start" // environment id, a slash and the day
	// Event id: fan out to webhook endpoints.
	TopicEvent = "event"
	// Authorization id, with the kind in the payload: decide who is notified of a hold (internal/delivery/notify).
	TopicNotice      = "notice"
	TopicNoticeEmail = "notice.email" // notice id
	TopicNoticeChat  = "notice.chat"  // notice id
	TopicAddressCode = "address.code" // person id: mail the code that confirms an address
	// TopicInvitation holds the id of an invitation whose link is mailed.
	TopicInvitation = "person.invitation"
)

// Item is work to do after the commit. At is the time of the change.
type Item struct {
	Topic       string
	Environment string
	Ref         string
	// Nil is the empty object; ids and digests only.
	Payload any
	At      time.Time
	Due     time.Time // from when the work is to be done, and its age counts; zero: from At on
}

// Add writes the item in the caller's transaction.
func Add(ctx context.Context, q *pg.Q, i Item) error {
	payload := models.JSON("{}")
	if i.Payload != nil {
		raw, err := json.Marshal(i.Payload)
		if err != nil {
			return err
		}
		payload = raw
	}
	row := models.Outbox{Topic: i.Topic, EnvironmentID: i.Environment, Ref: i.Ref, Payload: payload, CreatedAt: i.At, AvailableAt: i.At}
	if i.Due.After(i.At) {
		// A row whose times are equal is claimed at once, whatever the clock (Claim).
		row.CreatedAt, row.AvailableAt = i.Due.Add(-time.Microsecond), i.Due
	}
	return Insert(ctx, q, row)
}
