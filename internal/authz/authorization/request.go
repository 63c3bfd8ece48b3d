package authorization

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// ReadRequest returns the request of a decoded body that matches the contract, with the text of its context, whose digits the tree does
// not have. It returns false for a body that does not match.
func ReadRequest(body map[string]any, context string) (Request, bool) {
	f := fieldsOf{body: body}
	resource := fieldsOf{body: f.object("resource")}
	out := Request{
		Subject: f.text("subject"), Action: f.text("action"), Resource: Resource{Type: resource.text("type"), ID: resource.text("id")},
		Audience: f.text("audience"), RequestedAt: f.integer("requested_at"), Nonce: f.text("nonce"), IdempotencyKey: f.text("idempotency_key"),
	}
	if body["actor"] != nil {
		actor := fieldsOf{body: f.object("actor")}
		out.Actor = &Actor{ID: actor.text("id")}
		f.wrong = f.wrong || actor.wrong
	}
	if body["session"] != nil {
		session := f.text("session")
		out.Session = &session
	}
	if body["context"] != nil {
		out.values = f.object("context")
	}
	if context != "" {
		out.Context = json.RawMessage(context)
	}
	return out, !f.wrong && !resource.wrong
}

// fieldsOf reads the fields of a decoded object.
type fieldsOf struct {
	body  map[string]any
	wrong bool // a field is missing, or of another type
}

func (f *fieldsOf) text(name string) string {
	v, ok := f.body[name].(string)
	f.wrong = f.wrong || !ok
	return v
}

func (f *fieldsOf) integer(name string) int64 {
	v, ok := f.body[name].(float64)
	f.wrong = f.wrong || !ok || v != float64(int64(v))
	return int64(v)
}

func (f *fieldsOf) object(name string) map[string]any {
	v, ok := f.body[name].(map[string]any)
	f.wrong = f.wrong || !ok
	return v
}

// request is a Request with the values that are derived from it once.
type request struct {
	Request
	principal      identity.Principal
	start          time.Time
	context        map[string]any
	hash           []byte
	resourceDigest string
	countedAs      []string // aggregate.ResourceDigests
	contextDigest  string
}

// digest derives the context and the digests.
func (r *request) digest() error {
	r.context = r.values
	if r.context == nil {
		r.context = map[string]any{}
		if len(r.Context) > 0 {
			if err := json.Unmarshal(r.Context, &r.context); err != nil {
				return problem.Invalid([]any{"body", "context"}, "context must be an object.", "dict_type")
			}
		}
	}
	sum, err := r.sum()
	if err != nil {
		return problem.Invalid([]any{"body"}, "The body has no canonical form: "+err.Error(), "value_error")
	}
	r.hash = sum[:]
	if r.resourceDigest, err = canonical.ResourceDigest(r.Resource.Type, r.Resource.ID); err != nil {
		return err
	}
	if r.countedAs, err = aggregate.ResourceDigests(r.Resource.Type, r.Resource.ID); err != nil {
		return err
	}
	r.contextDigest, err = canonical.ContextDigest(r.context)
	return err
}

// sum returns the SHA-256 of the canonical form of the request behind its credential, which it covers so that a response is replayed to
// the same credential only. Stored requests have it: the form must not change.
func (r *request) sum() ([sha256.Size]byte, error) {
	hashed := r.Request
	if r.values != nil {
		context, err := json.Marshal(r.values)
		if err != nil {
			return [sha256.Size]byte{}, err
		}
		hashed.Context = context
	}
	form, err := canonical.JSON(hashed)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	return sha256.Sum256(slices.Concat([]byte(r.principal.CredentialID), []byte("\n"), form)), nil
}
