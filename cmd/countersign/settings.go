package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/delivery/destination"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/local/dev"
	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/webname"
	"github.com/countersign-dev/countersign/internal/subject/upkeep"
	"github.com/countersign-dev/countersign/workflows"
)

// settings is the configuration of an installation. Each field has an environment variable and, unless it is a secret, a flag.
// A secret can also be read from a file that NAME_FILE names, which keeps it out of the environment. No secret is a flag,
// because every user of the machine can read the command lines of its processes.
type settings struct {
	command     *cobra.Command // that bindCore added the flags to
	dir         string         // of make run
	databaseURL string
	directURL   string
	standbyURL  string
	standbyAge  time.Duration // 0: the store's default
	connections int32         // 0: the store's default
	masterKey   string
	rootKey     keys.RootKey  // nil: the master keys are not wrapped
	signers     []keys.Signer // nil: software
	baseURL     string
	listen      string
	opsListen   string
	logLevel    slog.Level
	logFormat   logFormat
	profiling   bool

	temporalAddress   string
	temporalNamespace string
	temporalAPIKey    string
	temporalTLS       bool
	temporalCA        string
	temporalCert      string
	temporalCertKey   string

	mail   mailSettings
	worker workerSettings

	webhookLoopback bool
	oidcNetworks    []netip.Prefix
	// destinationNetworks are those in which destinations of the log may be.
	destinationNetworks []netip.Prefix
	temporalUI          string
	codec               codecSettings
	research            bool
	retention           *upkeep.Retention // nil: the defaults
	streamsEach         int               // 0: the default
	trustedProxies      []netip.Prefix
	tracesEndpoint      string
	tracesRatio         float64 // 0 to 1
	metricsEndpoint     string
	role                string // api or worker; decides the readiness checks and names the process in traces and metrics
}

// logFormat is the encoding of log lines; empty is JSON.
type logFormat string

const (
	logJSON logFormat = "json"
	logText logFormat = "text"
)

func (s *settings) database() setting {
	return setting{"", "COUNTERSIGN_DATABASE_URL", "", "postgres://user:password@host:port/name", text(&s.databaseURL)}
}

// direct is the way past a connection pooler.
func (s *settings) direct() setting {
	return setting{"", "COUNTERSIGN_DATABASE_DIRECT_URL", "",
		"if the database URL leads to a connection pooler: the URL of the server behind it, to listen and to migrate", text(&s.directURL)}
}

// pool is how many connections of the database a process may have.
func (s *settings) pool() setting {
	return setting{"database-connections", "COUNTERSIGN_DATABASE_CONNECTIONS", "16",
		"how many connections of the database this process may have, 4 to 200", number(&s.connections, 4, 200)}
}

// standby configures the server that lists are read from.
func (s *settings) standby() []setting {
	return []setting{
		{"", "COUNTERSIGN_DATABASE_STANDBY_URL", "", "URL of a standby of the database, without a connection pooler: lists of records are read from it", text(&s.standbyURL)},
		{"standby-max-age", "COUNTERSIGN_DATABASE_STANDBY_MAX_AGE", "5s", "how old a list may be that is read from the standby, 1s to 10m; the primary is read beyond", between(&s.standbyAge, time.Second, 10*time.Minute)},
	}
}

func (s *settings) master() setting {
	return setting{"", "COUNTERSIGN_MASTER_KEY", "", "master keys, 32 bytes each in base64 or hex, or wrapped by the root key, the active one first", text(&s.masterKey)}
}

func (s *settings) public() setting {
	return setting{"base-url", "COUNTERSIGN_BASE_URL", "", "public URL of the service, such as https://countersign.example", text(&s.baseURL)}
}

func (s *settings) proxies() setting {
	return setting{"trusted-proxies", "COUNTERSIGN_TRUSTED_PROXIES", "", "networks of the proxies whose X-Forwarded-Host and X-Forwarded-For are believed, such as 10.0.0.0/8; none if it is not set", networks(&s.trustedProxies)}
}

