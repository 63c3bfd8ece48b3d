// Package principal finds out who sends a request: the subject of a JWT, or of a header of a proxy that proves itself. It never reads
// what the client alone claims.
package principal

import (
	"crypto/subtle"
	"errors"
	"net/netip"
	"regexp"
	"slices"

	"github.com/countersign-dev/countersign/gate/internal/request"
)

// Principal is who sends a request. Subject is the id by which the service knows the person.
type Principal struct {
	Subject, Issuer string
	Source          string         // jwt or header
	Token           map[string]any // the claims; nil for a header
}

// Key identifies a principal: subjects of different issuers are different.
func (p *Principal) Key() string { return p.Source + "\n" + p.Issuer + "\n" + p.Subject }

// Peer is the other end of the connection to the gate, which is a proxy unless the gate is inline and clients reach it.
type Peer struct {
	IP    netip.Addr
	Names []string // of its verified certificate
}

// Error is why a request has no principal. Missing distinguishes a request without credentials from one with invalid ones.
type Error struct {
	Missing bool
	Why     string // for the sender
}

// Error returns the reason.
func (e *Error) Error() string { return e.Why }

// ErrUnavailable reports that the keys of the issuer cannot be had, so that a token is neither valid nor invalid.
var ErrUnavailable = errors.New("the keys of the token's issuer are unavailable")

// subjectForm is the form of the ids of subjects at the service.
var subjectForm = regexp.MustCompile(`^[A-Za-z0-9._:@-]{1,128}$`)

func checked(subject string) error {
	if subjectForm.MatchString(subject) {
		return nil
	}
	return &Error{Why: "The subject must have 1 to 128 characters of A-Z, a-z, 0-9 and ._:@-."}
}

// Header takes the subject from a header that a proxy sets. The proxy must be in one of the networks, and prove itself by a certificate with
// one of the names, or by the shared secret.
type Header struct {
	Name         string
	From         []netip.Prefix
	Certificates []string
	Secret       []byte
}

// Of returns the principal of a request that the peer sent.
func (h *Header) Of(r *request.Request, peer Peer) (*Principal, error) {
	if !h.proven(r, peer) {
		return nil, &Error{Missing: true, Why: "The request does not come from the proxy that names the user."}
	}
	subject, given, err := r.Value(h.Name)
	switch {
	case err != nil:
		return nil, err
	case !given || subject == "":
		return nil, &Error{Missing: true, Why: "The proxy names no user."}
	}
	if err := checked(subject); err != nil {
		return nil, err
	}
	return &Principal{Subject: subject, Source: "header"}, nil
}

func (h *Header) proven(r *request.Request, peer Peer) bool {
	if !slices.ContainsFunc(h.From, func(p netip.Prefix) bool { return p.Contains(peer.IP.Unmap()) }) {
		return false
	}
	if len(h.Secret) > 0 {
		secret := r.Header.Values(request.SecretHeader)
		return len(secret) == 1 && subtle.ConstantTimeCompare([]byte(secret[0]), h.Secret) == 1
	}
	return slices.ContainsFunc(peer.Names, func(name string) bool { return slices.Contains(h.Certificates, name) })
}
