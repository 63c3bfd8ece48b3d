// Package identity says who is calling: API keys and client tokens, how they are made, looked up, rotated and revoked.
// It decides no permission beyond what a credential is; scopes are checked by the route table. It never logs or returns
// a key but at the moment of making it.
package identity

import (
	"github.com/countersign-dev/countersign/internal/store"
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
	RequestID     string
	TraceID       string
}

// ClientGrant is what a client token is bound to.
type ClientGrant struct {
	TokenID    string
	SubjectUID string
	Origin     string
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
