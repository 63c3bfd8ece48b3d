package countersign

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// Bounds of a response's body, in bytes. The largest responses are exports of a subject.
const (
	maxResponse = 16 << 20
	maxExport   = 256 << 20
)

// ProtocolError reports a response that breaks the contract: a page of a portal or proxy, a redirect, a body that is
// cut, empty or too long, a missing field or one of a different type, an unknown decision, an allow without its proof,
// or the response to a different request. Nothing in it can be trusted. The operation may have been carried out.
type ProtocolError struct {
	Operation string // of the contract, such as authorize
	Status    int    // HTTP status
	RequestID string // the X-Request-Id of the response; empty if it has none
	Msg       string // what is wrong; it never quotes the response
	// How long to wait before a retry; 0 if the response does not have the header.
	RetryAfter time.Duration
	err        error
}

// Error returns the operation and what is wrong with its response.
func (e *ProtocolError) Error() string {
	return fmt.Sprintf("countersign: %s: status %d: %s", e.Operation, e.Status, e.Msg)
}

// Unwrap returns the error of reading the response, if that failed.
func (e *ProtocolError) Unwrap() error { return e.err }

func notUnderstood(operation string, res *http.Response, msg string, err error) *ProtocolError {
	return &ProtocolError{Operation: operation, Status: res.StatusCode, RequestID: res.Header.Get("X-Request-Id"), Msg: msg, err: err,
		RetryAfter: retryAfter(res.Header)}
}

// understand checks a response against the contract and decodes it into out, which is nil for an operation without a
// response body.
func understand(r request, res *http.Response, text []byte, out any) error {
	fail := func(msg string) error { return notUnderstood(r.operation, res, msg, nil) }
	responses := contract().Responses[r.operation]
	rule, known := responses[strconv.Itoa(res.StatusCode)]
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return fail("the response is a redirect, which is never followed")
	case res.StatusCode >= 400:
		return refusal(r.operation, res, text)
	case !known:
		return fail("the contract has no response with this status")
	case rule == nil && len(text) > 0:
		return fail("a body where the contract has none")
	case rule == nil:
		return nil
	case mediaType(res) != "application/json":
		return fail("the content type is not application/json")
	}
	if b := check(rule, text); b != nil {
		return fail("the response" + b.at + " " + b.what)
	}
	if _, asked := out.(*ChangeRequest); rule.Ref == "ChangeRequest" && !asked {
		waiting := &ApprovalRequiredError{}
		if err := json.Unmarshal(text, &waiting.Change); err != nil {
			return fail("the response does not fit its type")
		}
		return waiting
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fail("the response does not fit its type")
	}
	if wrong := contradiction(r, out); wrong != "" {
		return fail(wrong)
	}
	return nil
}

// read reads a response to its end.
func read(r request, res *http.Response) ([]byte, error) {
	most := int64(maxResponse)
	if r.operation == "exportSubject" {
		most = maxExport
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it is longer than %d bytes", most)
	}
	if err != nil {
		return nil, notUnderstood(r.operation, res, "the body cannot be read to its end", err)
	}
	return text, nil
}

func mediaType(res *http.Response) string {
	t, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}
