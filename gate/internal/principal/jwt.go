package principal

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jws"

	"github.com/countersign-dev/countersign/gate/internal/request"
	"github.com/countersign-dev/countersign/sdk/go/exact"
)

// JWT takes the subject from a signed token (RFC 9068, RFC 8725): one issuer, audience, type, and a list of algorithms, all fixed by the
// configuration and none by the token.
type JWT struct {
	Issuer, Audience, Type string
	Algorithms             []jwa.SignatureAlgorithm
	Claim                  string // that names the subject
	Cookie                 string // that carries the token; empty: the header Authorization
	Keys                   *Keys
	Now                    func() time.Time
}

const (
	maxToken = 16 << 10 // bytes
	leeway   = 30 * time.Second
)

var (
	compactForm = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)
	bearerForm  = regexp.MustCompile(`^[Bb][Ee][Aa][Rr][Ee][Rr] +([^ ]+)$`)
	encoding    = base64.RawURLEncoding.Strict()
)

var errInvalid = &Error{Why: "The token is invalid."}

// Of returns the principal of a request. An error is an *Error, a *request.Refusal, or ErrUnavailable.
func (j *JWT) Of(ctx context.Context, r *request.Request) (*Principal, error) {
	compact, err := j.token(r)
	if err != nil {
		return nil, err
	}
	return j.Verify(ctx, compact)
}

func (j *JWT) token(r *request.Request) (string, error) {
	if j.Cookie != "" {
		var found []string
		for _, line := range r.Header.Values("Cookie") {
			for pair := range strings.SplitSeq(line, ";") {
				if name, value, _ := strings.Cut(strings.TrimSpace(pair), "="); name == j.Cookie {
					found = append(found, value)
				}
			}
		}
		switch len(found) {
		case 0:
			return "", &Error{Missing: true, Why: "The request has no token."}
		case 1:
			return found[0], nil
		}
		return "", &Error{Why: "The cookie of the token must be there once."}
	}
	value, given, err := r.Value("Authorization")
	if err != nil {
		return "", err
	}
	if !given {
		return "", &Error{Missing: true, Why: "The request has no token."}
	}
	m := bearerForm.FindStringSubmatch(value)
	if m == nil {
		return "", &Error{Missing: true, Why: "The request has no bearer token."}
	}
	return m[1], nil
}

// Verify returns the principal of a token.
func (j *JWT) Verify(ctx context.Context, compact string) (*Principal, error) {
	if len(compact) > maxToken || !compactForm.MatchString(compact) {
		return nil, errInvalid
	}
	parts := strings.Split(compact, ".")
	alg, kid, err := j.header(parts[0])
	if err != nil {
		return nil, err
	}
	key, err := j.Keys.Key(ctx, kid, alg)
	if errors.Is(err, ErrUnavailable) {
		return nil, err
	}
	if err != nil {
		return nil, errInvalid
	}
	payload, err := jws.Verify([]byte(compact), jws.WithKey(alg, key))
	if err != nil {
		return nil, errInvalid
	}
	return j.claims(payload)
}

// header returns the algorithm and the key id of a token whose header is acceptable.
func (j *JWT) header(part string) (jwa.SignatureAlgorithm, string, error) {
	raw, err := encoding.DecodeString(part)
	if err != nil || exact.Check(raw) != nil {
		return "", "", errInvalid
	}
	var members map[string]any
	if err := json.Unmarshal(raw, &members); err != nil {
		return "", "", errInvalid
	}
	alg, _ := members["alg"].(string)
	kid, _ := members["kid"].(string)
	typ, _ := members["typ"].(string)
	for _, name := range []string{"crit", "b64", "jwk", "jku", "x5u"} {
		if _, has := members[name]; has {
			return "", "", errInvalid
		}
	}
	typ = strings.TrimPrefix(strings.ToLower(typ), "application/")
	if typ != strings.ToLower(j.Type) || kid == "" || !slices.Contains(j.Algorithms, jwa.SignatureAlgorithm(alg)) {
		return "", "", errInvalid
	}
	return jwa.SignatureAlgorithm(alg), kid, nil
}

// claims checks the claims of a token whose signature verifies.
func (j *JWT) claims(payload []byte) (*Principal, error) {
	var claims map[string]any
	if exact.Check(payload) != nil || json.Unmarshal(payload, &claims) != nil {
		return nil, errInvalid
	}
	now := time.Now
	if j.Now != nil {
		now = j.Now
	}
	at := float64(now().UnixMilli()) / 1000
	expires, has := claims["exp"].(float64)
	before, _ := claims["nbf"].(float64)
	issued, _ := claims["iat"].(float64)
	switch slack := leeway.Seconds(); {
	case claims["iss"] != j.Issuer || !named(claims["aud"], j.Audience):
		return nil, errInvalid
	case !has || at >= expires+slack:
		return nil, &Error{Why: "The token has expired."}
	case before > at+slack || issued > at+slack:
		return nil, &Error{Why: "The token is not valid yet."}
	}
	subject, _ := claims[j.Claim].(string)
	if err := checked(subject); err != nil {
		return nil, err
	}
	return &Principal{Subject: subject, Issuer: j.Issuer, Source: "jwt", Token: claims}, nil
}

// named reports whether an audience, a text or a list, names one.
func named(aud any, want string) bool {
	if list, ok := aud.([]any); ok {
		return slices.Contains(list, any(want))
	}
	return aud == want
}
