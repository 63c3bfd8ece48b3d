package notify_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/reviewnote"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

var now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

const life = 72 * time.Hour

// bundle is an environment with a mail server and a chat that the test steers.
type bundle struct {
	*fixture.World
	clock   *clock.Fake
	holds   *hold.Service
	service *notify.Service
	people  *staff.Service
	mail    *mailServer
	room    *room
}

func setup(t *testing.T) *bundle {
	t.Helper()
	st := testenv.Store(t)
	b := &bundle{World: fixture.New(t, st, now), clock: clock.NewFake(now), mail: newMailServer(t, nil), room: newRoom(t)}
	b.holds = hold.New(hold.Deps{Store: st, Clock: b.clock, Notes: reviewnote.NewVault(testenv.Keys()),
		Decide: func(ctx context.Context, q *pg.Q, a settle.FollowUp) (models.Authorization, error) {
			return b.FollowUp(ctx, q, a, "allow")
		}})
	b.service = b.with(t, notify.MailSettings{Address: b.mail.address, From: "Countersign <countersign@example.com>", Encryption: notify.PlainText})
	return b
}

// with returns a service that sends e-mail with the settings.
func (b *bundle) with(t *testing.T, settings notify.MailSettings) *notify.Service {
	t.Helper()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	mailer, err := notify.NewMailer(settings)
	require.NoError(t, err)
	b.people = staff.New(b.Store, keys, b.clock, "https://countersign.example")
	sender := webhook.NewSender(webhook.Policy{AllowLoopback: true})
	t.Cleanup(sender.Close)
	return notify.New(notify.Deps{
		Store: b.Store, Clock: b.clock, Keyring: keys, Holds: b.holds, People: b.people, Sender: sender, Mail: mailer, BaseURL: "https://countersign.example",
		Log: slog.New(slog.DiscardHandler),
	})
}

// reviewer inserts a reviewer of the console.
func (b *bundle) reviewer() identity.Principal {
	id := ids.New(ids.Person)
	b.Exec("insert into people (id, tenant_id, name, created_at, created_by, confirmed_at) values ($1, $2, 'Ann Example', $3, 'cli:test', $3)", id, b.Scope.Tenant, now)
	b.Exec("insert into person_roles (person_id, environment_id, role, granted_at, granted_by) values ($1, $2, 'reviewer', $3, 'cli:test')",
		id, b.Scope.Environment, now)
	return identity.Principal{Person: id, TenantID: b.Scope.Tenant, EnvironmentID: b.Scope.Environment, RequestID: ids.New(ids.Request)}
}

// reachable gives a reviewer a confirmed address.
func (b *bundle) reachable(t *testing.T, address string) identity.Principal {
	t.Helper()
	p := b.reviewer()
	require.NoError(t, b.service.SetAddress(t.Context(), p, address))
	b.relay(t)
	require.NoError(t, b.service.Confirm(t.Context(), p, b.mail.code(t)))
	return p
}

// chat adds a chat address of the shape.
func (b *bundle) chat(t *testing.T, name string, shape models.ChatShape) models.ChatAddress {
	t.Helper()
	row, err := b.service.AddChat(t.Context(), b.Principal("crd_operator"), notify.ChatDraft{Name: name, Shape: shape, URL: b.room.url + "/secret-" + name})
	require.NoError(t, err)
	return row
}

func (b *bundle) choose(t *testing.T, p identity.Principal, choices ...notify.Choice) {
	t.Helper()
	require.NoError(t, b.service.Choose(t.Context(), p, choices))
}

// relay handles what is in the outbox until nothing is left, each row twice, and returns the errors. A row whose handler failed stays.
func (b *bundle) relay(t *testing.T) []error {
	t.Helper()
	var failed []error
	handlers := map[string]outbox.Handler{
		outbox.TopicNotice: b.service.FanOut, outbox.TopicNoticeEmail: b.service.Email, outbox.TopicNoticeChat: b.service.Chat,
		outbox.TopicAddressCode: b.service.Code, outbox.TopicInvitation: b.service.Invitation,
	}
	for seen := map[int64]bool{}; ; {
		rows, err := b.Store.Pool().Query(t.Context(), "select id, topic, environment_id, ref, payload, created_at from outbox where topic = any($1) order by id",
			[]string{outbox.TopicNotice, outbox.TopicNoticeEmail, outbox.TopicNoticeChat, outbox.TopicAddressCode, outbox.TopicInvitation})
		require.NoError(t, err)
		var due []models.Outbox
		for rows.Next() {
			var o models.Outbox
			require.NoError(t, rows.Scan(&o.ID, &o.Topic, &o.EnvironmentID, &o.Ref, &o.Payload, &o.CreatedAt))
			if !seen[o.ID] {
				due = append(due, o)
			}
		}
		require.NoError(t, rows.Err())
		if len(due) == 0 {
			return failed
		}
		for _, o := range due {
			seen[o.ID] = true
			err := handlers[o.Topic](t.Context(), o)
			if err == nil && o.Topic != outbox.TopicAddressCode && o.Topic != outbox.TopicInvitation {
				require.NoError(t, handlers[o.Topic](t.Context(), o), "safe to repeat")
			}
			if err != nil {
				failed = append(failed, err)
				continue
			}
			b.Exec("delete from outbox where id = $1", o.ID)
		}
	}
}

