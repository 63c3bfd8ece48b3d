package notify

import (
	"context"
	"errors"
	"slices"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Choice is an occasion with a channel: models.ChannelEmail or the id of a chat address.
type Choice struct {
	Kind    models.NoticeKind
	Channel string
}

// Preferences are the settings of one person in one environment.
type Preferences struct {
	Address   string // empty if the person has none
	Confirmed bool   // notices are sent to the address
	Timing    Timing // of the e-mails, if there is an address
	Choices   []Choice
	Chats     []models.ChatAddress // of the environment, to choose from
}

// Preferences returns the settings of the caller, a person.
func (s *Service) Preferences(ctx context.Context, p identity.Principal) (Preferences, error) {
	var out Preferences
	row, err := mailAddress(ctx, s.Store.Q, p.TenantID, p.Person)
	switch {
	case err == nil:
		if out.Address, err = staff.OpenAddress(s.Keyring, row); err != nil {
			return out, err
		}
		out.Confirmed, out.Timing = row.ConfirmedAt != nil, timingOf(row)
	case !errors.Is(err, pg.ErrNotFound):
		return out, err
	}
	rows, err := noticeChoices(ctx, s.Store.Q, p.Store(), p.Person)
	if err != nil {
		return out, err
	}
	for _, r := range rows {
		out.Choices = append(out.Choices, Choice{r.Kind, r.Channel})
	}
	out.Chats, err = ChatAddresses(ctx, s.Store.Q, p.Store())
	return out, err
}

// Choose replaces the choices of the caller in the environment. A chat address of another environment, and e-mail without an address,
// are refused.
func (s *Service) Choose(ctx context.Context, p identity.Principal, choices []Choice) error {
	now := s.Clock.Now()
	return s.Store.Write(ctx, func(q *pg.Q) error {
		if err := check(ctx, q, p, choices); err != nil {
			return err
		}
		data := events.PersonNoticesChosenData{Person: p.Person}
		// A browser can submit a checkbox twice; the table has each choice once.
		var rows []models.NoticeChoice
		for _, c := range choices {
			row := models.NoticeChoice{EnvironmentID: p.EnvironmentID, TenantID: p.TenantID, PersonID: p.Person, Kind: c.Kind, Channel: c.Channel}
			if !slices.Contains(rows, row) {
				rows = append(rows, row)
				data.Choices = append(data.Choices, string(c.Kind)+" "+c.Channel)
			}
		}
		if err := chooseNotices(ctx, q, p.Store(), p.Person, rows); err != nil {
			return err
		}
		return events.Append(ctx, q, events.Entry{Scope: p.Store(), At: now, Actor: p.Actor(), RequestID: p.RequestID, Data: data})
	})
}

// check refuses occasions and channels that the caller cannot choose. A choice of e-mail before the address is confirmed is fine: it takes
// effect with the confirmation.
func check(ctx context.Context, q *pg.Q, p identity.Principal, choices []Choice) error {
	chats, err := ChatAddresses(ctx, q, p.Store())
	if err != nil {
		return err
	}
	for i, c := range choices {
		refuse := func(msg string) error { return problem.Invalid([]any{"body", "choice", i}, msg, "value_error") }
		if !slices.Contains(models.NoticeKinds, c.Kind) {
			return refuse("choice names no occasion: give opened, due_soon, escalated, next_step or settled, a colon and a channel")
		}
		if c.Channel != models.ChannelEmail {
			if !slices.ContainsFunc(chats, func(a models.ChatAddress) bool { return a.ID == c.Channel }) {
				return refuse("choice names a channel that the environment does not have: reload the page, and choose from its list")
			}
			continue
		}
		_, err := mailAddress(ctx, q, p.TenantID, p.Person)
		if errors.Is(err, pg.ErrNotFound) {
			return refuse("choice names email, and you have no e-mail address: save one first")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
