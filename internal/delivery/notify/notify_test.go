package notify_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/models"
)

// One hold is announced once on each occasion to each person and room, however often the work is repeated.
func TestHoldIsAnnouncedOnceToEachRecipient(t *testing.T) {
	t.Parallel()
	b := setup(t)
	desk := b.chat(t, "desk", models.ChatSlack)
	ann, bob := b.reachable(t, "ann@example.com"), b.reviewer()
	codes := len(b.mail.all())
	b.choose(t, ann, notify.Choice{Kind: models.NoticeOpened, Channel: "email"}, notify.Choice{Kind: models.NoticeOpened, Channel: desk.ID},
		notify.Choice{Kind: models.NoticeDueSoon, Channel: "email"})
	b.choose(t, bob, notify.Choice{Kind: models.NoticeOpened, Channel: desk.ID})

	h := b.Hold(life, 1)
	require.Empty(t, b.relay(t))
	b.Exec(`insert into outbox (topic, environment_id, ref, payload, created_at, available_at) values ('notice', $1, $2, '{"kind":"opened"}', $3, $3)`,
		b.Scope.Environment, h.AuthorizationID, now)
	require.Empty(t, b.relay(t), "the same cause once more")
	mails, posts := b.mail.all()[codes:], b.room.all()
	require.Len(t, mails, 1)
	require.Len(t, posts, 1, "two people chose the same room")
	link := "https://countersign.example/console/" + b.Scope.Environment + "/reviews/" + h.AuthorizationID
	number := h.AuthorizationID[len(h.AuthorizationID)-8:]
	require.Contains(t, subjectOf(t, mails[0]), "A hold waits for review: Send a transfer (sandbox), due 4 March, 09:00 UTC, "+number)
	require.Contains(t, mails[0], "In-Reply-To: <"+h.AuthorizationID+"@countersign.example>")
	require.Contains(t, mails[0], "References: <"+h.ActionID+"@countersign.example>")
	require.Contains(t, mails[0], link)
	require.Contains(t, mails[0], "Wednesday, 4 March 2026, 09:00 UTC")
	require.Contains(t, mails[0], "Auto-Submitted: auto-generated")
	require.Regexp(t, `Message-ID: <ntc_[0-9a-z]{26}@countersign.example>`, mails[0])
	require.Contains(t, posts[0].body["text"], link)
	require.Contains(t, posts[0].body["text"], "Send a transfer")
	require.Regexp(t, "^ntc_", posts[0].id)
	require.False(t, posts[0].signed)
	raw, err := json.Marshal(posts)
	require.NoError(t, err)
	for _, private := range []string{"user-4711", h.SubjectUID, "Ann Example"} {
		require.NotContains(t, mails[0]+string(raw), private)
	}

	_, err = b.holds.Remind(t.Context(), hold.Move{Environment: h.EnvironmentID, ID: h.AuthorizationID, At: now.Add(life / 2), WorkflowID: "hold/" + h.AuthorizationID})
	require.NoError(t, err)
	require.Empty(t, b.relay(t))
	require.Len(t, b.mail.all()[codes:], 2)
	require.Contains(t, subjectOf(t, b.mail.all()[codes+1]), "A hold is due soon")
	require.Contains(t, b.mail.all()[codes+1], "In-Reply-To: <"+h.AuthorizationID+"@countersign.example>", "the thread of the hold")
	require.Len(t, b.room.all(), 1)
	require.Equal(t, 3, b.states(models.NoticeSent))
}

