package notify_test

import (
	"mime"
	"net/mail"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/models"
)

// Mail is lost only if the recipient can never have it. What is wrong with the service or the mail server is mended, and the mail is sent then.
func TestMailIsGivenUpOnlyIfTheRecipientIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command, response string
		final             bool
	}{
		"no such mailbox":                  {"RCPT", "550 no such user", true},
		"no such mailbox, with its status": {"RCPT", "550 5.1.1 unknown", true},
		"disabled mailbox":                 {"RCPT", "550 5.2.1 disabled", true},
		"domain without mail":              {"RCPT", "556 5.1.10 null MX", true},
		"not fully qualified name":         {"RCPT", "504 5.5.2 <host>: Helo command rejected: need fully-qualified hostname", false},
		"relay denied":                     {"RCPT", "550 5.7.1 relaying denied", false},
		"relay denied in words":            {"RCPT", "550 Relay not permitted", false},
		"relay denied as a transaction":    {"RCPT", "554 5.7.1 Relay access denied", false},
		"authentication required":          {"RCPT", "530 5.7.0 authenticate first", false},
		"sender of the recipient refused":  {"RCPT", "550 5.1.8 sender's domain not found", false},
		"full mailbox":                     {"RCPT", "552 5.2.2 over quota", false},
		"greylisted":                       {"RCPT", "450 4.2.0 later", false},
		"sender refused":                   {"MAIL", "553 5.1.8 sender", false},
		"message refused":                  {"DATA", "554 5.6.0 content", false},
		"service refused":                  {"MAIL", "503 5.5.1 order", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.mail.responds(c.command, c.response)
			require.NoError(t, b.service.SetAddress(t.Context(), b.reviewer(), "ann@bank.example"))
			require.Equal(t, c.final, len(b.relay(t)) == 0)
		})
	}
}

// Mail servers refuse a bare name, and some say so only at the recipient.
func TestMailServerIsGreetedWithAFullyQualifiedName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ name, base, from, want string }{
		"its own setting":        {"mx1.bank.example", "https://countersign.example", "a@b.example", "mx1.bank.example"},
		"the service's":          {"", "https://countersign.example:8443/x", "a@b.example", "countersign.example"},
		"the sender's":           {"", "http://localhost:8080", "Countersign <a@mail.bank.example>", "mail.bank.example"},
		"the sender's, no names": {"", "", "a@bank.example", "bank.example"},
		"none":                   {"", "https://10.0.0.1", "a@localhost", "[127.0.0.1]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.service = b.with(t, notify.MailSettings{Address: b.mail.address, From: c.from, Encryption: notify.PlainText, Name: c.name, BaseURL: c.base})
			require.NoError(t, b.service.SetAddress(t.Context(), b.reviewer(), "ann@bank.example"))
			b.relay(t)
			if greeted := b.mail.greeted(); strings.Contains(greeted, ".") && greeted != c.want {
				require.Empty(t, c.name, "the machine has a fully qualified name of its own: %s", greeted)
				return
			}
			require.Equal(t, c.want, b.mail.greeted())
		})
	}
	_, err := notify.NewMailer(notify.MailSettings{Address: "127.0.0.1:25", From: "a@b.example", Encryption: notify.PlainText, Name: "mailhost"})
	require.ErrorContains(t, err, "fully qualified")
}

// The name of an action reaches a header as it is, whatever it looks like.
func TestSubjectIsWhatItSays(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"=?utf-8?q?Approve_at_once?=", "Pay =?iso-8859-1?b?RXZl?= now", "=?", "Überweisung =?utf-8?q?x?=", strings.Repeat("=?utf-8?q?x?= ", 12) + "end", "Plain",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.Exec("update actions set name = $1", name)
			ann := b.reachable(t, "ann@bank.example")
			b.choose(t, ann, notify.Choice{Kind: models.NoticeOpened, Channel: models.ChannelEmail})
			b.Hold(life, 1)
			b.relay(t)
			mails := b.mail.all()
			raw := mails[len(mails)-1]
			require.Contains(t, subjectOf(t, raw), strings.TrimSpace(name))
			parsed, err := mail.ReadMessage(strings.NewReader(raw))
			require.NoError(t, err)
			_, err = new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
			require.NoError(t, err)
		})
	}
}

// A chat makes no mention and no link of an action's name, in Slack's form or in Mattermost's.
func TestChatTextHasNoMentionsOrLinksOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"@channel pay", "@all", "[pay](https://evil.example)", "https://evil.example", "www.evil.example", "evil.example", "~town-square", "#urgent", "![x](http://evil.example)"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.Exec("update actions set name = $1", name)
			room := b.chat(t, "room", models.ChatSlack)
			ann := b.reviewer()
			b.choose(t, ann, notify.Choice{Kind: models.NoticeOpened, Channel: room.ID})
			b.Hold(life, 1)
			b.relay(t)
			posts := b.room.all()
			require.NotEmpty(t, posts)
			text := posts[0].body["text"].(string)
			require.NotContains(t, text, name)
			require.Contains(t, strings.ReplaceAll(text, "\u2060", ""), name, "a reader sees no difference")
		})
	}
}
