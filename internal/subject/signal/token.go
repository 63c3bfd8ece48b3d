package signal

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/countersign-dev/countersign/internal/platform/foreignjwt"
	"github.com/countersign-dev/countersign/internal/subject/alias"
	"github.com/countersign-dev/countersign/models"
)

const (
	// MaxToken is the size of a token in bytes, and maxBody that of a response to a poll.
	MaxToken = 64 << 10
	maxBody  = 1 << 20
	// maxEvents bounds the events of a token, and maxNames the identifiers of a subject.
	maxEvents, maxNames = 10, 20
	// maxAge is how old a token may be: issuers repeat for days what they could not deliver.
	maxAge = 30 * 24 * time.Hour
)

// securityEvent is a security event token (RFC 8417).
var securityEvent = foreignjwt.Kind{Max: MaxToken, Types: []string{"secevent+jwt"}}

// Refusal is why a token is not taken, with a code of RFC 8935, section 2.4. It contains nothing that the issuer sent.
type Refusal struct{ Code, Description string }

// Error implements error.
func (r *Refusal) Error() string { return "signal: " + r.Code + ": " + r.Description }

// Codes of refusals (RFC 8935, section 2.4).
const (
	InvalidRequest  = "invalid_request"
	InvalidKey      = "invalid_key"
	InvalidIssuer   = "invalid_issuer"
	InvalidAudience = "invalid_audience"
)

func refuse(code, description string) error { return &Refusal{code, description} }

// token is a verified token.
type token struct {
	id     string
	events []event
}

// event is one event of a token.
type event struct {
	kind  string // see typeOf
	at    time.Time
	eased bool
	names []alias.Name
	state string // of stream-updated
}

// read verifies a token of a stream: form, issuer, key and audience, in this order. A claim that is not known is no reason to refuse it.
func (s *Service) read(ctx context.Context, of models.SignalStream, raw string) (token, error) {
	c, err := securityEvent.Read(raw)
	if err != nil {
		return token{}, refuse(InvalidRequest, formFault(err))
	}
	var issuer string
	if json.Unmarshal(c["iss"], &issuer) != nil || issuer != of.Issuer {
		return token{}, refuse(InvalidIssuer, "iss is not the issuer of this stream.")
	}
	keys, err := s.keysOf(of)
	if err != nil {
		return token{}, err
	}
	if _, err := keys.VerifySignature(ctx, raw); err != nil {
		var away *foreignjwt.Unreachable
		if errors.As(err, &away) {
			return token{}, unavailable("The keys of the issuer cannot be fetched.", err)
		}
		return token{}, refuse(InvalidKey, "The signature is not of a key that the issuer publishes.")
	}
	if !slices.Contains(audiences(c["aud"]), of.Audience) {
		return token{}, refuse(InvalidAudience, "aud does not name this stream's audience.")
	}
	return s.claims(c)
}

func formFault(err error) string {
	switch {
	case errors.Is(err, foreignjwt.ErrSize):
		return "The token is longer than 65536 bytes."
	case errors.Is(err, foreignjwt.ErrType):
		return "typ must be secevent+jwt."
	case errors.Is(err, foreignjwt.ErrAlgorithm):
		return "alg must be an asymmetric signature, such as RS256 or ES256."
	}
	return "The body is not a signed JWT whose members are unique and within their bounds."
}

// keysOf returns the keys of a stream's issuer.
func (s *Service) keysOf(of models.SignalStream) (oidc.KeySet, error) {
	if of.KeysURL != nil {
		return s.keys.At(*of.KeysURL), nil
	}
	set, _, err := foreignjwt.Parse(of.Keys)
	return set, err
}

// audiences returns the values of aud, which is a text or a list of texts.
func audiences(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// claims reads the claims of a verified token.
func (s *Service) claims(c foreignjwt.Claims) (token, error) {
	var out token
	now := s.clock.Now()
	if json.Unmarshal(c["jti"], &out.id) != nil || out.id == "" {
		return out, refuse(InvalidRequest, "jti is missing.")
	}
	if _, has := c["sub"]; has {
		return out, refuse(InvalidRequest, "sub must be absent: sub_id names the subject.")
	}
	issued, ok := c.Time("iat")
	if !ok || issued.After(now.Add(foreignjwt.Ahead)) || issued.Before(now.Add(-maxAge)) {
		return out, refuse(InvalidRequest, "iat is missing, in the future, or more than 30 days ago.")
	}
	var events map[string]json.RawMessage
	if json.Unmarshal(c["events"], &events) != nil || len(events) == 0 || len(events) > maxEvents {
		return out, refuse(InvalidRequest, "events must be an object of 1 to 10 events.")
	}
	happened := issued
	if toe, ok := c.Time("toe"); ok {
		happened = toe
	}
	uris := make([]string, 0, len(events))
	for uri := range events {
		uris = append(uris, uri)
	}
	slices.Sort(uris) // places must be the same when the token is repeated
	for _, uri := range uris {
		var p payload
		var object map[string]json.RawMessage
		if json.Unmarshal(events[uri], &object) != nil || object == nil {
			return out, refuse(InvalidRequest, "Each event must be an object.")
		}
		_ = json.Unmarshal(events[uri], &p) // a member of a different form than expected is one that is not known
		kind := typeOf(uri)
		if kind == "" {
			continue
		}
		e := event{kind: kind, eased: p.eased(kind), state: p.Status, names: append(namesOf(c["sub_id"], 0), namesOf(p.Subject, 0)...)}
		e.at = within(happenedAt(p.At, happened), now)
		if len(e.names) > maxNames {
			e.names = e.names[:maxNames]
		}
		out.events = append(out.events, e)
	}
	return out, nil
}

// happenedAt returns the time of an event, which is a number of seconds. Some issuers send milliseconds.
func happenedAt(raw json.RawMessage, otherwise time.Time) time.Time {
	var seconds float64
	if json.Unmarshal(raw, &seconds) != nil || string(raw) == "null" || seconds <= 0 || seconds > 1e14 {
		return otherwise
	}
	if seconds >= 1e11 {
		seconds /= 1000
	}
	whole, part := math.Modf(seconds)
	at := time.Unix(int64(whole), int64(part*1e9)).UTC()
	if part == 0 {
		at = at.Add(time.Second - time.Millisecond) // the end of the second, so that what it says of before it is not missed
	}
	return at
}

// within returns a time that is not in the future.
func within(at, now time.Time) time.Time {
	if at.After(now) {
		return now
	}
	return at.Truncate(time.Millisecond)
}

// namesOf returns the names of a subject identifier (RFC 9493) that aliases can have: those of the user, if it is complex. Formats that are not known
// name no one.
func namesOf(raw json.RawMessage, depth int) []alias.Name {
	var id struct {
		alias.Name
		Identifiers []json.RawMessage `json:"identifiers"` // of the format aliases
		User        json.RawMessage   `json:"user"`        // of a complex subject
	}
	if depth > 1 || json.Unmarshal(raw, &id) != nil {
		return nil
	}
	var out []alias.Name
	switch {
	case id.Name.Usable():
		return []alias.Name{id.Name}
	case id.Format == "aliases":
		for _, one := range id.Identifiers[:min(len(id.Identifiers), maxNames)] {
			out = append(out, namesOf(one, depth+1)...)
		}
	case id.User != nil:
		out = namesOf(id.User, depth+1)
	}
	return out
}
