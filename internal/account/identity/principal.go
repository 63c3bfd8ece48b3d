// Package identity authenticates callers by API key or client token, and issues, rotates and revokes both.
//
// It never issues a credential that may do more than its issuer. Everything else that a scope or a permission allows is for the
// route table of package api to check. It never logs a key, and it returns one only from the call that creates it; the
// database has keyed hashes (MACs) of keys.
package identity

import (
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Principal is the authenticated caller of one request. It is a value: handlers pass it on, and nothing changes it.
type Principal struct {
	CredentialID  string
	TenantID      string
	EnvironmentID string
	Kind          models.EnvironmentKind // sandbox or live
	Scope         models.Scope
	Permissions   models.Permissions // narrow the scope; a client token has those of its issuer
	Publishable   bool               // a pk_ key, which may read /meta and /credential only
	Client        *ClientGrant       // set for a client token
	Person        string             // id of the signed-in member of staff, for requests of the console
	Page          string             // id of the ticket or grant, for visitors of a hosted page, who have no credential
	Passkey       string             // with which a visitor of a hosted page was identified as the subject
	RateLimit     int                // requests an hour
	SharedLimit   int                // requests an hour of all server keys of the environment, or of everything that browsers have
	Servers       int                // keys that share it, if it is that of the servers
	ExpiresAt     *time.Time         // of the credential or of its key, whichever is earlier; nil is never
	RequestID     string
	TraceID       string
	keyMAC        string // MAC of the API key as stored; empty for callers without a key
}

// KeyID identifies the caller's key, not only its credential: during a rotation the old and the new key have different ids.
// It is empty for a caller without a key.
func (p Principal) KeyID() string { return p.keyMAC }

// Purposes of an evidence frame, as the contract names them. A score frame is compared with the subject's templates; an
// enroll frame is stored for training them.
const (
	PurposeScore  = "score"
	PurposeEnroll = "enroll"
)

// ClientGrant is the subject, the origin and the purposes that a client token is restricted to.
type ClientGrant struct {
	TokenID    string
	SubjectUID string
	Origin     string   // the only origin that browsers may send the token from
	Purposes   []string // of evidence frames; an empty list permits both
	SessionID  string   // empty permits any session of the subject
	CreatedAt  time.Time
}

// Names reports whether the token lists the purpose explicitly. Unlike Permits, an empty list names nothing: environments
// that require an enrollment grant accept enroll frames only from tokens that name the purpose.
func (g ClientGrant) Names(purpose string) bool { return slices.Contains(g.Purposes, purpose) }

// Permits reports whether the token may send frames of the purpose.
func (g ClientGrant) Permits(purpose string) bool { return len(g.Purposes) == 0 || g.Names(purpose) }

// Reaches reports whether the token may send frames of the subject's session.
func (g ClientGrant) Reaches(subjectUID, session string) bool {
	return g.SubjectUID == subjectUID && (g.SessionID == "" || g.SessionID == session)
}

// Store returns the scope of every query made for the caller: its tenant and environment.
func (p Principal) Store() pg.Scope {
	return pg.Scope{Tenant: p.TenantID, Environment: p.EnvironmentID}
}

// Require returns the problem insufficient_scope, which names the permission, unless the caller has it.
func (p Principal) Require(x models.Permission) error {
	if p.Permissions.Has(x) {
		return nil
	}
	return problem.Newf(problem.InsufficientScope, "This operation requires the permission %s.", x)
}

// MayReceiveProof reports whether the caller may receive the live proof of a decision that a credential requested: the holder of a
// proof may use it, so that reading decisions alone does not give any.
func (p Principal) MayReceiveProof(requester string) bool {
	if p.Person != "" {
		return false // pages show no proof
	}
	return p.CredentialID == requester || p.Permissions.Has(models.PermissionProofsRead)
}

// Issuer returns the person as the issuer of keys: of any scope, with the permissions that only programs have and those of the
// person's own roles.
func (p Principal) Issuer(roles []models.Role) Principal {
	p.Scope, p.Permissions = models.ScopeAdmin, models.Issuable(roles)
	return p
}

// mayIssue returns a problem if a credential of the scope with the permissions could do more than the caller itself.
func (p Principal) mayIssue(scope models.Scope, permissions models.Permissions) error {
	if scope == models.ScopeClient {
		return nil
	}
	if p.Scope != models.ScopeAdmin && p.Scope != scope {
		return problem.New(problem.InsufficientScope, "A key cannot issue or rotate a key of a wider scope. Use an admin key.")
	}
	if p.Person != "" && !p.Permissions.Covers(permissions) {
		return problem.Invalid([]any{"body", "permissions"}, "Your roles do not allow you to give all of these permissions. Choose some of "+
			strings.Join(p.Permissions.Strings(), ", ")+", or use an admin key.", "value_error")
	}
	for _, x := range permissions {
		if err := p.Require(x); err != nil {
			return err
		}
	}
	if !p.Permissions.Covers(permissions) {
		return problem.New(problem.InsufficientScope,
			"A key with permissions cannot issue or rotate a key without. List permissions of the calling key only, or use a key that has all.")
	}
	return nil
}

// Actor returns the caller's name in events and the audit log, such as "credential:crd_...". The forms are part of the
// audit log's hash chain and must not change.
func (p Principal) Actor() string {
	switch {
	case p.Person != "":
		return "person:" + p.Person
	case p.Passkey != "":
		return "passkey:" + p.Passkey
	case p.Page != "":
		return "page:" + p.Page
	case p.Client != nil:
		return "client_token:" + p.Client.TokenID
	default:
		return "credential:" + p.CredentialID
	}
}
