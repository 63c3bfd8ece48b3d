package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
)

// environment is a lookup over a map.
func environment(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := m[name]
		return v, ok
	}
}

func TestSettingsComeFromFlagsThenEnvironmentThenDefaults(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte("from-a-file\n"), 0o600))
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		want settings
		says string
	}{
		"defaults": {want: settings{listen: ":8080", opsListen: ":9090", profiling: "false"}},
		"environment": {
			env:  map[string]string{"COUNTERSIGN_LISTEN": ":1", "COUNTERSIGN_DATABASE_URL": "postgres://db"},
			want: settings{listen: ":1", opsListen: ":9090", profiling: "false", databaseURL: "postgres://db"},
		},
		"a flag goes first": {
			args: []string{"--listen", ":2"}, env: map[string]string{"COUNTERSIGN_LISTEN": ":1"},
			want: settings{listen: ":2", opsListen: ":9090", profiling: "false"},
		},
		"empty is not set": {env: map[string]string{"COUNTERSIGN_LISTEN": ""}, want: settings{listen: ":8080", opsListen: ":9090", profiling: "false"}},
		"a secret from a file": {
			env:  map[string]string{"COUNTERSIGN_DATABASE_URL_FILE": file},
			want: settings{listen: ":8080", opsListen: ":9090", profiling: "false", databaseURL: "from-a-file"},
		},
		"a secret twice": {
			env:  map[string]string{"COUNTERSIGN_DATABASE_URL_FILE": file, "COUNTERSIGN_DATABASE_URL": "x"},
			says: "COUNTERSIGN_DATABASE_URL and COUNTERSIGN_DATABASE_URL_FILE are both set",
		},
		"a file that is not there": {
			env: map[string]string{"COUNTERSIGN_DATABASE_URL_FILE": "/no/such/file"}, says: "COUNTERSIGN_DATABASE_URL_FILE: open /no/such/file",
		},
		"no flag for a secret": {args: []string{"--database-url", "x"}, says: "unknown flag"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got settings
			table := append(got.addresses(":8080"), got.database())
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			for _, s := range table {
				if s.flag != "" {
					flags.StringVar(s.target, s.flag, "", s.help)
				}
			}
			err := flags.Parse(c.args)
			if err == nil {
				err = fill(flags, table, environment(c.env))
			}
			if c.says != "" {
				require.ErrorContains(t, err, c.says)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestRefusalsNameTheVariable(t *testing.T) {
	t.Parallel()
	good := settings{baseURL: "https://countersign.example", masterKey: keyring.Generate(), databaseURL: "x", temporalAddress: "x",
		logLevel: "info", logFormat: "json"}
	check := func(s *settings) error {
		_, urlErr := s.publicURL()
		_, keyErr := s.keyring()
		_, tlsErr := s.temporalOptions()
		_, logErr := s.logger(io.Discard)
		_, loopErr := truth("COUNTERSIGN_WEBHOOK_ALLOW_LOOPBACK", s.webhookLoopback)
		return first(s.needDatabase(), keyErr, urlErr, s.needTemporal(), tlsErr, logErr, loopErr)
	}
	require.NoError(t, check(&good))
	for name, c := range map[string]struct {
		change func(*settings)
		says   string
	}{
		"no database":     {func(s *settings) { s.databaseURL = "" }, "COUNTERSIGN_DATABASE_URL"},
		"no master key":   {func(s *settings) { s.masterKey = "" }, "COUNTERSIGN_MASTER_KEY"},
		"short key":       {func(s *settings) { s.masterKey = "abc" }, "COUNTERSIGN_MASTER_KEY"},
		"placeholder key": {func(s *settings) { s.masterKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" }, "COUNTERSIGN_MASTER_KEY"},
		"no base URL":     {func(s *settings) { s.baseURL = "" }, "COUNTERSIGN_BASE_URL"},
		"plain http":      {func(s *settings) { s.baseURL = "http://countersign.example" }, "COUNTERSIGN_BASE_URL must be https"},
		"with a path":     {func(s *settings) { s.baseURL = "https://countersign.example/api" }, "COUNTERSIGN_BASE_URL"},
		"no Temporal":     {func(s *settings) { s.temporalAddress = "" }, "COUNTERSIGN_TEMPORAL_ADDRESS"},
		"TLS maybe":       {func(s *settings) { s.temporalTLS = "maybe" }, "COUNTERSIGN_TEMPORAL_TLS"},
		"no such CA":      {func(s *settings) { s.temporalCA = "/no/such/file" }, "COUNTERSIGN_TEMPORAL_CA"},
		"CA that is none": {func(s *settings) { s.temporalCA = "config_test.go" }, "holds no certificate"},
		"half a pair":     {func(s *settings) { s.temporalCert = "/no/such/file" }, "COUNTERSIGN_TEMPORAL_CERT"},
		"loud log":        {func(s *settings) { s.logLevel = "loud" }, "COUNTERSIGN_LOG_LEVEL"},
		"log in prose":    {func(s *settings) { s.logFormat = "prose" }, "COUNTERSIGN_LOG_FORMAT"},
		"loopback maybe":  {func(s *settings) { s.webhookLoopback = "maybe" }, "COUNTERSIGN_WEBHOOK_ALLOW_LOOPBACK"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := good
			c.change(&s)
			err := check(&s)
			require.ErrorContains(t, err, c.says)
			require.True(t, errors.Is(err, errUsage), "exit code 2")
		})
	}
}

func TestTLSIsOnWhereItMustBe(t *testing.T) {
	t.Parallel()
	off, err := (&settings{}).tlsConfig()
	require.NoError(t, err)
	require.Nil(t, off)
	for _, s := range []settings{{temporalTLS: "true"}, {temporalAPIKey: "key"}} {
		on, err := s.tlsConfig()
		require.NoError(t, err)
		require.NotNil(t, on, "an API key is never sent in the clear")
	}
}
