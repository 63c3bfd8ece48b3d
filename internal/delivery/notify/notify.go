package notify

import (
	"context"
	"log/slog"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Holds decides whose approval of a hold would count, and what the person who requests may see of it. hold.Service implements it.
type Holds interface {
	Awaited(ctx context.Context, h models.Hold, people []string, escalated bool) ([]string, error)
	Skipped(ctx context.Context, h models.Hold, people []string) ([]string, error)
	Status(ctx context.Context, environment, id string) (hold.Status, error)
}

// Deps are the dependencies of a Service. All but Mail are required.
type Deps struct {
	Store   *pg.Store
	Clock   clock.Clock
	Keyring *keyring.Keyring // seals e-mail addresses and the URLs of chats
	Holds   Holds
	People  *staff.Service // makes the links of invitations
	Sender  *webhook.Sender
	Mail    *Mailer // nil: the deployment sends no e-mail
	BaseURL string  // of the console, without a slash at the end
	Log     *slog.Logger
}

// Service stores what staff want to be notified of, and notifies them. It is safe for concurrent use.
type Service struct{ Deps }

// New returns the service.
func New(d Deps) *Service { return &Service{d} }

// CanMail reports whether the deployment sends e-mail.
func (s *Service) CanMail() bool { return s.Mail != nil }

// RequireMail refuses what the deployment needs e-mail for if it sends none.
func (s *Service) RequireMail() error {
	if s.CanMail() {
		return nil
	}
	return problem.New(problem.Conflict, "This deployment sends no e-mail. The operator of the service sets COUNTERSIGN_SMTP_ADDRESS first.")
}