func (s *settings) logging() []setting {
	return []setting{
		{"log-level", "COUNTERSIGN_LOG_LEVEL", "info", "lowest level that is logged: debug, info, warn or error", level(&s.logLevel)},
		{"log-format", "COUNTERSIGN_LOG_FORMAT", "json", "format of log lines: json or text", oneOf(&s.logFormat, logJSON, logText)},
	}
}

func (s *settings) temporal() []setting {
	return []setting{
		{"temporal-address", "COUNTERSIGN_TEMPORAL_ADDRESS", "", "host:port of the Temporal frontend", text(&s.temporalAddress)},
		{"temporal-namespace", "COUNTERSIGN_TEMPORAL_NAMESPACE", "countersign", "Temporal namespace", text(&s.temporalNamespace)},
		{"", "COUNTERSIGN_TEMPORAL_API_KEY", "", "API key for Temporal Cloud; implies TLS", text(&s.temporalAPIKey)},
		{"temporal-tls", "COUNTERSIGN_TEMPORAL_TLS", "false", "true connects to Temporal with TLS", boolean(&s.temporalTLS)},
		{"temporal-ca", "COUNTERSIGN_TEMPORAL_CA", "", "file with the CA certificates to verify Temporal with", text(&s.temporalCA)},
		{"temporal-cert", "COUNTERSIGN_TEMPORAL_CERT", "", "file with the client certificate for mutual TLS", text(&s.temporalCert)},
		{"temporal-cert-key", "COUNTERSIGN_TEMPORAL_CERT_KEY", "", "file with the key of the client certificate", text(&s.temporalCertKey)},
	}
}

// addresses are the ports; an empty defaultListen leaves out the API's.
func (s *settings) addresses(defaultListen string) []setting {
	table := []setting{
		{"ops-listen", "COUNTERSIGN_OPS_LISTEN", ":9090", "host:port for metrics and health", text(&s.opsListen)},
		{"profiling", "COUNTERSIGN_PROFILING", "false", "true serves Go profiles under /debug/pprof/ on the operations port", boolean(&s.profiling)},
	}
	if defaultListen == "" {
		return table
	}
	return append(table, setting{"listen", "COUNTERSIGN_LISTEN", defaultListen, "host:port for the API", text(&s.listen)})
}

func (s *settings) ui() setting {
	return setting{"temporal-ui", "COUNTERSIGN_TEMPORAL_UI", "", "URL of the Temporal UI that the console links to, such as https://temporal.example", text(&s.temporalUI)}
}

func (s *settings) webhooks() setting {
	return setting{"webhook-allow-loopback", "COUNTERSIGN_WEBHOOK_ALLOW_LOOPBACK", "false",
		"true allows webhook endpoints on this machine; for development only", boolean(&s.webhookLoopback)}
}

// providers configures where identity providers of the console may be.
func (s *settings) providers() setting {
	return setting{"oidc-networks", "COUNTERSIGN_OIDC_NETWORKS", "",
		"networks of your own in which identity providers may be, such as 10.20.0.0/16,10.30.0.7/32; public addresses always may", networks(&s.oidcNetworks)}
}

// providerPolicy restricts the addresses of identity providers.
func (s *settings) providerPolicy() webhook.Policy {
	return webhook.Policy{AllowLoopback: s.webhookLoopback, Allow: s.oidcNetworks}
}

// destinations configures where destinations of the log may be.
func (s *settings) destinations() setting {
	return setting{"destination-networks", "COUNTERSIGN_DESTINATION_NETWORKS", "",
		"networks of your own in which destinations of the log may be, such as 10.20.0.0/16,10.30.0.7/32; public addresses always may", networks(&s.destinationNetworks)}
}

// destinationPolicy restricts the addresses of destinations of the log.
func (s *settings) destinationPolicy() webhook.Policy {
	return webhook.Policy{AllowLoopback: s.webhookLoopback, Allow: s.destinationNetworks, Ports: destination.Ports}
}

// dataProtection configures which data is stored and for how long.
func (s *settings) dataProtection() []setting {
	return []setting{
		{"research", "COUNTERSIGN_RESEARCH", "false", "true stores feature vectors for research if environment, page and subject agree", boolean(&s.research)},
		{"retention", "COUNTERSIGN_RETENTION", "", "days until classes of data are deleted, such as frames=30d,authorizations=2555d", retention(&s.retention)},
	}
}

