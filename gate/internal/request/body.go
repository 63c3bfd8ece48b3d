package request

import (
	"encoding/json"
	"mime"
	"strings"

	"github.com/countersign-dev/countersign/sdk/go/exact"
)

// Body is the body of a request for a mapping that reads it. Whole is false if the transport did not receive all of it.
type Body struct {
	Text  []byte
	Whole bool
}

// JSON returns the value of the body, or a refusal: the body must be there, be JSON by its Content-Type, and have one meaning.
func (r *Request) JSON() (value any, err error) {
	if !r.Body.Whole {
		return nil, &Refusal{RuleBody, "The body must be there as a whole, and within the limit of its size."}
	}
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := strings.ToLower(parameters["charset"])
	json1 := err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json")) && (charset == "" || charset == "utf-8")
	if err := refuse(!json1 || r.Header.Get("Content-Encoding") != "", RuleBody, "The body must be JSON (application/json) in UTF-8, without a content encoding."); err != nil {
		return nil, err
	}
	if err := exact.Check(r.Body.Text); err != nil && Enforced(RuleBody) {
		return nil, &Refusal{RuleBody, "The body is ambiguous: " + err.Error() + "."}
	}
	if err := json.Unmarshal(r.Body.Text, &value); err != nil {
		return nil, &Refusal{RuleBody, "The body is not JSON."}
	}
	return value, nil
}
