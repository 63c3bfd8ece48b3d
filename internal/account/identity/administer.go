package identity

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Issue is the specification of a new credential.
type Issue struct {
	Scope       models.Scope
	Permissions models.Permissions // nil is all
	Name        string             // for display; no control characters
	RateLimit   *int               // requests an hour, at most the environment's ceiling; nil is the default
	ExpiresAt   *time.Time         // nil is never
	Issuer      *Principal         // who must have at least as much; nil is the operator, who has everything
}

// Issued is a new or rotated credential with its key. The key is returned this once and cannot be read again.
type Issued struct {
	models.Credential
	Key string
}

// Issue creates a credential in the environment of the scope and records credential.created with the actor and the request
// id. It returns a validation problem for permissions that do not exist or never apply, an expiry in the past, an unprintable
// name or a quota above the ceiling, and insufficient_scope if the credential could do more than its issuer.
func (s *Service) Issue(ctx context.Context, scope pg.Scope, in Issue, actor, requestID string) (Issued, error) {
	now := s.clock.Now()
	if in.ExpiresAt != nil && !in.ExpiresAt.After(now) {
		return Issued{}, problem.Invalid([]any{"body", "expires_at"}, "expires_at must be in the future.", "value_error")
	}
	if err := displaytext.Check("name", in.Name); err != nil {
		return Issued{}, err
	}
	permissions, err := checkPermissions(in)
	if err != nil {
		return Issued{}, err
	}
	var out Issued
	err = s.store.Write(ctx, func(q *pg.Q) error {
		env, err := tenancy.GetEnvironment(ctx, q, scope)
		if err != nil {
			return err
		}
		if err := checkCeiling(in.RateLimit, env, actor); err != nil {
			return err
		}
		key := newKey(secretPrefix(in.Scope, env.Kind))
		out = Issued{Key: key, Credential: models.Credential{
			ID: ids.New(ids.Credential), TenantID: scope.Tenant, EnvironmentID: scope.Environment, Scope: in.Scope, Permissions: permissions,
			Name: in.Name, Preview: preview(key), RateLimit: in.RateLimit, CreatedAt: now, CreatedBy: actor, ExpiresAt: in.ExpiresAt,
		}}
		from, err := sourceOf(ctx, q, scope, in, out.ID, now)
		if err != nil {
			return err
		}
		if err := from.give(&out.Credential); err != nil {
			return err
		}
		if env.KeyExpiryRequired && out.ExpiresAt == nil && !byOperator(actor) {
			return problem.Invalid([]any{"body", "expires_at"}, "expires_at is required: keys of this environment must expire (key_expiry_required).", "missing")
		}
		if err := createCredential(ctx, q, out.Credential, s.credentialKey(out.ID, key, now)); err != nil {
			return err
		}
		return events.Append(ctx, q, entry(scope, credentialData(out.Credential), now, actor, requestID))
	})
	return out, err
}

// credentialKey returns the row that is stored of a key: its MAC, never the key.
func (s *Service) credentialKey(id, key string, now time.Time) models.CredentialKey {
	return models.CredentialKey{MAC: s.keys.MAC(macPurpose, []byte(key)), CredentialID: id, CreatedAt: now}
}

func entry(scope pg.Scope, data events.Data, now time.Time, actor, requestID string) events.Entry {
	return events.Entry{Scope: scope, At: now, Actor: actor, RequestID: requestID, Data: data}
}

func credentialData(c models.Credential) events.CredentialCreatedData {
	return events.CredentialCreatedData{Credential: c.ID, Scope: string(c.Scope), Permissions: c.Permissions.Strings()}
}

// Owned reports of each of the credentials, by id, whether its principal is that of the actor.
func (s *Service) Owned(ctx context.Context, scope pg.Scope, actor string, credentials []models.Credential) (map[string]bool, error) {
	return owned(ctx, s.store.Q, scope, actor, credentials)
}

func owned(ctx context.Context, q *pg.Q, scope pg.Scope, actor string, credentials []models.Credential) (map[string]bool, error) {
	own, err := PrincipalBehind(ctx, q, scope, actor)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, c := range credentials {
		// A credential that was given to this principal may still be the former one's, and so owns nothing.
		out[c.ID] = own.Former == "" && c.Principal == own.Principal
	}
	return out, nil
}

// List returns a page of the environment's credentials, newest first, and the cursor of the next page. Revoked ones are
// included.
func (s *Service) List(ctx context.Context, scope pg.Scope, p pg.Page) ([]models.Credential, string, error) {
	return listCredentials(ctx, s.store.Q, scope, p)
}

// Rotation names the credential that gets a new key.
type Rotation struct {
	ID      string
	Overlap time.Duration // how long the old key stays valid
	Issuer  *Principal    // who must have as much as the credential and be its principal, because it receives the key; nil is the operator
}

// permitted returns the problem insufficient_scope if the issuer may not receive a key of the credential. With the key of a
// different principal it would be that principal to everything that asks who approves, and so approve what it requested itself.
// A publishable key approves nothing and is no secret.
func (in Rotation) permitted(ctx context.Context, q *pg.Q, scope pg.Scope, c models.Credential) error {
	if in.Issuer == nil {
		return nil
	}
	if err := in.Issuer.mayIssue(c.Scope, c.Permissions); err != nil || c.Scope == models.ScopeClient {
		return err
	}
	own, err := owned(ctx, q, scope, in.Issuer.Actor(), []models.Credential{c})
	if err == nil && !own[c.ID] && in.Issuer.Actor() != "credential:"+c.ID {
		err = problem.New(problem.InsufficientScope, "This key belongs to a different principal, for which it can approve. Its owner rotates it, "+
			"or the operator with countersign credential rotate; or revoke it and create a new key.")
	}
	return err
}

