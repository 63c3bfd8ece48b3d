package authorization

import (
	"encoding/json"
	"errors"

	"github.com/countersign-dev/countersign/models"
)

// stored returns the response as it is stored: without the profile and the proof, which have columns of their own.
func (r Response) stored() (models.JSON, error) {
	r.Proof = nil
	return json.Marshal(struct {
		Response
		Assurance *struct{} `json:"assurance,omitempty"` // in place of that of Response
	}{Response: r})
}

// readStored returns a response that was stored, with its profile and without its proof. Encoded again, it has the bytes that were first
// returned, although Postgres stores JSON with other spaces and another order of its keys.
func readStored(stored, profile []byte) (r Response, err error) {
	err = errors.Join(json.Unmarshal(stored, &r), json.Unmarshal(profile, &r.Assurance))
	return r, err
}
