package api

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/webname"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// credentialHandlers handles API keys and client tokens.
type credentialHandlers struct {
	Identity *identity.Service
	Store    *pg.Store
	Proofs   *signing.Service
}

// identity describes the caller's credential. The response contains no secret.
func (h *credentialHandlers) identity(c *fiber.Ctx) error {
	p := request.Principal(c)
	return c.Status(fiber.StatusOK).JSON(wire.CredentialIdentity{
		Credential: p.CredentialID, Tenant: p.TenantID, Environment: p.EnvironmentID, EnvironmentKind: string(p.Kind),
		Scope: string(p.Scope), Permissions: p.Permissions, Mode: p.Kind.Mode(), ProofIssuer: h.Proofs.Issuer(p.EnvironmentID),
	})
}

func viewCredential(c models.Credential) wire.Credential {
	v := wire.Credential{
		ID: c.ID, Scope: string(c.Scope), Permissions: c.Permissions, Preview: c.Preview, RateLimit: c.RateLimit,
		CreatedAt: wire.Time(c.CreatedAt), IssuedBy: c.IssuedBy(), Principal: c.Principal, ExpiresAt: (*wire.Time)(c.ExpiresAt),
		LapsesAt: (*wire.Time)(c.LapsesAt), LastUsedAt: (*wire.Time)(c.LastUsedAt), RevokedAt: (*wire.Time)(c.RevokedAt),
	}
	if c.Name != "" {
		v.Name = &c.Name
	}
	return v
}

// viewIssued shows the key too, which is not stored.
func viewIssued(i identity.Issued) wire.CredentialWithKey {
	return wire.CredentialWithKey{Credential: viewCredential(i.Credential), Key: i.Key}
}

func (h *credentialHandlers) list(c *fiber.Ctx) error {
	rows, next, err := h.Identity.List(request.Context(c), request.Principal(c).Store(), page(c))
	return replyList(c, viewCredential, rows, next, err)
}

func (h *credentialHandlers) create(c *fiber.Ctx) error {
	in, err := bind[wire.CredentialCreate](c)
	if err != nil {
		return err
	}
	p := request.Principal(c)
	issued, err := h.Identity.Issue(request.Context(c), p.Store(), identity.Issue{
		Scope: models.Scope(in.Scope), Permissions: in.Permissions, Name: in.Name, RateLimit: in.RateLimit, ExpiresAt: in.ExpiresAt.Time(), Issuer: &p,
	}, p.Actor(), p.RequestID)
	return replyView(c, fiber.StatusCreated, viewIssued, issued, err)
}

func (h *credentialHandlers) rotate(c *fiber.Ctx) error {
	in, err := bind[wire.RotateRequest](c)
	if err != nil {
		return err
	}
	overlap := time.Duration(in.OverlapSeconds) * time.Second
	p := request.Principal(c)
	issued, err := h.Identity.Rotate(request.Context(c), p.Store(), identity.Rotation{ID: c.Params("credential_id"), Overlap: overlap, Issuer: &p}, p.Actor(), p.RequestID)
	return replyView(c, fiber.StatusOK, viewIssued, issued, err)
}

func (h *credentialHandlers) revoke(c *fiber.Ctx) error {
	p := request.Principal(c)
	in := identity.Revocation{ID: c.Params("credential_id"), ChildrenTo: c.Query("children_to"), Caller: &p}
	return replyNothing(c, h.Identity.Revoke(request.Context(c), p.Store(), in, p.Actor(), p.RequestID))
}

// token issues a browser credential for one subject and one origin, optionally limited to purposes and a session.
func (h *credentialHandlers) token(c *fiber.Ctx) error {
	in, err := bind[wire.ClientTokenCreate](c)
	if err != nil {
		return err
	}
	origin, err := webname.Origin(in.Origin)
	if err != nil {
		return problem.Invalid([]any{"body", "origin"}, "origin must be a scheme and a host, such as https://app.example.com.", "value_error")
	}
	p := request.Principal(c)
	row, err := subject.RequireActive(subjectrow.Get(request.Context(c), h.Store.Q, p.Store(), in.Subject))
	if err != nil {
		return err
	}
	key, t, err := h.Identity.ClientToken(request.Context(c), p, identity.TokenRequest{
		Subject: row, Origin: origin, TTL: time.Duration(in.TTLSeconds) * time.Second, Purposes: in.Purposes, Session: in.Session,
	})
	if err != nil {
		return err
	}
	purposes := in.Purposes
	if len(purposes) == 0 {
		purposes = []string{identity.PurposeScore, identity.PurposeEnroll}
	}
	return c.Status(fiber.StatusCreated).JSON(wire.ClientTokenCreated{
		ClientToken: key, ExpiresAt: float64(t.ExpiresAt.UnixMilli()) / 1000, TTLSeconds: in.TTLSeconds, Origin: t.Origin, Purposes: purposes, Session: t.SessionID,
	})
}

// signingKeyHandlers handles the keys that sign proofs.
type signingKeyHandlers struct{ Proofs *signing.Service }

func viewSigningKey(k models.SigningKey) wire.SigningKey {
	v := wire.SigningKey{
		Kid: k.KID, Alg: "ES256", Status: string(k.Status), CreatedAt: wire.Time(k.CreatedAt), ActivatedAt: (*wire.Time)(k.ActivatedAt),
	}
	if k.RetiringAt != nil {
		ends := k.RetiringAt.Add(signing.Overlap)
		v.RetiresAt = (*wire.Time)(&ends)
	}
	return v
}

func (h *signingKeyHandlers) list(c *fiber.Ctx) error {
	keys, err := h.Proofs.Keys(request.Context(c), request.Principal(c).Store())
	return replyList(c, viewSigningKey, keys, "", err)
}

// rotate activates the next key and returns it.
func (h *signingKeyHandlers) rotate(c *fiber.Ctx) error {
	p := request.Principal(c)
	keys, err := h.Proofs.RotateFor(request.Context(c), p)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.Status == models.KeyActive {
			return c.Status(fiber.StatusOK).JSON(viewSigningKey(k))
		}
	}
	return problem.New(problem.Conflict, "The environment has no active signing key.")
}