// Rotate gives a credential a new key; its scope and permissions stay. A second rotation within the overlap returns the problem
// rotation_in_progress: a credential has at most two valid keys. Only the credential's own principal and the operator may rotate
// it; everyone else gets insufficient_scope.
func (s *Service) Rotate(ctx context.Context, scope pg.Scope, in Rotation, actor, requestID string) (Issued, error) {
	now := s.clock.Now()
	var out Issued
	err := s.store.Write(ctx, func(q *pg.Q) error {
		// The lock comes before every check: of two rotations at once, the second sees the key of the first.
		locked, err := lockCredential(ctx, q, scope, in.ID)
		if err != nil {
			return err
		}
		c, err := locked.Whole(in.ID)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		if err := in.permitted(ctx, q, scope, c); err != nil {
			return err
		}
		if c.RevokedAt != nil {
			return problem.New(problem.CredentialRevoked, "A revoked credential cannot be rotated. Create a new credential.")
		}
		env, err := tenancy.GetEnvironment(ctx, q, scope)
		if err != nil {
			return err
		}
		key := newKey(secretPrefix(c.Scope, env.Kind))
		c.Preview = preview(key)
		rotated, err := rotateKey(ctx, q, s.credentialKey(c.ID, key, now), c.Preview, now.Add(in.Overlap))
		if err != nil {
			return err
		}
		if !rotated {
			return problem.New(problem.RotationInProgress, "The previous key is still valid. Rotate again when its overlap has ended.")
		}
		out = Issued{Credential: c, Key: key}
		return events.Append(ctx, q, entry(scope, events.CredentialRotatedData(credentialData(c)), now, actor, requestID))
	})
	if err == nil {
		s.Forget(in.ID)
	}
	return out, err
}

// TokenRequest is the specification of a new client token.
type TokenRequest struct {
	Subject  models.Subject
	Origin   string
	TTL      time.Duration
	Purposes []string // of the frames that the token may send; an empty list permits both
	Session  string   // the only session that the token may send frames to; empty permits any of the subject
}

// ClientToken issues a token with which one browser origin may submit evidence for one subject. It returns the token, which
// cannot be read again, and its row. A token that names the purpose enroll also requests the subject's next enrollment. A caller
// without the permission enroll can issue tokens of the purpose score only.
func (s *Service) ClientToken(ctx context.Context, p Principal, in TokenRequest) (string, models.ClientToken, error) {
	if err := checkPurposes(p, in.Purposes); err != nil {
		return "", models.ClientToken{}, err
	}
	key := newKey("ct_" + p.Kind.Mode() + "_")
	now := s.clock.Now()
	t := models.ClientToken{
		MAC: s.keys.MAC(macPurpose, []byte(key)), ID: ids.New(ids.ClientToken), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID,
		CredentialID: p.CredentialID, SubjectUID: in.Subject.UID, Origin: in.Origin, Purposes: in.Purposes, CreatedAt: now,
		ExpiresAt: now.Add(in.TTL),
	}
	if in.Session != "" {
		t.SessionID = &in.Session
	}
	data := events.ClientTokenCreatedData{ClientToken: t.ID, Origin: in.Origin, Purposes: in.Purposes, Session: in.Session}
	err := s.store.Write(ctx, func(q *pg.Q) error {
		if err := s.checkTokenRequest(ctx, q, p.Store(), in); err != nil {
			return err
		}
		if slices.Contains(in.Purposes, PurposeEnroll) {
			if err := subjectrow.RequestEnrollment(ctx, q, p.Store(), in.Subject.UID, now); err != nil {
				return err
			}
		}
		if err := createClientToken(ctx, q, t); err != nil {
			return err
		}
		return events.Append(ctx, q, events.Entry{
			Scope: p.Store(), At: now, SubjectUID: in.Subject.UID, Subject: in.Subject.ExternalID,
			Actor: p.Actor(), RequestID: p.RequestID, Data: data,
		})
	})
	return key, t, err
}

// checkTokenRequest checks that the subject is active and that the session is the subject's. It locks the subject's row: a
// concurrent revocation or recovery either runs first and is seen here, or waits and then revokes the new token too.
func (s *Service) checkTokenRequest(ctx context.Context, q *pg.Q, scope pg.Scope, in TokenRequest) error {
	subject, err := subjectrow.KeepByUID(ctx, q, scope, in.Subject.UID)
	if err == nil && subject.Status != models.SubjectActive {
		return problem.New(problem.SubjectRevoked, "The subject is revoked.")
	}
	if err == nil && in.Session != "" {
		var session SubjectSession
		if session, err = GetSession(ctx, q, scope, in.Session); err == nil && session.Subject.UID != subject.UID {
			return problem.NotFoundBy("session")
		}
	}
	if errors.Is(err, pg.ErrNotFound) {
		return problem.NewNotFound()
	}
	return err
}
