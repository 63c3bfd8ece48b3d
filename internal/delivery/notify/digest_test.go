package notify_test

import (
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// pendingRows returns the outbox rows of a topic.
func (b *bundle) pendingRows(t *testing.T, topic string) []models.Outbox {
	t.Helper()
	rows, err := b.Store.Pool().Query(t.Context(), "select id, ref from outbox where topic = $1 and environment_id = $2 order by id", topic, b.Scope.Environment)
	require.NoError(t, err)
	var out []models.Outbox
	for rows.Next() {
		o := models.Outbox{Topic: topic, EnvironmentID: b.Scope.Environment}
		require.NoError(t, rows.Scan(&o.ID, &o.Ref))
		out = append(out, o)
	}
	require.NoError(t, rows.Err())
	return out
}

// announce makes the notice of a hold, and sends nothing.
func (b *bundle) announce(t *testing.T, h models.Hold) {
	t.Helper()
	row := models.Outbox{EnvironmentID: b.Scope.Environment, Ref: h.AuthorizationID, Payload: models.JSON(`{"kind":"opened"}`)}
	require.NoError(t, b.service.FanOut(t.Context(), row))
}

// The first of many holds is mailed and posted at once; those that follow wait for 15 minutes, and one message carries all that wait, even if
// all come due at the same time.
func TestFurtherHoldsShareOneMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	desk := b.chat(t, "desk", models.ChatSlack)
	ann := b.reachable(t, "ann@example.com")
	b.choose(t, ann, notify.Choice{Kind: models.NoticeOpened, Channel: "email"}, notify.Choice{Kind: models.NoticeOpened, Channel: desk.ID})
	before := len(b.mail.all())
	var held []models.Hold
	for range 20 {
		h := b.Hold(life, 1)
		b.announce(t, h)
		held = append(held, h)
	}
	require.Equal(t, 2, b.Count("select count(*) from notices where due_at = $1", now), "one by mail, one by chat")
	require.Equal(t, 38, b.Count("select count(*) from notices where due_at = $1", now.Add(15*time.Minute)))
	require.Equal(t, 40, b.Count("select count(*) from notices n join outbox o on o.ref = n.id and o.available_at = n.due_at"))
	queues, err := consolequery.ReadQueues(t.Context(), b.Store, b.Scope, now)
	require.NoError(t, err)
	for _, of := range queues.Outbox {
		require.False(t, strings.HasPrefix(of.Topic, "notice.") && of.Waiting > 1, "a message that is meant for later is not late: %+v", of)
	}

	b.Exec("update holds set status = 'rejected' where authorization_id = $1", held[7].AuthorizationID)
	var sending sync.WaitGroup
	for _, topic := range []string{outbox.TopicNoticeEmail, outbox.TopicNoticeChat} {
		handle := map[string]outbox.Handler{outbox.TopicNoticeEmail: b.service.Email, outbox.TopicNoticeChat: b.service.Chat}[topic]
		for _, row := range b.pendingRows(t, topic)[10:] {
			sending.Go(func() { require.NoError(t, handle(t.Context(), row)) })
		}
	}
	sending.Wait()
	require.Empty(t, b.relay(t), "the other rows find nothing to do")
	mails, posts := b.mail.all()[before:], b.room.all()
	require.Len(t, mails, 1)
	require.Len(t, posts, 1)
	require.Equal(t, 38, b.states(models.NoticeSent))
	require.Equal(t, 2, b.states(models.NoticeDiscarded))
	require.Equal(t, "19 holds wait for review: Send a transfer (sandbox), first due 4 March, 09:00 UTC", subjectOf(t, mails[0]))
	require.Contains(t, mails[0], "References: <"+b.Action.ID+"@countersign.example>\r\n", "a thread of the action")
	for i, h := range held {
		link := "https://countersign.example/console/" + b.Scope.Environment + "/reviews/" + h.AuthorizationID
		require.Equal(t, i != 7, strings.Contains(mails[0], link))
		require.Equal(t, i != 7, strings.Contains(posts[0].body["text"].(string), "• <"+link+"|Send a transfer>, due Wednesday"))
	}
}

// A message that is repeated carries the same holds with the same Message-ID; those that come meanwhile have one of their own.
func TestRepeatedMessageCarriesTheSameHolds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.choose(t, b.reachable(t, "ann@example.com"), notify.Choice{Kind: models.NoticeOpened, Channel: "email"})
	before := len(b.mail.all())
	first, second := b.Hold(life, 1), b.Hold(life, 1)
	b.mail.responds("DATA", "451 try again")
	require.Len(t, b.relay(t), 1)
	third := b.Hold(life, 1)
	require.Len(t, b.relay(t), 2)
	b.mail.responds("DATA", "")
	require.Empty(t, b.relay(t))
	mails := b.mail.all()[before:]
	require.Len(t, mails, 2)
	for i, holds := range [][]models.Hold{{first, second}, {third}} {
		for _, h := range []models.Hold{first, second, third} {
			carried := false
			for _, one := range holds {
				carried = carried || one.AuthorizationID == h.AuthorizationID
			}
			require.Equal(t, carried, strings.Contains(mails[i], "/reviews/"+h.AuthorizationID))
		}
	}
	require.Equal(t, 3, b.states(models.NoticeSent))
}

