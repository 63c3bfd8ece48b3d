package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/subject/upkeep"
	"github.com/countersign-dev/countersign/workflows"
)

// settings are what an installation may set. Every one is an environment variable; what is no secret is a flag too, and
// a secret may be given as NAME_FILE, a path, so that it need not be in the environment either. Nothing secret is ever
// taken from the command line, which every user of the machine can read.
type settings struct {
	databaseURL string
	masterKey   string
	baseURL     string
	listen      string
	opsListen   string
	logLevel    string
	logFormat   string
	profiling   string

	temporalAddress   string
	temporalNamespace string
	temporalAPIKey    string
	temporalTLS       string
	temporalCA        string
	temporalCert      string
	temporalCertKey   string

	webhookLoopback string
	temporalUI      string
	research        string
	retention       string
	streamsEach     string
	tracesEndpoint  string
	tracesRatio     string
	role            string // api or worker: what is ready means another thing for each, and traces are told apart by it
}

// setting is one line of the table that flags, environment and help are made from.
type setting struct {
	flag     string // empty: a secret
	env      string
	fallback string
	help     string
	target   *string
}

func (s *settings) database() setting {
	return setting{"", "COUNTERSIGN_DATABASE_URL", "", "postgres://user:password@host:port/name", &s.databaseURL}
}

func (s *settings) master() setting {
	return setting{"", "COUNTERSIGN_MASTER_KEY", "", "master keys, 32 bytes each in base64 or hex, the active one first", &s.masterKey}
}

func (s *settings) public() setting {
	return setting{"base-url", "COUNTERSIGN_BASE_URL", "", "what the world calls the service, such as https://countersign.example", &s.baseURL}
}

func (s *settings) logging() []setting {
	return []setting{
		{"log-level", "COUNTERSIGN_LOG_LEVEL", "info", "least level logged: debug, info, warn, error", &s.logLevel},
		{"log-format", "COUNTERSIGN_LOG_FORMAT", "json", "json or text", &s.logFormat},
	}
}

func (s *settings) temporal() []setting {
	return []setting{
		{"temporal-address", "COUNTERSIGN_TEMPORAL_ADDRESS", "", "host:port of Temporal's frontend", &s.temporalAddress},
		{"temporal-namespace", "COUNTERSIGN_TEMPORAL_NAMESPACE", "countersign", "Temporal namespace", &s.temporalNamespace},
		{"", "COUNTERSIGN_TEMPORAL_API_KEY", "", "API key of Temporal Cloud; implies TLS", &s.temporalAPIKey},
		{"temporal-tls", "COUNTERSIGN_TEMPORAL_TLS", "false", "true speaks TLS to Temporal", &s.temporalTLS},
		{"temporal-ca", "COUNTERSIGN_TEMPORAL_CA", "", "file of the CA that signed Temporal's certificate", &s.temporalCA},
		{"temporal-cert", "COUNTERSIGN_TEMPORAL_CERT", "", "file of our certificate for mutual TLS", &s.temporalCert},
		{"temporal-cert-key", "COUNTERSIGN_TEMPORAL_CERT_KEY", "", "file of its key", &s.temporalCertKey},
	}
}

func (s *settings) addresses(listen string) []setting {
	table := []setting{
		{"ops-listen", "COUNTERSIGN_OPS_LISTEN", ":9090", "host:port of metrics and health", &s.opsListen},
		{"profiling", "COUNTERSIGN_PROFILING", "false", "true serves profiles (/debug/pprof/) on the operations port", &s.profiling},
	}
	if listen == "" {
		return table
	}
	return append(table, setting{"listen", "COUNTERSIGN_LISTEN", listen, "host:port of the API", &s.listen})
}

func (s *settings) ui() setting {
	return setting{"temporal-ui", "COUNTERSIGN_TEMPORAL_UI", "", "address of the Temporal UI that the console links to, such as https://temporal.example", &s.temporalUI}
}

func (s *settings) webhooks() setting {
	return setting{"webhook-allow-loopback", "COUNTERSIGN_WEBHOOK_ALLOW_LOOPBACK", "false",
		"true lets webhooks go to this machine: development only", &s.webhookLoopback}
}

// keeping is what is kept of people, and for how long.
func (s *settings) keeping() []setting {
	return []setting{
		{"research", "COUNTERSIGN_RESEARCH", "false", "true lets vectors be kept for learning where environment, page and subject agree", &s.research},
		{"retention", "COUNTERSIGN_RETENTION", "", "days that classes of data are kept, such as frames=30d,authorizations=2555d", &s.retention},
	}
}

func (s *settings) streams() setting {
	return setting{"streams-per-environment", "COUNTERSIGN_STREAMS_PER_ENVIRONMENT", "100",
		"event streams of one environment on one process, 1 to 4096", &s.streamsEach}
}

// dataOptions fill in what is kept and how much one environment may take.
func (s *settings) dataOptions(o *wiring.Options) error {
	var err error
	if o.Research, err = truth("COUNTERSIGN_RESEARCH", s.research); err != nil {
		return err
	}
	kept, err := upkeep.ParseRetention(s.retention)
	if err != nil {
		return usage("COUNTERSIGN_RETENTION: %v", err)
	}
	o.Retention = &kept
	if s.streamsEach != "" {
		o.StreamsEach, err = strconv.Atoi(s.streamsEach)
		if err != nil || o.StreamsEach < 1 || o.StreamsEach > 4096 {
			return usage("COUNTERSIGN_STREAMS_PER_ENVIRONMENT is %q: want 1 to 4096", s.streamsEach)
		}
	}
	return nil
}