// An escalation is announced to the second team alone.
func TestEscalationIsAnnouncedToTheSecondTeam(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann, lea := b.reachable(t, "ann@example.com"), b.reachable(t, "lea@example.com")
	for key, person := range map[string]string{"finance": ann.Person, "leads": lea.Person} {
		b.Exec("insert into teams (id, tenant_id, environment_id, key, name, created_at, created_by) values ($1, $2, $3, $1, $1, $4, 'cli:test')",
			key, b.Scope.Tenant, b.Scope.Environment, now)
		b.Exec("insert into team_members values ($1, $2, $3, $4, $5, 'cli:test')", key, b.Scope.Tenant, b.Scope.Environment, "person:"+person, now)
	}
	b.choose(t, ann, notify.Choice{Kind: models.NoticeEscalated, Channel: "email"})
	b.choose(t, lea, notify.Choice{Kind: models.NoticeEscalated, Channel: "email"}, notify.Choice{Kind: models.NoticeOpened, Channel: "email"})
	codes := len(b.mail.all())
	h := b.Hold(life, 1)
	b.Exec(`insert into hold_teams (authorization_id, tenant_id, environment_id, team, approvals, escalate_team, escalate_at)
		values ($1, $2, $3, 'finance', 1, 'leads', $4)`, h.AuthorizationID, b.Scope.Tenant, b.Scope.Environment, now.Add(time.Hour))
	require.Empty(t, b.relay(t))
	require.Len(t, b.mail.all(), codes, "the hold does not concern the second team yet")
	b.clock.Set(now.Add(time.Hour))
	_, err := b.holds.Escalate(t.Context(), hold.Move{Environment: h.EnvironmentID, ID: h.AuthorizationID, At: now.Add(time.Hour), WorkflowID: "hold/" + h.AuthorizationID})
	require.NoError(t, err)
	require.Empty(t, b.relay(t))
	require.Len(t, b.mail.all(), codes+1)
	require.Contains(t, b.mail.all()[codes], "lea@example.com")
	require.Contains(t, subjectOf(t, b.mail.all()[codes]), "escalated to your team")
}

// A notice is not sent if its reason is gone when its turn comes.
func TestNoticeWithoutReasonIsDiscarded(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *bundle, person string){
		"settled":           func(b *bundle, _ string) { b.Exec("update holds set status = 'rejected'") },
		"due":               func(b *bundle, _ string) { b.clock.Set(now.Add(life)) },
		"no longer staff":   func(b *bundle, person string) { b.Exec("update people set revoked_at = $2 where id = $1", person, now) },
		"no longer reviews": func(b *bundle, _ string) { b.Exec("delete from person_roles") },
		"chosen otherwise":  func(b *bundle, _ string) { b.Exec("delete from notice_choices") },
		"no address":        func(b *bundle, _ string) { b.Exec("delete from person_addresses") },
		"room removed":      func(b *bundle, _ string) { b.Exec("update chat_addresses set removed_at = now(), url = null") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			desk := b.chat(t, "desk", models.ChatTeams)
			ann := b.reachable(t, "ann@example.com")
			channel := "email"
			if name == "room removed" {
				channel = desk.ID
			}
			b.choose(t, ann, notify.Choice{Kind: models.NoticeOpened, Channel: channel})
			codes := len(b.mail.all())
			h := b.Hold(life, 1)
			require.NoError(t, b.service.FanOut(t.Context(), models.Outbox{EnvironmentID: b.Scope.Environment, Ref: h.AuthorizationID, Payload: models.JSON(`{"kind":"opened"}`)}))
			require.Equal(t, 1, b.states(models.NoticePending))
			change(b, ann.Person)
			require.Empty(t, b.relay(t))
			require.Equal(t, 1, b.states(models.NoticeDiscarded))
			require.Len(t, b.mail.all(), codes)
			require.Empty(t, b.room.all())
		})
	}
}

// A chat that fails is tried again with the same id, later if it says so; one that refuses the message is not.
func TestChatThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		header http.Header
		final  bool
		wait   time.Duration
	}{
		"error":       {status: 500},
		"overloaded":  {status: 429, header: http.Header{"Retry-After": {"90"}}, wait: 90 * time.Second},
		"gone":        {status: 410, final: true},
		"revoked":     {status: 403, final: true},
		"redirecting": {status: 302, header: http.Header{"Location": {"/elsewhere"}}, final: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			desk := b.chat(t, "desk", models.ChatSlack)
			b.choose(t, b.reviewer(), notify.Choice{Kind: models.NoticeOpened, Channel: desk.ID})
			b.Hold(life, 1)
			b.room.responds(c.status, c.header)
			failed := b.relay(t)
			chats, err := b.service.Chats(t.Context(), b.Principal("crd_operator"))
			require.NoError(t, err)
			require.NotNil(t, chats[0].FailingSince)
			if c.final {
				require.Empty(t, failed)
				require.Equal(t, 1, b.states(models.NoticeFailed))
				return
			}
			require.Len(t, failed, 1)
			var later outbox.Later
			require.ErrorAs(t, failed[0], &later)
			require.Equal(t, c.wait, later.Wait)
			b.room.responds(200, nil)
			require.Empty(t, b.relay(t))
			require.Equal(t, 1, b.states(models.NoticeSent))
			posts := b.room.all()
			require.Len(t, posts, 2)
			require.Equal(t, posts[0].id, posts[1].id, "a receiver can recognise the repetition")
			require.Equal(t, posts[0].body, posts[1].body)
			chats, err = b.service.Chats(t.Context(), b.Principal("crd_operator"))
			require.NoError(t, err)
			require.Nil(t, chats[0].FailingSince)
		})
	}
}

