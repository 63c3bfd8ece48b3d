package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/dev"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/webhook"
)

func TestWrongCommandLinesExitWithTwoAndSuggest(t *testing.T) {
	c := newCLI(t, "postgres://stranger@127.0.0.1:1/none?connect_timeout=2")
	for says, line := range map[string]string{
		`"tenat" is not a command of countersign (did you mean team or tenant?)`:        "tenat list",
		`"lst" is not a command of countersign tenant (did you mean list?)`:             "tenant lst",
		`unknown flag: --enviroment (did you mean --environment?)`:                      "key rotate --enviroment env_1",
		`accepts 1 arg(s), received 0; usage: countersign credential revoke CREDENTIAL`: "credential revoke",
		`unknown command "now" for "countersign migrate"`:                               "migrate now",
		`"hold.aproved" is not a type of event (did you mean hold.approved?)`:           "events trigger hold.aproved",
		`--forward is "http://example.com/": want an http address on this machine`:      "events trigger hold.approved --forward http://example.com/",
		`--forward is not set: give the address of the receiver`:                        "events trigger hold.approved",
		`COUNTERSIGN_BASE_URL and COUNTERSIGN_KEY are not both set`:                     "events listen --dir /no/such/folder",
		`accepts 1 arg(s), received 0; usage: countersign config diff FILE`:             "config diff",
		`open /no/such.yaml: no such file or directory`:                                 "config apply /no/such.yaml",
		`--environment is "prod": want sandbox, live or the id of one of them`:          "config export --environment prod",
		`--subject is not set: give the id of a subject of the sandbox`:                 "demo session",
		`--as is "robot": want self, other, replay or program`:                          "demo session --subject ada --as robot",
		`--environment is "test": want sandbox, live or the id of one of them`:          "demo session --subject ada --environment test",
	} {
		_, err := c.run(strings.Fields(line)...)
		require.ErrorContains(t, err, says, line)
		require.ErrorIs(t, err, errUsage, line)
	}
	_, err := c.run("migrate")
	require.NotErrorIs(t, err, errUsage, "a failure, not a mistake of the command line")
}

func TestTheOneEnvironmentIsTheDefault(t *testing.T) {
	url := testenv.Database(t)
	c := newCLI(t, url)
	c.fails("there is no environment: countersign tenant create", "key", "rotate")
	made := c.ok("tenant", "create", "--background", "prior", "--name", "n", "--rp-id", "bank.example", "--origin", "https://bank.example")
	envs := environmentID.FindAllString(made, -1)
	c.fails("--environment is not set: give "+envs[0]+" (sandbox) or "+envs[1]+" (live)", "credential", "list")
	c.fails(`there is no environment "env_nobody": give `, "credential", "list", "--environment", "env_nobody")
	require.Contains(t, c.ok("key", "rotate", "--environment", "live"), envs[1])
	st, err := pg.Open(t.Context(), url, pg.Options{MaxConns: 1})
	require.NoError(t, err)
	defer st.Close()
	for _, table := range []string{"credentials", "signing_keys", "audit_heads", "audit_chain", "events"} {
		_, err = st.Pool().Exec(t.Context(), "delete from "+table+" where environment_id = $1", envs[1])
		require.NoError(t, err, table)
	}
	_, err = st.Pool().Exec(t.Context(), "delete from environments where id = $1", envs[1])
	require.NoError(t, err)
	require.Contains(t, c.ok("key", "rotate"), envs[0])
}

func TestTenantsAreDeletedWhole(t *testing.T) {
	url := testenv.Database(t)
	c := newCLI(t, url)
	empty := content(t, url)
	create := func(name, host string) (tenant string, made string) {
		made = c.ok("tenant", "create", "--background", "prior", "--name", name, "--rp-id", host, "--origin", "https://"+host)
		return regexp.MustCompile(`tnt_[a-z0-9]{26}`).FindString(made), made
	}
	tenant, made := create("Old Bank", "old.example")
	c.fails("--confirm-name is not set", "tenant", "delete", tenant)
	c.fails(`The name of tenant `+tenant+` is "Old Bank" and not "Bank"`, "tenant", "delete", tenant, "--confirm-name", "Bank")
	c.fails("it has 2 active API keys. Settle or delete them, and revoke the keys last", "tenant", "delete", tenant, "--confirm-name", "Old Bank")
	for _, env := range environmentID.FindAllString(made, -1) {
		c.ok("credential", "revoke", credentialID.FindString(c.ok("credential", "list", "--environment", env)), "--environment", env)
	}
	kept, _ := create("New Bank", "new.example")
	before := c.ok("tenant", "list")
	require.Contains(t, c.ok("tenant", "delete", tenant, "--confirm-name", "Old Bank"), "is deleted, with ")
	after := c.ok("tenant", "list")
	require.Contains(t, before, tenant)
	require.Regexp(t, tenant+` +deleted [^ ]+ by cli:tenant delete`, after)
	require.Contains(t, after, kept)
	require.Equal(t, 1, strings.Count(content(t, url), tenant), "no row of any table names it, but that of its deletion")
	require.Empty(t, environmentID.FindAllString(empty, -1))
	c.fails("There is no tenant", "tenant", "delete", tenant, "--confirm-name", "Old Bank")
}

// receiver records the events that verify with a secret, which is known only after the command has printed it.
type receiver struct {
	sync.Mutex
	bodies  [][]byte
	headers []http.Header
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.Lock()
	defer r.Unlock()
	r.bodies, r.headers = append(r.bodies, body), append(r.headers, req.Header.Clone())
	w.WriteHeader(http.StatusNoContent)
}

