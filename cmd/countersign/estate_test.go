package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

// Every command of docs/estate.md, and of staff by SCIM in docs/single-sign-on.md, runs as it is printed, in the order of the pages.
func TestEstateRecipesRunAsPrinted(t *testing.T) {
	signOn, err := os.ReadFile("../../docs/single-sign-on.md")
	require.NoError(t, err)
	_, page, found := strings.Cut(string(signOn), "\n## Staff by SCIM\n")
	require.True(t, found)
	estate, err := os.ReadFile("../../docs/estate.md")
	require.NoError(t, err)
	page += string(estate)
	t.Chdir(t.TempDir())
	certificateFiles(t)
	database := testenv.Database(t)
	c := newCLI(t, database)
	made := c.ok("tenant", "create", "--name", "n", "--rp-id", "bank.example", "--origin", "https://bank.example", "--background", "prior")
	live := regexp.MustCompile(`live +(env_\w+)`).FindStringSubmatch(made)[1]
	c.ok("team", "create", "--environment", live, "--key", "finance", "--name", "Finance")
	require.NoError(t, os.WriteFile("secret", []byte("s3cret"), 0o600))
	c.ok("tenant", "oidc", "set", "--issuer", "https://login.company.example", "--client-id", "countersign", "--client-secret-file", "secret", "--group", "leads=live:reviewer")

	sealed(t, opened(t, database))

	var token string // the first that was created
	position := filepath.Join(t.TempDir(), "siem")
	printed := regexp.MustCompile(`(?m)^    \$ (?:printf '([^']*)' \| )?countersign (.+)$`).FindAllStringSubmatch(page, -1)
	require.Len(t, printed, 16)
	for _, p := range printed {
		args := strings.Fields(strings.NewReplacer("dtk_...", token, "/var/lib/countersign/siem", position).Replace(p[2]))
		out, err := c.printed(args, p[1])
		if strings.Contains(p[2], "dus_...") { // users come from a directory
			require.ErrorContains(t, err, `has no user "dus_..."`)
			continue
		}
		require.NoError(t, err, "%s", p[2])
		if found := regexp.MustCompile(`dtk_\w+`).FindString(out); found != "" && token == "" {
			token = found
		}
	}
	shown := c.ok("tenant", "destinations", "list")
	for _, kind := range []string{"otlp protobuf", "https lines", "syslog"} {
		require.Contains(t, shown, "kind        "+kind)
	}
	require.Equal(t, 2, strings.Count(shown, "credentials true"))
	require.FileExists(t, position)
	require.Contains(t, c.ok("tenant", "signals", "list"), "https://login.company.example")
}

// printed runs a command with its input. One that follows ends when it has written an entry.
func (c cli) printed(args []string, in string) (string, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	out := &lines{}
	if args[len(args)-1] == "--follow" {
		out.first = cancel
	}
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(out)
	cmd.SetErr(io.Discard)
	err := cmd.ExecuteContext(ctx)
	if out.first != nil {
		require.True(c.t, json.Valid([]byte(strings.SplitAfter(out.String(), "\n")[0])), out.String())
	}
	return out.String(), err
}

// lines calls first when a line was written.
type lines struct {
	bytes.Buffer
	first func()
}

func (l *lines) Write(p []byte) (int, error) {
	n, err := l.Buffer.Write(p)
	if l.first != nil && bytes.IndexByte(p, '\n') >= 0 {
		l.first()
	}
	return n, err
}

// certificateFiles writes the files that the commands name.
func certificateFiles(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, text := range map[string][]byte{"ca.pem": cert, "client.pem": cert, "client.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})} {
		require.NoError(t, os.WriteFile(name, text, 0o600))
	}
}