func (s *settings) streams() setting {
	return setting{"streams-per-environment", "COUNTERSIGN_STREAMS_PER_ENVIRONMENT", "100",
		"most event streams of one environment on one process, 1 to 16384", integer(&s.streamsEach, 1, 16384)}
}

// collectors configures what OpenTelemetry collectors get, the endpoints first: nothing without an endpoint.
func (s *settings) collectors() []setting {
	return []setting{
		{"traces-endpoint", "COUNTERSIGN_TRACES_ENDPOINT", "", "URL of an OpenTelemetry collector (OTLP over HTTP), such as http://collector:4318", text(&s.tracesEndpoint)},
		{"metrics-endpoint", "COUNTERSIGN_METRICS_ENDPOINT", "", "URL of an OpenTelemetry collector (OTLP over HTTP) that gets the metrics of /metrics every 15 s, such as http://collector:4318", text(&s.metricsEndpoint)},
		{"traces-ratio", "COUNTERSIGN_TRACES_RATIO", "1", "share of the traces started here that is sent, 0 to 1", ratio(&s.tracesRatio)},
	}
}

// dataOptions copies the settings about data into o.
func (s *settings) dataOptions(o *wiring.Options) {
	o.Research, o.Retention, o.StreamsEach, o.TrustedProxies = s.research, s.retention, s.streamsEach, s.trustedProxies
}

// localDir is the folder of make run.
const localDir = ".data"

// useLocal takes the database, the master key and the public URL of make run if no database is set and its folder has them.
func (s *settings) useLocal() error {
	if s.databaseURL != "" {
		return nil
	}
	state, err := dev.ReadState(s.dir)
	if err != nil || state.DatabaseURL == "" {
		return err
	}
	s.databaseURL, s.baseURL = state.DatabaseURL, cmp.Or(s.baseURL, state.BaseURL)
	if s.masterKey == "" {
		s.masterKey, err = dev.MasterKey(s.dir)
	}
	return err
}

// needDatabase returns an error if the database URL is missing.
func (s *settings) needDatabase() error {
	if s.databaseURL == "" {
		return usage("COUNTERSIGN_DATABASE_URL is not set: want postgres://user:password@host:port/name")
	}
	return nil
}

// needTemporal returns an error if Temporal's address is missing.
func (s *settings) needTemporal() error {
	if s.temporalAddress == "" {
		return usage("COUNTERSIGN_TEMPORAL_ADDRESS is not set: want host:port of the Temporal frontend")
	}
	return nil
}

// publicURL returns the base URL without a slash at the end. It must be https, or http on this machine.
func (s *settings) publicURL() (string, error) {
	origin, err := webname.Origin(strings.TrimRight(s.baseURL, "/"))
	if err != nil {
		return "", usage("COUNTERSIGN_BASE_URL is not set to a URL without a path, such as https://countersign.example")
	}
	host := webname.HostOf(origin)
	if local := host == "localhost" || host == "127.0.0.1" || host == "::1" || host == "[::1]"; !local && !strings.HasPrefix(origin, "https:") {
		return "", usage("COUNTERSIGN_BASE_URL must be https, except on localhost")
	}
	return origin, nil
}

// tlsConfig returns the TLS configuration for Temporal; nil is plain text. An API key is never sent in plain text.
func (s *settings) tlsConfig() (*tls.Config, error) {
	if !s.temporalTLS && s.temporalAPIKey == "" && s.temporalCA == "" && s.temporalCert == "" {
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
			return nil, usage("COUNTERSIGN_TEMPORAL_CA: %s contains no certificate", s.temporalCA)
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

func (s *settings) temporalOptions() (workflows.DialOptions, error) {
	c, err := s.tlsConfig()
	return workflows.DialOptions{Address: s.temporalAddress, Namespace: s.temporalNamespace, APIKey: s.temporalAPIKey, TLS: c}, err
}

// logger writes to w in the configured format.
func (s *settings) logger(w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: s.logLevel}
	if s.logFormat == logText {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

var errInterrupted = errors.New("interrupted")