// A notice ends after an hour of attempts.
func TestNoticeIsGivenUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	desk := b.chat(t, "desk", models.ChatSlack)
	b.choose(t, b.reviewer(), notify.Choice{Kind: models.NoticeOpened, Channel: desk.ID})
	b.Hold(life, 1)
	b.room.responds(500, nil)
	require.Len(t, b.relay(t), 1)
	b.Exec("update notices set attempts = 59")
	require.Empty(t, b.relay(t))
	require.Equal(t, 1, b.states(models.NoticeFailed))
}

// The shapes that Slack and Teams accept. A name cannot mention anyone or make a link.
func TestChatMessagesHaveTheShapeOfTheirChat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec("update actions set name = '<!channel> [pay](https://evil.example) *now*'")
	slack, teams := b.chat(t, "slack", models.ChatSlack), b.chat(t, "teams", models.ChatTeams)
	b.choose(t, b.reviewer(), notify.Choice{Kind: models.NoticeOpened, Channel: slack.ID}, notify.Choice{Kind: models.NoticeOpened, Channel: teams.ID})
	h := b.Hold(life, 1)
	require.Empty(t, b.relay(t))
	link := "https://countersign.example/console/" + b.Scope.Environment + "/reviews/" + h.AuthorizationID
	bodies := map[string]map[string]any{}
	for _, p := range b.room.all() {
		bodies[p.path] = p.body
	}
	require.Equal(t, map[string]any{"text": "*A hold waits for review: &lt;!\u2060channel&gt; [\u2060pay]\u2060(https:/\u2060/evil.\u2060example) ∗now∗ (sandbox), due 4 March, 09:00 UTC, " + h.AuthorizationID[len(h.AuthorizationID)-8:] + "*\n" +
		"A request is held until reviewers approve or reject it.\nDue: Wednesday, 4 March 2026, 09:00 UTC\n<" + link + "|Open it in the console>"},
		bodies["/secret-slack"])
	card := bodies["/secret-teams"]["attachments"].([]any)[0].(map[string]any)
	require.Equal(t, "message", bodies["/secret-teams"]["type"])
	require.Equal(t, "application/vnd.microsoft.card.adaptive", card["contentType"])
	content := card["content"].(map[string]any)
	require.Equal(t, "AdaptiveCard", content["type"])
	first := content["body"].([]any)[0].(map[string]any)
	require.Equal(t, "RichTextBlock", first["type"], "Teams renders Markdown in a TextBlock")
	require.Contains(t, first["inlines"].([]any)[0].(map[string]any)["text"], "<!channel> [pay](https://evil.example) *now*")
	require.Equal(t, link, content["actions"].([]any)[0].(map[string]any)["url"])
}

// Without a mail server notices by e-mail fail at once, and those to chats are sent.
func TestDeploymentWithoutMail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	desk := b.chat(t, "desk", models.ChatSlack)
	ann := b.reachable(t, "ann@example.com")
	b.choose(t, ann, notify.Choice{Kind: models.NoticeOpened, Channel: "email"}, notify.Choice{Kind: models.NoticeOpened, Channel: desk.ID})
	b.service.Mail = nil
	b.Hold(life, 1)
	require.Empty(t, b.relay(t))
	require.Equal(t, 1, b.states(models.NoticeFailed))
	require.Equal(t, 1, b.states(models.NoticeSent))
	require.Error(t, b.service.SetAddress(t.Context(), ann, "new@example.com"))
}

