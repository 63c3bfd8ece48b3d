package notify

import (
	"context"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// MaxChatAddresses is the maximum number of chat addresses of one environment.
const MaxChatAddresses = 20

const chatPurpose = "chat-address" // of the keyring

// ChatDraft is a new chat address.
type ChatDraft struct {
	Name  string           `json:"name"` // shown to those who choose
	Shape models.ChatShape `json:"shape"`
	URL   string           `json:"url"` // gives the right to write to the room; it cannot be read again
}

// Chats lists the chat addresses of the caller's environment by name.
func (s *Service) Chats(ctx context.Context, p identity.Principal) ([]models.ChatAddress, error) {
	return ChatAddresses(ctx, s.Store.Q, p.Store())
}

// AddChat adds a chat address to the environment. Its URL is under the same rules as that of a webhook endpoint.
func (s *Service) AddChat(ctx context.Context, p identity.Principal, d ChatDraft) (models.ChatAddress, error) {
	d.Name, d.URL = strings.TrimSpace(d.Name), strings.TrimSpace(d.URL)
	if err := s.checkChat(d); err != nil {
		return models.ChatAddress{}, err
	}
	target, err := url.Parse(d.URL)
	if err != nil {
		return models.ChatAddress{}, err
	}
	now := s.Clock.Now()
	row := models.ChatAddress{
		ID: ids.New(ids.ChatAddress), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID, Name: d.Name, Shape: d.Shape, Host: target.Host,
		CreatedAt: now, CreatedBy: p.Actor(),
	}
	if row.URL, err = s.Keyring.Seal(chatPurpose, []byte(d.URL), []byte(row.ID)); err != nil {
		return row, err
	}
	// The lock on the environment makes the limit hold for concurrent additions.
	return row, s.Store.Write(ctx, func(q *pg.Q) error {
		existing, err := lockChatAddresses(ctx, q, p.Store())
		if err != nil {
			return err
		}
		if len(existing) >= MaxChatAddresses {
			return problem.Newf(problem.Conflict, "The environment has %d chat addresses, which is the maximum. Remove one first.", MaxChatAddresses)
		}
		added, err := addChatAddress(ctx, q, row)
		if err != nil {
			return err
		}
		if !added {
			return problem.Invalid([]any{"body", "name"}, "name is that of another chat address: choose a different one", "value_error")
		}
		data := events.ChatAddressCreatedData{ChatAddress: row.ID, Shape: string(row.Shape), Host: row.Host}
		return events.Append(ctx, q, events.Entry{Scope: p.Store(), At: now, Actor: p.Actor(), RequestID: p.RequestID, Data: data})
	})
}

// checkChat validates the fields of a new chat address. The URL is checked again at each connection, after its host was resolved.
func (s *Service) checkChat(d ChatDraft) error {
	if n := utf8.RuneCountInString(d.Name); n < 1 || n > 80 {
		return problem.Invalid([]any{"body", "name"}, "name must have 1 to 80 characters", "value_error")
	}
	if err := displaytext.Check("name", d.Name); err != nil {
		return err
	}
	if d.Shape != models.ChatSlack && d.Shape != models.ChatTeams {
		return problem.Invalid([]any{"body", "shape"}, "shape must be slack or teams", "value_error")
	}
	if fault := s.Sender.CheckURL(d.URL); fault != "" {
		return problem.Invalid([]any{"body", "url"}, fault, "url_not_allowed")
	}
	return nil
}

// RemoveChat removes a chat address with its URL and everyone's choices of it. Notices that wait for it are discarded.
func (s *Service) RemoveChat(ctx context.Context, p identity.Principal, id string) error {
	now := s.Clock.Now()
	return s.Store.Write(ctx, func(q *pg.Q) error {
		row, err := chatAddress(ctx, q, p.Store(), id)
		if err != nil {
			return err
		}
		removed, err := removeChatAddress(ctx, q, p.Store(), id, now)
		if err != nil {
			return err
		}
		if !removed {
			return pg.ErrNotFound
		}
		data := events.ChatAddressDeletedData{ChatAddress: row.ID, Shape: string(row.Shape), Host: row.Host}
		return events.Append(ctx, q, events.Entry{Scope: p.Store(), At: now, Actor: p.Actor(), RequestID: p.RequestID, Data: data})
	})
}

// TestChat posts a test to a chat address and returns the result of the attempt.
func (s *Service) TestChat(ctx context.Context, p identity.Principal, id string) (webhook.AttemptResult, error) {
	row, err := chatAddress(ctx, s.Store.Q, p.Store(), id)
	if err != nil {
		return webhook.AttemptResult{}, err
	}
	m := message{Head: "Test of the chat address " + row.Name, Text: "Notices about holds will be posted here.", Link: s.settingsURL(p.EnvironmentID), Opens: inConsole}
	return s.post(ctx, row, ids.New(ids.Notice), m)
}

// post makes one attempt to post a message, and records whether the address works.
func (s *Service) post(ctx context.Context, to models.ChatAddress, id string, m message) (webhook.AttemptResult, error) {
	target, err := s.Keyring.Open(chatPurpose, to.URL, []byte(to.ID))
	if err != nil {
		return webhook.AttemptResult{}, err
	}
	body, err := m.chat(to.Shape)
	if err != nil {
		return webhook.AttemptResult{}, err
	}
	// Not signed: chats verify no signature, and the URL is the secret. The id lets a receiver recognise a repetition.
	result := s.Sender.Send(ctx, webhook.Message{URL: string(target), ID: id, At: s.Clock.Now(), Body: body})
	scope := pg.Scope{Tenant: to.TenantID, Environment: to.EnvironmentID}
	return result, markChatAddress(context.WithoutCancel(ctx), s.Store.Q, scope, to.ID, result.Error, s.Clock.Now())
}