func (r *receiver) verified(t *testing.T, secret string) []string {
	t.Helper()
	verifier, err := webhook.New(secret)
	require.NoError(t, err)
	r.Lock()
	defer r.Unlock()
	var types []string
	for i, body := range r.bodies {
		event, err := verifier.Verify(r.headers[i], body)
		require.NoError(t, err)
		types = append(types, event.Type)
	}
	return types
}

var webhookSecret = regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`)

func TestASampleOfAnyEventIsTriggered(t *testing.T) {
	c := newCLI(t, "")
	for _, d := range events.Catalogue() {
		require.Contains(t, c.ok("events", "trigger"), string(d.Type))
		got := &receiver{}
		server := httptest.NewServer(got)
		out := c.ok("events", "trigger", string(d.Type), "--forward", server.URL)
		server.Close()
		require.Contains(t, out, " -> 204 in ")
		require.Equal(t, []string{string(d.Type)}, got.verified(t, webhookSecret.FindString(out)))
	}
}

// trigger400 runs the command against a receiver that responds with a body, and returns its output.
func trigger400(t *testing.T, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	out, err := newCLI(t, "").run("events", "trigger", "hold.opened", "--forward", server.URL)
	require.ErrorContains(t, err, "the receiver did not take the event")
	_, refusal, found := strings.Cut(out, "evt_")
	require.True(t, found, out)
	return refusal
}

func TestARefusalOfTheReceiverIsPrinted(t *testing.T) {
	require.Contains(t, trigger400(t, "no signature matches\n"), " -> 400 in ")
	require.Regexp(t, ` ms: no signature matches\n$`, trigger400(t, "no signature matches\n"))
	require.Regexp(t, ` ms, with an empty body\n$`, trigger400(t, ""))
	require.Regexp(t, ` ms: \[31mred \[0m and below\n$`, trigger400(t, "\x1b[31mred\x1b[0m\r\n and\u202e below\x00"), "on one line, without what a terminal would interpret")
	require.Regexp(t, ` ms: x{200}\.\.\.\n$`, trigger400(t, strings.Repeat("x", 1<<20)))
}

func TestAWebhookSecretIsOneThatEverySDKAccepts(t *testing.T) {
	c := newCLI(t, "")
	secret := func(bytes int) string { return "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, bytes)) }
	for name, wrong := range map[string]string{
		"base64 alone": strings.TrimPrefix(secret(32), "whsec_"), "not base64": "whsec_my-own-secret", "too short": secret(23), "too long": secret(65),
		"nothing after the prefix": "whsec_", "a line break": secret(32) + "\n", "bits after the end": "whsec_" + strings.Repeat("A", 42) + "B=",
	} {
		t.Setenv("COUNTERSIGN_WEBHOOK_SECRET", wrong)
		_, err := c.run("events", "trigger", "hold.opened", "--forward", "http://127.0.0.1:1")
		require.ErrorIs(t, err, errUsage, name)
		require.ErrorContains(t, err, "want whsec_ and the base64 of 24 to 64 bytes", name)
	}
	for _, right := range []string{secret(24), secret(64)} {
		got := &receiver{}
		server := httptest.NewServer(got)
		t.Setenv("COUNTERSIGN_WEBHOOK_SECRET", right)
		c.ok("events", "trigger", "hold.opened", "--forward", server.URL)
		server.Close()
		require.Equal(t, []string{"hold.opened"}, got.verified(t, right))
	}
}

func TestEventsAreForwardedAsTheyHappen(t *testing.T) {
	c := newCLI(t, "")
	dir := devFolder(t)
	secret := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	t.Setenv("COUNTERSIGN_WEBHOOK_SECRET", secret)
	t.Setenv("COUNTERSIGN_BASE_URL", "")
	err := runDev(t.Context(), devOn(t, dir), io.Discard, func(_ context.Context, s dev.State) error {
		written, err := json.Marshal(s)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(dev.StatePath(dir), written, 0o600))
		got := &receiver{}
		server := httptest.NewServer(got)
		defer server.Close()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		out := &lockedBuffer{}
		ended := make(chan error, 1)
		cmd := root()
		cmd.SetArgs([]string{"events", "listen", "--dir", dir, "--type", "subject.*", "--forward", server.URL})
		cmd.SetOut(out)
		go func() { ended <- cmd.ExecuteContext(ctx) }()
		r := running{c.t, s}
		require.Eventually(t, func() bool { return strings.Contains(out.String(), "listening to ") }, time.Minute, 200*time.Millisecond)
		// The stream may not be open yet, so that subjects are made until one arrives.
		require.Eventually(t, func() bool {
			r.made("POST", "/api/v1/subjects", "{}")
			return strings.Contains(out.String(), " -> 204 in ")
		}, time.Minute, 200*time.Millisecond)
		require.Contains(t, got.verified(t, secret), "subject.created")
		require.Regexp(t, `\d{4}-\S+Z  subject\.created  evt_\w+`, out.String())
		stop()
		return <-ended
	})
	require.NoError(t, err)
}

// A collector of logs reads the output line by line: it has entries with their ids, and nothing else.
func TestEventsAsJSONAreEntriesOnly(t *testing.T) {
	t.Parallel()
	var out, notes strings.Builder
	l := listener{asJSON: true, out: &out, notes: &notes}
	entry := `{"id":"evt_1","type":"hold.opened","at":"2026-03-01T09:00:00.000Z","data":{}}`
	require.NoError(t, l.take(t.Context(), countersign.StreamedEvent{Data: json.RawMessage(entry)}))
	require.NoError(t, l.take(t.Context(), countersign.StreamedEvent{Resync: true}))
	require.Equal(t, entry+"\n", out.String())
	require.Contains(t, notes.String(), "GET /api/v1/activity")
}

// lockedBuffer is written by a command and read by its test.
type lockedBuffer struct {
	sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.Lock()
	defer b.Unlock()
	return b.text.String()
}
