package authorization

import (
	"encoding/json"
	"errors"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/models"
)

// remainder has the fields of a response that the columns of the decision do not have.
type remainder struct {
	HumanReadable policy.HumanReadable `json:"human_readable"`
	Challenge     *ChallengeDescriptor `json:"challenge,omitempty"`
	ProofID       *string              `json:"proof_id,omitempty"`
	Hold          *HoldDescriptor      `json:"hold,omitempty"`
	People        map[string]string    `json:"people,omitempty"` // see Response
}

// remainder returns what is stored of the response in a column of its own.
func (r Response) remainder() remainder {
	return remainder{HumanReadable: r.HumanReadable, Challenge: r.Challenge, ProofID: r.ProofID, Hold: r.Hold, People: r.people}
}

// respond returns the response of a decision, without its proof.
func respond(a *models.Authorization, profile assurance.Profile, rest remainder) Response {
	return Response{
		ID: a.ID, Decision: policy.Effect(a.Decision), Mode: a.Mode, Action: a.ActionKey, ActionHash: a.ActionHash, Environment: a.EnvironmentID,
		PolicyVersion: a.PolicyVersion, ReasonCodes: a.ReasonCodes, HumanReadable: rest.HumanReadable, Assurance: profile,
		TraceID: a.TraceID, DecidedAt: apitime.Time(a.DecidedAt), LatencyMS: a.LatencyMS, Challenge: rest.Challenge, ProofID: rest.ProofID,
		Hold: rest.Hold, StandingApproval: a.StandingID, people: rest.People,
	}
}

// readStored returns the response of a stored decision, without its proof. Encoded again, it has the bytes that were first returned,
// although Postgres stores JSON with other spaces and another order of its keys.
func (s *Service) readStored(a *models.Authorization) (Response, error) {
	var profile assurance.Profile
	var rest remainder
	err := errors.Join(json.Unmarshal(a.Assurance, &profile), json.Unmarshal(a.Response, &rest))
	if rest.Hold != nil {
		rest.Hold.StatusURL = s.status.Complete(rest.Hold.StatusURL)
	}
	return respond(a, profile, rest), err
}