// A message lists fifty holds and counts the others.
func TestLongDigestListsFifty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.choose(t, b.reachable(t, "ann@example.com"), notify.Choice{Kind: models.NoticeOpened, Channel: "email"})
	b.Action = b.AddAction("payments.refund")
	for range 52 {
		b.Hold(life, 1)
	}
	require.Empty(t, b.relay(t))
	last := b.mail.all()[len(b.mail.all())-1]
	require.Contains(t, last, "2 more are in the queue.")
	require.Equal(t, 50, strings.Count(last, "/reviews/"))
	require.Contains(t, subjectOf(t, last), "52 holds wait for review: Send a transfer")
	require.Equal(t, 52, b.states(models.NoticeSent))
}

// Quiet hours are in the person's zone. A hold that ends before its message would be of use is announced at once.
func TestNoticeWaitsForItsTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann := b.reachable(t, "ann@example.com")
	b.choose(t, ann, notify.Choice{Kind: models.NoticeOpened, Channel: "email"})
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC) }
	night := notify.Timing{GatherMinutes: 0, QuietFrom: "22:00", QuietUntil: "07:00", Zone: "Europe/Berlin"}
	lunch := notify.Timing{GatherMinutes: 15, QuietFrom: "12:00", QuietUntil: "13:00", Zone: "America/New_York"}
	for _, c := range []struct {
		name     string
		timing   notify.Timing
		now, due time.Time
		life     time.Duration
	}{
		{"by day", night, at(2, 9, 0), at(2, 9, 0), life},
		{"in the evening", night, at(3, 21, 0), at(4, 6, 0), life},
		{"after midnight", night, at(5, 2, 0), at(5, 6, 0), life},
		{"when they end", night, at(6, 6, 0), at(6, 6, 0), life},
		{"urgent", night, at(7, 2, 0), at(7, 2, 0), 4 * time.Hour},
		{"in summer time", night, at(29, 21, 30), at(30, 5, 0), life},
		{"until a time that clocks skip", notify.Timing{QuietFrom: "22:00", QuietUntil: "2:30", Zone: "Europe/Berlin"}, at(29, 0, 30), at(29, 1, 0), life},
		{"at noon", lunch, at(31, 16, 30), at(31, 17, 0), life},
		{"one of several", notify.Timing{GatherMinutes: 60, Zone: "UTC"}, at(31, 17, 20), at(31, 18, 0), life},
		{"until a midnight that is skipped", notify.Timing{QuietFrom: "22:00", QuietUntil: "00:00", Zone: "America/Santiago"},
			time.Date(2026, 9, 6, 2, 30, 0, 0, time.UTC), time.Date(2026, 9, 6, 4, 0, 0, 0, time.UTC), life},
		{"until a time that is repeated", notify.Timing{QuietFrom: "22:00", QuietUntil: "00:30", Zone: "America/Havana"},
			time.Date(2026, 11, 1, 5, 10, 0, 0, time.UTC), time.Date(2026, 11, 1, 5, 30, 0, 0, time.UTC), life},
		{"switched off", notify.Timing{Zone: "UTC"}, at(31, 17, 30), at(31, 17, 30), life},
	} {
		b.clock.Set(c.now)
		b.Now = c.now
		require.NoError(t, b.service.SetTiming(t.Context(), ann, c.timing), c.name)
		h := b.Hold(c.life, 1)
		b.announce(t, h)
		require.Equal(t, 1, b.Count("select count(*) from notices where authorization_id = $1 and due_at = $2", h.AuthorizationID, c.due), c.name)
	}
	require.NoError(t, b.service.SetTiming(t.Context(), ann, lunch))
	before := len(b.mail.all())
	require.Empty(t, b.relay(t))
	m, err := mail.ReadMessage(strings.NewReader(b.mail.all()[before]))
	require.NoError(t, err)
	require.Contains(t, m.Header.Get("Subject"), "EDT", "due times are in the zone of the person")
}

func TestTimingIsChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.reviewer()
	fine := notify.Timing{GatherMinutes: 5, Zone: "Europe/Berlin"}
	require.True(t, problem.Is(b.service.SetTiming(t.Context(), p, fine), problem.Conflict), "without an address")
	p = b.reachable(t, "ann@example.com")
	require.NoError(t, b.service.SetTiming(t.Context(), p, fine))
	for name, change := range map[string]func(*notify.Timing){
		"less than nothing": func(c *notify.Timing) { c.GatherMinutes = -1 },
		"more than a day":   func(c *notify.Timing) { c.GatherMinutes = 1441 },
		"the server's zone": func(c *notify.Timing) { c.Zone = "Local" },
		"no zone":           func(c *notify.Timing) { c.Zone = "" },
		"a file":            func(c *notify.Timing) { c.Zone = "../../etc/passwd" },
		"no end":            func(c *notify.Timing) { c.QuietFrom = "22:00" },
		"no time":           func(c *notify.Timing) { c.QuietFrom, c.QuietUntil = "25:00", "07:00" },
		"a day long":        func(c *notify.Timing) { c.QuietFrom, c.QuietUntil = "07:00", "07:00" },
	} {
		t.Run(name, func(t *testing.T) {
			wrong := fine
			change(&wrong)
			require.True(t, problem.Is(b.service.SetTiming(t.Context(), p, wrong), problem.Unprocessable))
		})
	}
	seen, err := b.service.Preferences(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, fine, seen.Timing)
	require.Equal(t, 1, b.Count("select count(*) from events where type = 'person.address_changed' and data->>'state' = 'timed'"))
	b.clock.Advance(time.Minute)
	require.NoError(t, b.service.SetAddress(t.Context(), p, "new@example.com"))
	seen, err = b.service.Preferences(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, fine, seen.Timing, "a new address keeps the times")
}
