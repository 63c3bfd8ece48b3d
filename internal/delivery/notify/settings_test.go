package notify_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

func TestAddressIsConfirmedByItsCode(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.reviewer()
	for _, wrong := range []string{"ann", "Ann <ann@example.com>", "ann@example.com, bob@example.com", "ann@example.com\r\nBcc: bob@example.com",
		"änn@example.com", strings.Repeat("a", 250) + "@example.com"} {
		err := b.service.SetAddress(t.Context(), p, wrong)
		require.True(t, problem.Is(err, problem.BadRequest), "%q: %v", wrong, err)
	}
	require.NoError(t, b.service.SetAddress(t.Context(), p, "ann@example.com"))
	require.True(t, problem.Is(b.service.SetAddress(t.Context(), p, "bob@example.com"), problem.Conflict), "one mail a minute")
	require.True(t, problem.Is(b.service.Confirm(t.Context(), p, "000000"), problem.Conflict), "no code was mailed yet")
	b.relay(t)
	seen, err := b.service.Preferences(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, "ann@example.com", seen.Address)
	require.False(t, seen.Confirmed)
	require.Zero(t, b.Count("select count(*) from person_addresses where position('example.com' in encode(address, 'escape')) > 0"), "the address is sealed")

	code := b.mail.code(t)
	wrong := "000000"
	if code == wrong {
		wrong = "000001"
	}
	for range 4 {
		require.True(t, problem.Is(b.service.Confirm(t.Context(), p, wrong), problem.Unprocessable))
	}
	require.True(t, problem.Is(b.service.Confirm(t.Context(), b.reviewer(), code), problem.Conflict), "the code of a different person")
	require.NoError(t, b.service.Confirm(t.Context(), p, " "+code+" "))
	require.True(t, problem.Is(b.service.Confirm(t.Context(), p, code), problem.Conflict), "a code is used once")

	b.clock.Set(now.Add(time.Minute))
	require.NoError(t, b.service.SetAddress(t.Context(), p, "new@example.com"))
	b.relay(t)
	seen, err = b.service.Preferences(t.Context(), p)
	require.NoError(t, err)
	require.False(t, seen.Confirmed, "a new address is confirmed again")
	for range 5 {
		require.True(t, problem.Is(b.service.Confirm(t.Context(), p, wrong+"x"), problem.Unprocessable))
	}
	require.True(t, problem.Is(b.service.Confirm(t.Context(), p, b.mail.code(t)), problem.Conflict), "five attempts are the maximum")
	b.clock.Set(now.Add(2 * time.Minute))
	require.NoError(t, b.service.SetAddress(t.Context(), p, "new@example.com"))
	b.relay(t)
	b.clock.Set(now.Add(2*time.Minute + notify.CodeLife))
	require.True(t, problem.Is(b.service.Confirm(t.Context(), p, b.mail.code(t)), problem.Conflict), "a code expires")
	require.NoError(t, b.service.SetAddress(t.Context(), p, ""))
	require.Zero(t, b.Count("select count(*) from person_addresses"))
	require.Equal(t, 1, b.Count("select count(*) from events where type = 'person.address_changed' and data->>'state' = 'removed'"))
	require.Equal(t, 1, b.Count("select count(*) from events where type = 'person.address_changed' and data->>'state' = 'confirmed'"))
	require.Zero(t, b.Count("select count(*) from events where data::text like '%example.com%'"))
}

// Removing an address does not reset the limit of the mails to addresses that are not the person's.
func TestRemovalDoesNotCauseMoreMail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.reviewer()
	require.NoError(t, b.service.SetAddress(t.Context(), p, ""), "there is none")
	require.NoError(t, b.service.SetAddress(t.Context(), p, "ann@example.com"))
	require.True(t, problem.Is(b.service.SetAddress(t.Context(), p, ""), problem.Conflict), "a code was just mailed")
	require.True(t, problem.Is(b.service.SetAddress(t.Context(), p, "bob@example.com"), problem.Conflict), "one mail a minute")
	b.clock.Set(now.Add(time.Minute))
	require.NoError(t, b.service.SetAddress(t.Context(), p, ""))
	require.Zero(t, b.Count("select count(*) from person_addresses"))
	require.NoError(t, b.service.SetAddress(t.Context(), b.reachable(t, "cid@example.com"), ""), "a confirmed address can be removed at once")
	require.Zero(t, b.Count("select count(*) from person_addresses"))
}

