package try

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web"
)

const (
	// prefix is the prefix of the ids of visitors' subjects.
	prefix = "try-"
	// lifetime is how long a visitor's subject exists.
	lifetime   = 24 * time.Hour
	macPurpose = "try-visitor"
	idPurpose  = "try-subject"
	pageSize   = 200
)

// visitor is the subject that the page's cookie names, with the principal of the page's key.
type visitor struct {
	identity.Principal
	subject models.Subject
}

// visit returns the visitor of the cookie. It fails if the cookie is missing or invalid, or if the subject is erased.
func (p *Page) visit(c *fiber.Ctx) (visitor, error) {
	who, err := p.principal(c)
	if err != nil {
		return visitor{}, err
	}
	if err := p.take(c, "move", movesAnHour); err != nil {
		return visitor{}, err
	}
	id, mac, _ := strings.Cut(p.router.Cookie(c, cookie), ".")
	given, err := base64.RawURLEncoding.DecodeString(mac)
	if err != nil || !p.Keys.VerifyMAC(macPurpose, given, []byte(id)) {
		return visitor{}, problem.New(problem.Unauthenticated, "This visit has ended. Reload the page to start a new one.")
	}
	row, err := subject.RequireActive(subjectrow.Get(request.Context(c), p.Store.Q, who.Store(), id))
	if err != nil {
		return visitor{}, err
	}
	return visitor{who, row}, nil
}

// visited returns the visitor and the decoded body of the request.
func visited[T any](p *Page, c *fiber.Ctx) (visitor, T, error) {
	var body T
	v, err := p.visit(c)
	if err == nil {
		body, err = web.Bind[T](c, maxBody)
	}
	return v, body, err
}

func (p *Page) own(ctx context.Context, v visitor, id string) (identity.SubjectSession, error) {
	s, err := p.Sessions.Get(ctx, v.Store(), id)
	if err == nil && s.Subject.UID != v.subject.UID {
		err = problem.NewNotFound()
	}
	return s, err
}

// inSession returns the visitor and the id of the visitor's session in the request.
func (p *Page) inSession(c *fiber.Ctx) (visitor, string, error) {
	v, in, err := visited[struct {
		Session string `json:"session"`
	}](p, c)
	if err == nil {
		_, err = p.own(request.Context(c), v, in.Session)
	}
	return v, in.Session, err
}

// begin creates a subject for a new visitor and returns the existing one otherwise.
func (p *Page) begin(c *fiber.Ctx) error {
	if v, err := p.visit(c); err == nil {
		return p.router.JSON(c, http.StatusOK, map[string]any{"subject": v.subject.ExternalID, "enrollment": v.subject.Enrollment, "new": false})
	}
	if err := p.take(c, "begin", visitsAnHour); err != nil {
		return err
	}
	who, err := p.principal(c)
	if err != nil {
		return err
	}
	made, err := p.Subjects.Create(request.Context(c), who, p.NewID())
	if err != nil {
		return err
	}
	id := made.ExternalID
	mac := base64.RawURLEncoding.EncodeToString(p.Keys.MAC(macPurpose, []byte(id)))
	p.router.SetCookie(c, cookie, id+"."+mac, lifetime)
	return p.router.JSON(c, http.StatusCreated, map[string]any{"subject": id, "enrollment": made.Enrollment, "new": true})
}

// NewID returns the id of a new visitor's subject. It ends with a part that only the page can compute.
func (p *Page) NewID() string {
	id := prefix + strings.ToLower(rand.Text())
	return id + "-" + idMAC(p.Keys.MAC(idPurpose, []byte(id)))
}

// made reports whether the page made the id. The page's key may be used for other subjects, whose ids may have the prefix too.
func (p *Page) made(id string) bool {
	at := strings.LastIndexByte(id, '-')
	return at > 0 && slices.ContainsFunc(p.Keys.MACs(idPurpose, []byte(id[:at])), func(mac []byte) bool { return idMAC(mac) == id[at+1:] })
}

func idMAC(mac []byte) string { return hex.EncodeToString(mac[:10]) }

// forget erases the visitor's subject and all of its data.
func (p *Page) forget(c *fiber.Ctx) error {
	v, err := p.visit(c)
	if err != nil {
		return err
	}
	receipt, err := p.Subjects.Erase(request.Context(c), v.Principal, v.subject.ExternalID)
	if err != nil {
		return err
	}
	p.router.DropCookie(c, cookie)
	return p.router.JSON(c, http.StatusOK, map[string]string{"erasure": receipt.Erasure, "status": receipt.Status})
}

// token issues a client token for one session, one purpose and the page's own origin.
func (p *Page) token(c *fiber.Ctx) error {
	v, in, err := visited[struct {
		Session string `json:"session"`
		Purpose string `json:"purpose"`
	}](p, c)
	if err != nil {
		return err
	}
	if in.Session == "" || in.Purpose != identity.PurposeScore && in.Purpose != identity.PurposeEnroll {
		return problem.New(problem.BadRequest, "session and purpose (score or enroll) are required.")
	}
	origin := c.Get(fiber.HeaderOrigin)
	if origin == "" {
		return problem.New(problem.BadRequest, "The Origin header is required.")
	}
	key, t, err := p.Identity.ClientToken(request.Context(c), v.Principal, identity.TokenRequest{
		Subject: v.subject, Origin: origin, TTL: tokenLife, Session: in.Session, Purposes: []string{in.Purpose},
	})
	if err != nil {
		return err
	}
	return p.router.JSON(c, http.StatusCreated, map[string]any{"client_token": key, "expires_at": float64(t.ExpiresAt.UnixMilli()) / 1000})
}

// Sweep erases visitors' subjects that are older than a day.
func (p *Page) Sweep(ctx context.Context) error {
	who, err := p.Identity.Authenticate(ctx, p.Key)
	if err != nil {
		return err
	}
	who.Page = "try"
	before := p.Clock.Now().Add(-lifetime)
	var failed error
	for page := (pg.Page{Limit: pageSize}); ; {
		list, next, err := p.Subjects.List(ctx, who.Store(), subject.Filter{}, page)
		if err != nil {
			return err
		}
		for _, s := range list {
			if s.CreatedAt.Before(before) && p.made(s.ExternalID) {
				_, err := p.Subjects.Erase(ctx, who, s.ExternalID)
				failed = errors.Join(failed, err)
			}
		}
		if next == "" {
			return failed
		}
		page.After = next
	}
}
