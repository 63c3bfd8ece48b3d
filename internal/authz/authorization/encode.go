package authorization

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/internal/platform/jsonappend"
)

// Room in a response beside its profile, and for a proof that is restored in it.
const (
	usualSize  = 1 << 10
	usualProof = 2 << 10
)

// encode returns the response exactly as encoding/json encodes it; profile is its encoded Assurance. The slice has room for a proof,
// which is put in place of null once the stored form was sent (proof.RestoreIn).
func (r Response) encode(profile []byte) ([]byte, error) {
	b := jsonappend.Text(make([]byte, 0, usualSize+usualProof+len(profile)), `{"id":`, r.ID)
	b = jsonappend.Text(b, `,"decision":`, string(r.Decision))
	b = jsonappend.Text(b, `,"mode":`, string(r.Mode))
	b = jsonappend.Text(b, `,"action":`, r.Action)
	b = jsonappend.Text(b, `,"action_hash":`, r.ActionHash)
	b = jsonappend.Text(b, `,"environment":`, r.Environment)
	b = jsonappend.Integer(b, `,"policy_version":`, int64(r.PolicyVersion))
	b = jsonappend.Texts(b, `,"reason_codes":`, r.ReasonCodes)
	b = jsonappend.Text(b, `,"human_readable":{"status":`, r.HumanReadable.Status)
	b = jsonappend.Text(b, `,"detail":`, r.HumanReadable.Detail)
	b = append(append(b, `},"assurance":`...), profile...)
	b = jsonappend.Text(b, `,"trace_id":`, r.TraceID)
	b = jsonappend.Text(b, `,"decided_at":`, r.DecidedAt)
	b = jsonappend.Integer(b, `,"latency_ms":`, int64(r.LatencyMS))
	challenge, err := json.Marshal(r.Challenge) // nil for most decisions
	b = append(append(b, `,"challenge":`...), challenge...)
	b = jsonappend.OptionalText(b, `,"proof":`, r.Proof)
	b = jsonappend.OptionalText(b, `,"proof_id":`, r.ProofID)
	return append(b, '}'), err
}
