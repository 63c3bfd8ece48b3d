package notify

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/localtime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	// chatGatherMinutes is how long a chat gathers notices after a message: as long as e-mail does by default.
	chatGatherMinutes = 15
	// maxGatherMinutes is a day.
	maxGatherMinutes = 24 * 60
	// waits is how long a hold must have left when its notice would be sent; otherwise the notice is sent at once.
	waits = time.Hour
)

// Timing says when the notices of one recipient are sent: the first at once, those of the minutes after it together, and none in quiet hours.
type Timing struct {
	GatherMinutes int
	QuietFrom     string // HH:MM in Zone; empty if QuietUntil is
	QuietUntil    string
	Zone          string // of the IANA database
}

// timingOf returns the timing that a person chose.
func timingOf(a models.PersonAddress) Timing {
	return Timing{GatherMinutes: a.GatherMinutes, QuietFrom: a.QuietFrom, QuietUntil: a.QuietUntil, Zone: a.Zone}
}

// SetTiming stores when the caller is sent e-mail about holds. Messages that wait already are sent when they were due.
func (s *Service) SetTiming(ctx context.Context, p identity.Principal, t Timing) error {
	if err := t.check(); err != nil {
		return err
	}
	return s.Store.Write(ctx, func(q *pg.Q) error {
		set, err := setTiming(ctx, q, p.TenantID, p.Person, t.canonical())
		if err != nil {
			return err
		}
		if !set {
			return problem.New(problem.Conflict, "You have no e-mail address. Add one first.")
		}
		return appendAddress(ctx, q, p, "timed", s.Clock.Now())
	})
}

func (t Timing) check() error {
	refuse := func(field, msg string) error { return problem.Invalid([]any{"body", field}, msg, "value_error") }
	if t.GatherMinutes < 0 || t.GatherMinutes > maxGatherMinutes {
		return refuse("gather_minutes", "gather_minutes must be 0 to 1440")
	}
	if _, err := localtime.Zone(t.Zone); err != nil {
		return refuse("zone", "zone must be a name of the IANA time zone database, such as Europe/Berlin")
	}
	if t.QuietFrom == "" && t.QuietUntil == "" {
		return nil
	}
	for field, text := range map[string]string{"quiet_from": t.QuietFrom, "quiet_until": t.QuietUntil} {
		if _, err := localtime.ParseClock(text); err != nil {
			return refuse(field, field+" must be a time of day such as 22:00; leave both empty for no quiet hours")
		}
	}
	if quiet, _ := t.quiet(); quiet.From == quiet.Until {
		return refuse("quiet_until", "quiet_until must differ from quiet_from; leave both empty for no quiet hours")
	}
	return nil
}

// zone returns the zone of the recipient; UTC if it is unknown.
func (t Timing) zone() *time.Location {
	zone, err := localtime.Zone(t.Zone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// sendAt returns when a notice made now is sent, if the last message to its recipient was or will be due at last.
func (t Timing) sendAt(now, last time.Time, h models.Hold) time.Time {
	at := t.gathered(now, last)
	if h.DueAt.Before(at.Add(waits)) {
		return now
	}
	return at
}

// gathered is sendAt of a notice about a hold that does not wait.
func (t Timing) gathered(now, last time.Time) time.Time {
	gather := time.Duration(t.GatherMinutes) * time.Minute
	at := last
	switch {
	case last.Add(gather).Before(now):
		at = now
	case !last.After(now):
		at = last.Add(gather)
	case last.After(now.Add(gather)):
		at = now.Add(gather)
	}
	return t.afterQuiet(at)
}

// quiet returns the quiet hours; false if there are none.
func (t Timing) quiet() (localtime.Span, bool) {
	from, errFrom := localtime.ParseClock(t.QuietFrom)
	until, errUntil := localtime.ParseClock(t.QuietUntil)
	return localtime.Span{From: from, Until: until}, errors.Join(errFrom, errUntil) == nil && from != until
}

// canonical writes the times of day in their one form.
func (t Timing) canonical() Timing {
	if quiet, some := t.quiet(); some {
		t.QuietFrom, t.QuietUntil = quiet.From.String(), quiet.Until.String()
	}
	return t
}

// afterQuiet returns the end of the quiet hours that a time is in, or the time.
func (t Timing) afterQuiet(at time.Time) time.Time {
	quiet, some := t.quiet()
	if !some {
		return at
	}
	return quiet.End(at, t.zone())
}

// timing returns when the recipient of a notice is sent messages.
func timing(ctx context.Context, q *pg.Q, n models.Notice) (Timing, error) {
	if ids.Has(ids.ChatAddress, n.Recipient) {
		return Timing{GatherMinutes: chatGatherMinutes}, nil
	}
	a, err := mailAddress(ctx, q, n.TenantID, n.Recipient)
	if errors.Is(err, pg.ErrNotFound) {
		return Timing{}, nil
	}
	return timingOf(a), err
}