// bind makes flags of the table and, before the command runs, fills in the environment where a flag was not given.
func bind(cmd *cobra.Command, table ...setting) {
	var lines []string
	for _, t := range table {
		if t.flag != "" {
			cmd.Flags().StringVar(t.target, t.flag, "", fmt.Sprintf("%s (env %s%s)", t.help, t.env, orDefault(t.fallback)))
			continue
		}
		lines = append(lines, fmt.Sprintf("  %s or %s_FILE: %s", t.env, t.env, t.help))
	}
	if len(lines) > 0 {
		cmd.Long = cmd.Short + ".\n\nSecrets are taken from the environment or from files:\n" + strings.Join(lines, "\n")
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return fill(cmd.Flags(), table, os.LookupEnv) }
}

func orDefault(fallback string) string {
	if fallback == "" {
		return ""
	}
	return ", default " + fallback
}

func fill(flags *pflag.FlagSet, table []setting, lookup func(string) (string, bool)) error {
	for _, t := range table {
		if t.flag != "" && flags.Changed(t.flag) {
			continue
		}
		value, err := fromEnvironment(t, lookup)
		if err != nil {
			return err
		}
		*t.target = value
	}
	return nil
}

func fromEnvironment(t setting, lookup func(string) (string, bool)) (string, error) {
	value, given := lookup(t.env)
	path, byFile := lookup(t.env + "_FILE")
	switch {
	case t.flag == "" && given && byFile && value != "" && path != "":
		return "", usage("%s and %s_FILE are both set: set one", t.env, t.env)
	case t.flag == "" && byFile && path != "":
		text, err := os.ReadFile(path) // #nosec G304 -- the operator's file
		if err != nil {
			return "", usage("%s_FILE: %v", t.env, err)
		}
		return strings.TrimSpace(string(text)), nil
	case given && value != "":
		return value, nil
	default:
		return t.fallback, nil
	}
}

// needDatabase refuses to go on without a database.
func (s *settings) needDatabase() error {
	if s.databaseURL == "" {
		return usage("COUNTERSIGN_DATABASE_URL is not set: want postgres://user:password@host:port/name")
	}
	return nil
}

// keyring reads the master keys.
func (s *settings) keyring() (*keyring.Keyring, error) {
	if s.masterKey == "" {
		return nil, usage("COUNTERSIGN_MASTER_KEY is not set: make one with countersign key generate, and keep it safe")
	}
	keys, err := keyring.Parse(s.masterKey)
	if err != nil {
		return nil, usage("COUNTERSIGN_MASTER_KEY: %v", err)
	}
	return keys, nil
}

// publicURL checks the base URL: https, or http on this machine alone.
func (s *settings) publicURL() (string, error) {
	u, err := url.Parse(s.baseURL)
	if s.baseURL == "" || err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return "", usage("COUNTERSIGN_BASE_URL is not set to a URL without a path, such as https://countersign.example")
	}
	local := u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1"
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return "", usage("COUNTERSIGN_BASE_URL must be https, except on localhost")
	}
	return strings.TrimSuffix(s.baseURL, "/"), nil
}

// tlsConfig is how to speak to Temporal; nil for in the clear.
func (s *settings) tlsConfig() (*tls.Config, error) {
	on, err := truth("COUNTERSIGN_TEMPORAL_TLS", s.temporalTLS)
	if err != nil {
		return nil, err
	}
	if !on && s.temporalAPIKey == "" && s.temporalCA == "" && s.temporalCert == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.temporalCA != "" {
		pem, err := os.ReadFile(s.temporalCA)
		if err != nil {
			return nil, usage("COUNTERSIGN_TEMPORAL_CA: %v", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, usage("COUNTERSIGN_TEMPORAL_CA: %s holds no certificate", s.temporalCA)
		}
	}
	if s.temporalCert != "" {
		cert, err := tls.LoadX509KeyPair(s.temporalCert, s.temporalCertKey)
		if err != nil {
			return nil, usage("COUNTERSIGN_TEMPORAL_CERT and COUNTERSIGN_TEMPORAL_CERT_KEY: %v", err)
		}
		c.Certificates = []tls.Certificate{cert}
	}
	return c, nil
}

// temporalOptions say how to reach Temporal.
func (s *settings) temporalOptions() (workflows.DialOptions, error) {
	c, err := s.tlsConfig()
	return workflows.DialOptions{Address: s.temporalAddress, Namespace: s.temporalNamespace, APIKey: s.temporalAPIKey, TLS: c}, err
}

// truth reads a yes or no.
func truth(env, value string) (bool, error) {
	switch strings.ToLower(value) {
	case "true", "1", "yes", "on":
		return true, nil
	case "", "false", "0", "no", "off":
		return false, nil
	default:
		return false, usage("%s is %q: want true or false", env, value)
	}
}

// logger writes to w in the set format.
func (s *settings) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.logLevel)); err != nil {
		return nil, usage("COUNTERSIGN_LOG_LEVEL is %q: want debug, info, warn or error", s.logLevel)
	}
	o := &slog.HandlerOptions{Level: level}
	switch s.logFormat {
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	default:
		return nil, usage("COUNTERSIGN_LOG_FORMAT is %q: want json or text", s.logFormat)
	}
}

// needTemporal refuses to go on without an address.
func (s *settings) needTemporal() error {
	if s.temporalAddress == "" {
		return usage("COUNTERSIGN_TEMPORAL_ADDRESS is not set: want host:port of Temporal's frontend")
	}
	return nil
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

var errInterrupted = errors.New("interrupted")
