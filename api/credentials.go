package api

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
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

// defaultTokenTTL is the contract's default life of a client token, in seconds.
const defaultTokenTTL = 900

// identity describes the caller's credential. The response contains no secret.
func (h *credentialHandlers) identity(c *fiber.Ctx) error {
	p := request.Principal(c)
	return c.Status(fiber.StatusOK).JSON(map[string]any{
		"credential": p.CredentialID, "tenant": p.TenantID, "environment": p.EnvironmentID, "environment_kind": p.Kind,
		"scope": p.Scope, "permissions": p.Permissions, "mode": p.Kind.Mode(), "proof_issuer": h.Proofs.Issuer(p.EnvironmentID),
	})
}

type credentialView struct {
	ID          string             `json:"id"`
	Scope       models.Scope       `json:"scope"`
	Permissions models.Permissions `json:"permissions"`
	Name        *string            `json:"name"`
	Preview     string             `json:"preview"`
	Key         string             `json:"key,omitempty"` // at creation and rotation only
	RateLimit   *int               `json:"rate_limit"`
	CreatedAt   string             `json:"created_at"`
	IssuedBy    string             `json:"issued_by"`
	Principal   string             `json:"principal"`
	ExpiresAt   *string            `json:"expires_at"`
	LapsesAt    *string            `json:"lapses_at"`
	LastUsedAt  *string            `json:"last_used_at"`
	RevokedAt   *string            `json:"revoked_at"`
}

func viewCredential(c models.Credential) credentialView {
	v := credentialView{
		ID: c.ID, Scope: c.Scope, Permissions: c.Permissions, Preview: c.Preview, RateLimit: c.RateLimit,
		CreatedAt: apitime.Time(c.CreatedAt), IssuedBy: c.IssuedBy(), Principal: c.Principal, ExpiresAt: apitime.OptionalTime(c.ExpiresAt),
		LapsesAt: apitime.OptionalTime(c.LapsesAt), LastUsedAt: apitime.OptionalTime(c.LastUsedAt), RevokedAt: apitime.OptionalTime(c.RevokedAt),
	}
	if c.Name != "" {
		v.Name = &c.Name
	}
	return v
}

// viewIssued shows the key too, which is not stored.
func viewIssued(i identity.Issued) credentialView {
	v := viewCredential(i.Credential)
	v.Key = i.Key
	return v
}

func (h *credentialHandlers) list(c *fiber.Ctx) error {
	rows, next, err := h.Identity.List(request.Context(c), request.Principal(c).Store(), page(c))
	return replyList(c, viewCredential, rows, next, err)
}

func (h *credentialHandlers) create(c *fiber.Ctx) error {
	in, err := bind[struct {
		Scope       models.Scope       `json:"scope"`
		Permissions models.Permissions `json:"permissions"`
		Name        string             `json:"name"`
		RateLimit   *int               `json:"rate_limit"`
		ExpiresAt   *apitime.Instant   `json:"expires_at"`
	}](c)
	if err != nil {
		return err
	}
	p := request.Principal(c)
	issued, err := h.Identity.Issue(request.Context(c), p.Store(), identity.Issue{
		Scope: in.Scope, Permissions: in.Permissions, Name: in.Name, RateLimit: in.RateLimit, ExpiresAt: in.ExpiresAt.Time(), Issuer: &p,
	}, p.Actor(), p.RequestID)
	return replyView(c, fiber.StatusCreated, viewIssued, issued, err)
}

func (h *credentialHandlers) rotate(c *fiber.Ctx) error {
	in, err := bind[struct {
		OverlapSeconds *int `json:"overlap_seconds"`
	}](c)
	if err != nil {
		return err
	}
	overlap := defaultOverlap
	if in.OverlapSeconds != nil {
		overlap = time.Duration(*in.OverlapSeconds) * time.Second
	}
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
	in, err := bind[struct {
		Subject    string `json:"subject"`
		Origin     string `json:"origin"`
		TTLSeconds *int   `json:"ttl_seconds"`

		Purposes []string `json:"purposes"`
		Session  string   `json:"session"`
	}](c)
	if err != nil {
		return err
	}
	ttl := defaultTokenTTL
	if in.TTLSeconds != nil {
		ttl = *in.TTLSeconds
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
		Subject: row, Origin: origin, TTL: time.Duration(ttl) * time.Second, Purposes: in.Purposes, Session: in.Session,
	})
	if err != nil {
		return err
	}
	purposes := in.Purposes
	if len(purposes) == 0 {
		purposes = []string{identity.PurposeScore, identity.PurposeEnroll}
	}
	return c.Status(fiber.StatusCreated).JSON(map[string]any{
		"client_token": key, "expires_at": float64(t.ExpiresAt.UnixMilli()) / 1000, "ttl_seconds": ttl, "origin": t.Origin,
		"purposes": purposes, "session": t.SessionID,
	})
}

// signingKeyHandlers handles the keys that sign proofs.
type signingKeyHandlers struct{ Proofs *signing.Service }

type signingKeyView struct {
	KID         string           `json:"kid"`
	Alg         string           `json:"alg"`
	Status      models.KeyStatus `json:"status"`
	CreatedAt   string           `json:"created_at"`
	ActivatedAt *string          `json:"activated_at"`
	RetiresAt   *string          `json:"retires_at"`
}

func viewSigningKey(k models.SigningKey) signingKeyView {
	v := signingKeyView{
		KID: k.KID, Alg: "ES256", Status: k.Status, CreatedAt: apitime.Time(k.CreatedAt), ActivatedAt: apitime.OptionalTime(k.ActivatedAt),
	}
	if k.RetiringAt != nil {
		ends := k.RetiringAt.Add(signing.Overlap)
		v.RetiresAt = apitime.OptionalTime(&ends)
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