// What a failed attempt records says nothing of the address.
func TestMailFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command, response, failure string
		final                      bool
	}{
		"mailbox busy":    {"RCPT", "451 ann@example.com is busy", "smtp_451", false},
		"mailbox unknown": {"RCPT", "550 ann@example.com is unknown", "smtp_550", true},
		"sender refused":  {"MAIL", "550 relaying denied", "smtp_550", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.choose(t, b.reachable(t, "ann@example.com"), notify.Choice{Kind: models.NoticeOpened, Channel: "email"})
			b.mail.responds(c.command, c.response)
			b.Hold(life, 1)
			failed := b.relay(t)
			require.Equal(t, 1, b.Count("select count(*) from notices where failure = $1", c.failure))
			if c.final {
				require.Empty(t, failed)
				require.Equal(t, 1, b.states(models.NoticeFailed))
				return
			}
			require.Len(t, failed, 1)
			require.False(t, strings.Contains(errors.Join(failed...).Error(), "ann"))
			b.mail.responds(c.command, "")
			require.Empty(t, b.relay(t))
			require.Equal(t, 1, b.states(models.NoticeSent))
		})
	}
}

// The person who requests is notified of each step and of the result, with the link of the status page, and no one else is.
func TestRequesterIsNotifiedOfStepsAndResult(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann, bob := b.reachable(t, "ann@example.com"), b.reachable(t, "bob@example.com")
	for _, p := range []identity.Principal{ann, bob} {
		b.choose(t, p, notify.Choice{Kind: models.NoticeNextStep, Channel: "email"}, notify.Choice{Kind: models.NoticeSettled, Channel: "email"})
	}
	require.NoError(t, b.service.SetTiming(t.Context(), ann, notify.Timing{Zone: "UTC"}))
	before := len(b.mail.all())
	h := b.Hold(life, 3)
	b.Exec("update holds set requester_person = $2, teams_required = 3, ends_at = due_at where authorization_id = $1", h.AuthorizationID, ann.Person)
	for i, name := range []string{"team", "lead", "board"} {
		var opened, due *time.Time
		if until := now.Add(life); i == 0 {
			opened, due = &now, &until
		}
		b.Exec(`insert into hold_steps (authorization_id, tenant_id, environment_id, step, name, approvals, opened_at, due_at, within_seconds) values ($1, $2, $3, $4, $5, 1, $6, $7, 0)`,
			h.AuthorizationID, b.Scope.Tenant, b.Scope.Environment, i, name, opened, due)
	}
	status := "https://countersign.example/status/" + b.Scope.Environment + "/" + h.AuthorizationID + "/"
	for i, by := range []string{"crd_first", "crd_second", "crd_third"} {
		b.AddCredential(by, "cli:test")
		b.clock.Advance(time.Minute)
		p, err := b.holds.PrepareReview(t.Context(), b.Principal(by), h.AuthorizationID, hold.Vote{Resolution: hold.Approve})
		require.NoError(t, err)
		digest, err := hex.DecodeString(p.Request)
		require.NoError(t, err)
		_, err = b.holds.Review(t.Context(), hold.Move{ID: h.AuthorizationID, Environment: b.Scope.Environment, Request: digest, At: b.clock.Now(), WorkflowID: "hold/" + h.AuthorizationID})
		require.NoError(t, err)
		require.Empty(t, b.relay(t))
		mails := b.mail.all()[before:]
		require.Len(t, mails, i+1)
		require.Contains(t, mails[i], "ann@example.com")
		require.Contains(t, strings.ReplaceAll(mails[i], "=\r\n", ""), status)
		require.NotContains(t, mails[i], "/reviews/")
		want := "A request moved to its next step: Send a transfer (sandbox)"
		if i == 2 {
			want = "A request was approved: Send a transfer (sandbox), "
		}
		require.Contains(t, subjectOf(t, mails[i]), want)
	}
}

