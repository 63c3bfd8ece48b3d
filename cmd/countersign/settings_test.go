package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/subject/upkeep"
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
		"defaults": {want: settings{listen: ":8080", opsListen: ":9090"}},
		"environment": {
			env:  map[string]string{"COUNTERSIGN_LISTEN": ":1", "COUNTERSIGN_DATABASE_URL": "postgres://db"},
			want: settings{listen: ":1", opsListen: ":9090", databaseURL: "postgres://db"},
		},
		"a server behind a pooler": {
			env:  map[string]string{"COUNTERSIGN_DATABASE_DIRECT_URL_FILE": file},
			want: settings{listen: ":8080", opsListen: ":9090", directURL: "from-a-file"},
		},
		"a flag goes first": {
			args: []string{"--listen", ":2"}, env: map[string]string{"COUNTERSIGN_LISTEN": ":1"},
			want: settings{listen: ":2", opsListen: ":9090"},
		},
		"empty is not set": {env: map[string]string{"COUNTERSIGN_LISTEN": ""}, want: settings{listen: ":8080", opsListen: ":9090"}},
		"a secret from a file": {
			env:  map[string]string{"COUNTERSIGN_DATABASE_URL_FILE": file},
			want: settings{listen: ":8080", opsListen: ":9090", databaseURL: "from-a-file"},
		},
		"a secret twice": {
			env:  map[string]string{"COUNTERSIGN_DATABASE_URL_FILE": file, "COUNTERSIGN_DATABASE_URL": "x"},
			says: "COUNTERSIGN_DATABASE_URL and COUNTERSIGN_DATABASE_URL_FILE are both set",
		},
		"a missing file": {
			env: map[string]string{"COUNTERSIGN_DATABASE_URL_FILE": "/no/such/file"}, says: "COUNTERSIGN_DATABASE_URL_FILE: open /no/such/file",
		},
		"no flag for a secret": {args: []string{"--database-url", "x"}, says: "unknown flag"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got settings
			table := append(got.addresses(":8080"), got.database(), got.direct())
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			for _, s := range table {
				if s.flag != "" {
					flags.Var(s.parse, s.flag, s.help)
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

func TestSettingsOfTheStandby(t *testing.T) {
	t.Parallel()
	const age = "COUNTERSIGN_DATABASE_STANDBY_MAX_AGE"
	for name, c := range map[string]struct {
		age  string
		want time.Duration
		says string
	}{
		"default":       {"", 5 * time.Second, ""},
		"longer":        {"30s", 30 * time.Second, ""},
		"too long":      {"11m", 0, "want 1s to 10m0s"},
		"too short":     {"10ms", 0, "want 1s to 10m0s"},
		"not a time":    {"old", 0, "want 1s to 10m0s"},
		"without units": {"5", 0, "want 1s to 10m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got settings
			err := fill(pflag.NewFlagSet("test", pflag.ContinueOnError), got.standby(), environment(map[string]string{
				"COUNTERSIGN_DATABASE_STANDBY_URL": "postgres://standby", age: c.age,
			}))
			if c.says != "" {
				require.ErrorContains(t, err, c.says)
				require.ErrorContains(t, err, age)
				return
			}
			require.NoError(t, err)
			require.Equal(t, settings{standbyURL: "postgres://standby", standbyAge: c.want}, got)
		})
	}
}

// valid are the settings of a process that can start.
func valid() settings {
	return settings{baseURL: "https://countersign.example", masterKey: keyring.Generate(), databaseURL: "x", temporalAddress: "x"}
}

// check reports the first setting that keeps a process from starting.
func check(s *settings) error {
	_, urlErr := s.publicURL()
	_, keyErr := s.keyring(context.Background())
	_, tlsErr := s.temporalOptions()
	return first(s.needDatabase(), keyErr, urlErr, s.needTemporal(), tlsErr)
}

func TestSettingsErrorsNameTheVariable(t *testing.T) {
	t.Parallel()
	good := valid()
	require.NoError(t, check(&good))
	for name, c := range map[string]struct {
		change func(*settings)
		want   string
	}{
		"no database":            {func(s *settings) { s.databaseURL = "" }, "COUNTERSIGN_DATABASE_URL"},
		"no master key":          {func(s *settings) { s.masterKey = "" }, "COUNTERSIGN_MASTER_KEY"},
		"short key":              {func(s *settings) { s.masterKey = "abc" }, "COUNTERSIGN_MASTER_KEY"},
		"placeholder key":        {func(s *settings) { s.masterKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" }, "COUNTERSIGN_MASTER_KEY"},
		"no base URL":            {func(s *settings) { s.baseURL = "" }, "COUNTERSIGN_BASE_URL"},
		"plain http":             {func(s *settings) { s.baseURL = "http://countersign.example" }, "COUNTERSIGN_BASE_URL must be https"},
		"with a path":            {func(s *settings) { s.baseURL = "https://countersign.example/api" }, "COUNTERSIGN_BASE_URL"},
		"no Temporal":            {func(s *settings) { s.temporalAddress = "" }, "COUNTERSIGN_TEMPORAL_ADDRESS"},
		"missing CA":             {func(s *settings) { s.temporalCA = "/no/such/file" }, "COUNTERSIGN_TEMPORAL_CA"},
		"CA without certificate": {func(s *settings) { s.temporalCA = "settings_test.go" }, "contains no certificate"},
		"missing certificate":    {func(s *settings) { s.temporalCert = "/no/such/file" }, "COUNTERSIGN_TEMPORAL_CERT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := good
			c.change(&s)
			err := check(&s)
			require.ErrorContains(t, err, c.want)
			require.True(t, errors.Is(err, errUsage), "exit code 2")
		})
	}
}

func TestFillRefusesInvalidValues(t *testing.T) {
	t.Parallel()
	for variable, value := range map[string]string{
		"COUNTERSIGN_TEMPORAL_TLS":            "maybe",
		"COUNTERSIGN_LOG_LEVEL":               "loud",
		"COUNTERSIGN_LOG_FORMAT":              "prose",
		"COUNTERSIGN_WEBHOOK_ALLOW_LOOPBACK":  "maybe",
		"COUNTERSIGN_RESEARCH":                "maybe",
		"COUNTERSIGN_PROFILING":               "maybe",
		"COUNTERSIGN_RETENTION":               "frames=soon",
		"COUNTERSIGN_STREAMS_PER_ENVIRONMENT": "0",
		"COUNTERSIGN_TRACES_RATIO":            "1.5",
	} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			var s settings
			err := fill(pflag.NewFlagSet("test", pflag.ContinueOnError), s.table(":8080"), environment(map[string]string{variable: value}))
			require.ErrorContains(t, err, variable+" is \""+value+"\": ")
			require.True(t, errors.Is(err, errUsage), "exit code 2")
		})
	}
}

func TestFillUsesDefaults(t *testing.T) {
	t.Parallel()
	var s settings
	require.NoError(t, fill(pflag.NewFlagSet("test", pflag.ContinueOnError), s.table(":8080"), environment(nil)))
	require.Equal(t, slog.LevelInfo, s.logLevel)
	require.Equal(t, logJSON, s.logFormat)
	require.Equal(t, 100, s.streamsEach)
	require.InDelta(t, 1, s.tracesRatio, 0)
	require.Equal(t, upkeep.DefaultRetention(), *s.retention)
}

func TestTLSConfigIsRequiredForAPIKeys(t *testing.T) {
	t.Parallel()
	off, err := (&settings{}).tlsConfig()
	require.NoError(t, err)
	require.Nil(t, off)
	for _, s := range []settings{{temporalTLS: true}, {temporalAPIKey: "key"}} {
		on, err := s.tlsConfig()
		require.NoError(t, err)
		require.NotNil(t, on, "an API key is never sent in plain text")
	}
}