// states counts the notices by status.
func (b *bundle) states(status models.NoticeStatus) int {
	return b.Count("select count(*) from notices where environment_id = $1 and status = $2", b.Scope.Environment, string(status))
}

// room is a chat that records posts and responds as the test says.
type room struct {
	url    string
	mu     sync.Mutex
	status int
	header http.Header
	posts  []post
}

type post struct {
	id, path string
	body     map[string]any
	signed   bool
}

func newRoom(t *testing.T) *room {
	t.Helper()
	r := &room{status: http.StatusOK}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		p := post{id: req.Header.Get("webhook-id"), path: req.URL.Path, signed: req.Header.Get("webhook-signature") != ""}
		if json.NewDecoder(req.Body).Decode(&p.body) == nil {
			r.posts = append(r.posts, p)
		}
		for name, values := range r.header {
			w.Header()[name] = values
		}
		w.WriteHeader(r.status)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *room) responds(status int, header http.Header) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status, r.header = status, header
}

func (r *room) all() []post {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]post{}, r.posts...)
}

// mailServer is an SMTP server (RFC 5321) that accepts mail until the test says otherwise.
type mailServer struct {
	address string
	secure  *tls.Config // for STARTTLS; nil does not offer it
	mu      sync.Mutex
	refuse  map[string]string // by command: the response
	name    string            // of the last greeting
	mails   []string
}

func newMailServer(t *testing.T, secure *tls.Config) *mailServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &mailServer{address: l.Addr().String(), secure: secure, refuse: map[string]string{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); running.Wait() })
	return s
}

func (s *mailServer) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	in := bufio.NewReader(c)
	say := func(line string) { _, _ = io.WriteString(c, line+"\r\n") }
	say("220 test")
	encrypted := false
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		command, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(line)), " ")
		s.mu.Lock()
		refusal := s.refuse[command]
		if command == "EHLO" {
			s.name = strings.TrimSpace(line[len("EHLO"):])
		}
		s.mu.Unlock()
		switch {
		case refusal != "":
			say(refusal)
		case command == "EHLO" && s.secure != nil && !encrypted:
			say("250-test\r\n250 STARTTLS")
		case command == "STARTTLS":
			say("220 go ahead")
			c = tls.Server(c, s.secure)
			in, encrypted = bufio.NewReader(c), true
		case command == "DATA":
			say("354 go ahead")
			s.accept(in)
			say("250 accepted")
		case command == "QUIT":
			say("221 bye")
			return
		default:
			say("250 fine")
		}
	}
}

// accept reads a message until its final dot.
func (s *mailServer) accept(in *bufio.Reader) {
	var text strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil || line == ".\r\n" {
			break
		}
		text.WriteString(line)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Soft line breaks of quoted-printable (RFC 2045, section 6.7).
	headers, body, _ := strings.Cut(text.String(), "\r\n\r\n")
	s.mails = append(s.mails, headers+"\r\n\r\n"+strings.ReplaceAll(body, "=\r\n", ""))
}

func (s *mailServer) responds(command, with string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse[command] = with
}

// greeted returns the name of the client that connected last.
func (s *mailServer) greeted() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name
}

func (s *mailServer) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.mails...)
}

// subjectOf returns the subject of a mail.
func subjectOf(t *testing.T, raw string) string {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(raw))
	require.NoError(t, err)
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	require.NoError(t, err)
	return subject
}

// code returns the code of the last mail.
func (s *mailServer) code(t *testing.T) string {
	t.Helper()
	mails := s.all()
	require.NotEmpty(t, mails)
	_, rest, ok := strings.Cut(mails[len(mails)-1], "Your code is ")
	require.True(t, ok)
	return rest[:6]
}