// A rejection is declined, and a request that no one decides expires, in quiet hours as well only once they are over.
func TestRequesterIsNotifiedOfTheEnd(t *testing.T) {
	t.Parallel()
	for want, settle := range map[string]func(t *testing.T, b *bundle, h models.Hold){
		"A request was declined: ": func(t *testing.T, b *bundle, h models.Hold) {
			b.AddCredential("crd_ann", "cli:test")
			p, err := b.holds.PrepareReview(t.Context(), b.Principal("crd_ann"), h.AuthorizationID, hold.Vote{Resolution: hold.Reject})
			require.NoError(t, err)
			digest, err := hex.DecodeString(p.Request)
			require.NoError(t, err)
			_, err = b.holds.Review(t.Context(), hold.Move{ID: h.AuthorizationID, Environment: b.Scope.Environment, Request: digest, At: b.clock.Now(), WorkflowID: "hold/1"})
			require.NoError(t, err)
		},
		"A request expired: ": func(t *testing.T, b *bundle, h models.Hold) {
			b.clock.Advance(life)
			_, err := b.holds.Expire(t.Context(), hold.Move{ID: h.AuthorizationID, Environment: b.Scope.Environment, At: b.clock.Now(), WorkflowID: "hold/1"})
			require.NoError(t, err)
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			desk := b.chat(t, "desk", models.ChatSlack)
			ann := b.reachable(t, "ann@example.com")
			b.choose(t, ann, notify.Choice{Kind: models.NoticeSettled, Channel: "email"}, notify.Choice{Kind: models.NoticeSettled, Channel: desk.ID})
			require.NoError(t, b.service.SetTiming(t.Context(), ann, notify.Timing{QuietFrom: "08:00", QuietUntil: "10:00", Zone: "UTC"}))
			h := b.Hold(life, 1)
			b.Exec("update holds set requester_person = $2 where authorization_id = $1", h.AuthorizationID, ann.Person)
			settle(t, b, h)
			before := len(b.mail.all())
			require.Empty(t, b.relay(t))
			require.Contains(t, b.room.all()[0].body["text"], want)
			require.Contains(t, b.room.all()[0].body["text"], "|See how it stands>")
			require.Contains(t, subjectOf(t, b.mail.all()[before]), want)
			require.Equal(t, 1, b.Count("select count(*) from notices where recipient = $1 and due_at = date_trunc('day', created_at) + interval '10 hours'", ann.Person),
				"quiet hours end first")
		})
	}
}

// One message carries what is news of one's own requests and what waits for one's review.
func TestOwnRequestsAndReviewsShareOneMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reviews int
		head    string
		queue   bool
	}{
		"both":     {2, "News of 2 holds: Send a transfer (sandbox)", true},
		"requests": {0, "News of 2 requests: Send a transfer (sandbox)", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			room := b.chat(t, "desk", models.ChatTeams)
			ann := b.reachable(t, "ann@example.com")
			b.choose(t, ann, notify.Choice{Kind: models.NoticeSettled, Channel: room.ID}, notify.Choice{Kind: models.NoticeOpened, Channel: room.ID})
			for i := range 3 { // the first is sent at once, and the others wait for each other
				h, kind := b.Hold(life, 1), "opened"
				if i >= c.reviews {
					kind = "settled"
					b.Exec("update holds set requester_person = $2, status = 'expired' where authorization_id = $1", h.AuthorizationID, ann.Person)
				}
				require.NoError(t, b.service.FanOut(t.Context(), models.Outbox{EnvironmentID: b.Scope.Environment, Ref: h.AuthorizationID, Payload: models.JSON(`{"kind":"` + kind + `"}`)}))
			}
			rows := b.pendingRows(t, outbox.TopicNoticeChat)
			b.Exec("update notices set status = 'sent' where id = $1", rows[0].Ref)
			require.NoError(t, b.service.Chat(t.Context(), rows[1]))
			raw, err := json.Marshal(b.room.all()[0].body)
			require.NoError(t, err)
			require.Contains(t, string(raw), c.head)
			require.Contains(t, string(raw), "Send a transfer (your request: expired)")
			require.Contains(t, string(raw), "/status/")
			require.Equal(t, c.queue, strings.Contains(string(raw), "Open it in the console"))
		})
	}
}