func TestChoicesAreCheckedAndBelongToTheEnvironment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	desk := b.chat(t, "desk", models.ChatSlack)
	p := b.reviewer()
	for name, c := range map[string]notify.Choice{
		"an unknown occasion":    {Kind: "approved", Channel: desk.ID},
		"e-mail without address": {Kind: models.NoticeOpened, Channel: "email"},
		"an unknown room":        {Kind: models.NoticeOpened, Channel: "cha_01jqx3k5v8e2sbyk0c4m7t9wzd"},
	} {
		t.Run(name, func(t *testing.T) {
			require.True(t, problem.Is(b.service.Choose(t.Context(), p, []notify.Choice{c}), problem.Unprocessable))
		})
	}
	chosen := notify.Choice{Kind: models.NoticeOpened, Channel: desk.ID}
	b.choose(t, p, chosen, chosen)
	seen, err := b.service.Preferences(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, []notify.Choice{chosen}, seen.Choices)
	abroad := p
	abroad.EnvironmentID = "env_other"
	seen, err = b.service.Preferences(t.Context(), abroad)
	require.NoError(t, err)
	require.Empty(t, seen.Choices)
	require.Empty(t, seen.Chats)
	require.Equal(t, 1, b.Count("select count(*) from events where type = 'person.notices_chosen'"))
}

func TestChatAddressesOfAnEnvironment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.Principal("crd_operator")
	desk := b.chat(t, "desk", models.ChatSlack)
	for field, d := range map[string]notify.ChatDraft{
		"name":  {Name: "", Shape: models.ChatSlack, URL: b.room.url},
		"shape": {Name: "x", Shape: "irc", URL: b.room.url},
		"url":   {Name: "x", Shape: models.ChatSlack, URL: "http://10.0.0.1/hook"},
		"taken": {Name: "desk", Shape: models.ChatSlack, URL: b.room.url},
	} {
		t.Run(field, func(t *testing.T) {
			_, err := b.service.AddChat(t.Context(), p, d)
			require.True(t, problem.Is(err, problem.Unprocessable), "%v", err)
		})
	}
	require.Zero(t, b.Count("select count(*) from chat_addresses where position('secret' in encode(url, 'escape')) > 0"), "the URL is sealed")
	result, err := b.service.TestChat(t.Context(), p, desk.ID)
	require.NoError(t, err)
	require.True(t, result.Succeeded)
	require.Contains(t, b.room.all()[0].body["text"], "Test of the chat address desk")
	b.choose(t, b.reviewer(), notify.Choice{Kind: models.NoticeOpened, Channel: desk.ID})
	abroad := p
	abroad.EnvironmentID = "env_other"
	require.ErrorIs(t, b.service.RemoveChat(t.Context(), abroad, desk.ID), pg.ErrNotFound)
	require.NoError(t, b.service.RemoveChat(t.Context(), p, desk.ID))
	require.ErrorIs(t, b.service.RemoveChat(t.Context(), p, desk.ID), pg.ErrNotFound)
	require.Equal(t, 1, b.Count("select count(*) from chat_addresses where url is null"))
	require.Zero(t, b.Count("select count(*) from notice_choices"))
	require.Equal(t, 1, b.Events("chat_address.created"))
	require.Equal(t, 1, b.Events("chat_address.deleted"))
}

// The connection is encrypted before anything is sent, unless the settings say otherwise.
func TestMailerEncryption(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	offers := &tls.Config{Certificates: server.TLS.Certificates, MinVersion: tls.VersionTLS12}
	for name, c := range map[string]struct {
		offered *tls.Config
		trusts  *x509.CertPool
		want    string
	}{
		"offered":               {offers, trusted, ""},
		"not offered":           {nil, trusted, "connection_failed"},
		"unknown certificate":   {offers, x509.NewCertPool(), "tls"},
		"a stranger in between": {&tls.Config{Certificates: nil}, trusted, "connection_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.mail = newMailServer(t, c.offered)
			b.service = b.with(t, notify.MailSettings{
				Address: b.mail.address, From: "countersign@example.com", Encryption: notify.STARTTLS, TLS: &tls.Config{RootCAs: c.trusts, MinVersion: tls.VersionTLS12},
			})
			p := b.reviewer()
			require.NoError(t, b.service.SetAddress(t.Context(), p, "ann@example.com"))
			failed := b.relay(t)
			if c.want == "" {
				require.Empty(t, failed)
				require.Len(t, b.mail.all(), 1)
				return
			}
			require.Len(t, failed, 1)
			require.EqualError(t, failed[0], c.want)
			require.Empty(t, b.mail.all())
		})
	}
	for name, s := range map[string]notify.MailSettings{
		"a password in the clear": {Address: "localhost:25", From: "a@example.com", Encryption: notify.PlainText, Username: "a", Password: "b"},
		"no port":                 {Address: "localhost", From: "a@example.com", Encryption: notify.STARTTLS},
		"no sender":               {Address: "localhost:25", Encryption: notify.STARTTLS},
		"unknown encryption":      {Address: "localhost:25", From: "a@example.com", Encryption: "opportunistic"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := notify.NewMailer(s)
			require.Error(t, err)
		})
	}
}
