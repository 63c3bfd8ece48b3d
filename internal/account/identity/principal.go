// Package identity says who is calling: API keys and client tokens, how they are made, looked up, rotated and revoked.
// It decides no permission beyond what a credential is; scopes are checked by the route table. It never logs or returns
// a key but at the moment of making it.
package identity

import (
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Principal is the caller of one request.
type Principal struct {
	CredentialID  string
	TenantID      string
	EnvironmentID string
	Kind          models.EnvironmentKind
	Scope         models.Scope
	Publishable   bool         // a pk key: may read meta and credential only
	Client        *ClientGrant // set for a client token
	Person        string       // set for a signed-in person of the console
	Page          string       // set for a visitor of a hosted page, who holds a ticket or a grant and no credential
	RateLimit     int          // requests an hour
	ExpiresAt     *time.Time   // of the credential or of the key, whichever is first; nil is never
	RequestID     string
	TraceID       string
	keyMAC        string // of the API key, as stored; empty for everybody without one
}

// KeyID tells the caller's key from every other, the old one of a rotation from the new one; empty for a caller without a key.
func (p Principal) KeyID() string { return p.keyMAC }

// Purposes of a frame of evidence.
const (
	PurposeScore  = "score"
	PurposeEnroll = "enroll"
)

// ClientGrant is what a client token is bound to.
type ClientGrant struct {
	TokenID    string
	SubjectUID string
	Origin     string
	Purposes   []string // of frames; none are both
	SessionID  string   // empty is any session of the subject
	CreatedAt  time.Time
}

// Names reports whether the token was made for the purpose by name.
func (g ClientGrant) Names(purpose string) bool { return slices.Contains(g.Purposes, purpose) }

// Permits reports whether the token may send frames of the purpose.
func (g ClientGrant) Permits(purpose string) bool { return len(g.Purposes) == 0 || g.Names(purpose) }

// Reaches reports whether the token may send frames of the subject's session.
func (g ClientGrant) Reaches(subjectUID, session string) bool {
	return g.SubjectUID == subjectUID && (g.SessionID == "" || g.SessionID == session)
}

// Store is the scope of every query made for the caller.
func (p Principal) Store() store.Scope {
	return store.Scope{Tenant: p.TenantID, Environment: p.EnvironmentID}
}

// Actor names the caller in events and the audit log.
func (p Principal) Actor() string {
	switch {
	case p.Person != "":
		return "person:" + p.Person
	case p.Page != "":
		return "page:" + p.Page
	case p.Client != nil:
		return "client_token:" + p.Client.TokenID
	default:
		return "credential:" + p.CredentialID
	}
}
