// Package destination pushes the sealed log of an environment to systems outside: as OTLP logs, as OCSF events over HTTPS, and as OCSF events in syslog
// messages over TLS. Package siem has the form of an entry.
//
// A destination has a position in the chain: the number of the last entry that its receiver confirmed. One process at a time sends to it, the batch behind
// the position and nothing before that is confirmed. So no entry is omitted, entries arrive in order, and at most one batch is repeated after an
// interruption. Nothing waits for a destination: its entries are in the log, and it reads them when it can.
package destination

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	purpose = "destination-credentials" // of the keyring

	// maxEach bounds the destinations of an environment, maxURL an address, maxSecret the value of a header, maxPEM certificates and keys in bytes.
	maxEach   = 10
	maxURL    = 2048
	maxSecret = 4096
	maxPEM    = 32 << 10
)

// Ports of receivers that destinations may name: HTTPS, OTLP over HTTP, syslog over TLS, and the HTTP Event Collector of Splunk.
var Ports = []uint16{443, 8443, 4318, 6514, 8088}

// Encodings of a body.
const (
	EncodingProtobuf = "protobuf"
	EncodingJSON     = "json"
	EncodingLines    = "lines" // one event a line
	EncodingArray    = "array"
)

// encodings are those of a kind, the default first.
var encodings = map[models.DestinationKind][]string{
	models.DestinationOTLP:   {EncodingProtobuf, EncodingJSON},
	models.DestinationHTTPS:  {EncodingLines, EncodingArray},
	models.DestinationSyslog: {""},
}

// SyslogScheme is the scheme of the address of a syslog server.
const SyslogScheme = "tls"

const defaultHeader = "Authorization"

var (
	validName   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
	validHeader = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
)

// ownHeaders are set by the sender.
var ownHeaders = []string{"Host", "Connection", "Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Accept-Encoding", "User-Agent"}

// Deps are the dependencies of a Service. All are required.
type Deps struct {
	Store *pg.Store
	Keys  *keyring.Keyring
	Clock clock.Clock
	// Policy restricts the addresses. It is checked at each connection.
	Policy  webhook.Policy
	Log     *slog.Logger
	BaseURL string // its host is the name of the sender of syslog messages
}

// Service has the destinations of all environments and sends to them. It is safe for concurrent use.
type Service struct {
	store  *pg.Store
	keys   *keyring.Keyring
	clock  clock.Clock
	policy webhook.Policy
	log    *slog.Logger
	host   string

	look, wait time.Duration // lookEvery and firstWait
}

var _ change.Destinations = (*Service)(nil)

// New returns the service.
func New(d Deps) *Service {
	s := &Service{store: d.Store, keys: d.Keys, clock: d.Clock, policy: d.Policy, log: d.Log, host: "-", look: lookEvery, wait: firstWait}
	if u, err := url.Parse(d.BaseURL); err == nil && u.Hostname() != "" {
		s.host = u.Hostname()
	}
	return s
}

// Check implements change.Destinations.
func (s *Service) Check(in change.Destination) (change.Destination, error) {
	bad := func(field, format string, args ...any) (change.Destination, error) {
		return in, problem.Invalid([]any{"body", field}, fmt.Sprintf(format, args...), "value_error")
	}
	if !validName.MatchString(in.Name) {
		return bad("name", "name must be 1 to 32 lower-case letters, digits and hyphens, beginning with a letter or digit.")
	}
	allowed, ok := encodings[in.Kind]
	if !ok {
		return bad("kind", "kind must be otlp, https or syslog.")
	}
	if in.Encoding == "" {
		in.Encoding = allowed[0]
	}
	if !slices.Contains(allowed, in.Encoding) {
		return bad("encoding", "encoding of %s must be %s.", in.Kind, strings.Join(allowed, " or "))
	}
	if fault := s.checkURL(in.Kind, in.URL); fault != "" {
		return bad("url", "%s Networks of your own are allowed by COUNTERSIGN_DESTINATION_NETWORKS.", fault)
	}
	switch {
	case in.Kind == models.DestinationSyslog && in.Header != "":
		return bad("header", "syslog has no header.")
	case in.Kind == models.DestinationSyslog:
	case in.Header == "":
		in.Header = defaultHeader
	default:
		in.Header = textproto.CanonicalMIMEHeaderKey(in.Header)
		if !validHeader.MatchString(in.Header) || slices.Contains(ownHeaders, in.Header) {
			return bad("header", "header must be the name of a header for a credential, such as Authorization or X-Api-Key.")
		}
	}
	if in.CA != "" && (len(in.CA) > maxPEM || !certificates(in.CA)) {
		return bad("ca", "ca must have certificates in PEM, of at most %d bytes.", maxPEM)
	}
	in.Since = stored(in.Since)
	return in, nil
}

// checkURL returns a sentence that says why an address cannot be used; empty if it can.
func (s *Service) checkURL(kind models.DestinationKind, raw string) string {
	if len(raw) > maxURL {
		return "url is too long."
	}
	if kind != models.DestinationSyslog {
		return s.policy.CheckURL(raw)
	}
	rest, ok := strings.CutPrefix(raw, SyslogScheme+"://")
	if !ok || strings.ContainsAny(rest, "/?#") {
		return "url of a syslog server must be tls://HOST:PORT, such as tls://logs.example.com:6514."
	}
	if u, err := url.Parse(raw); err == nil && u.Port() == "" {
		return "url of a syslog server must name the port, such as 6514."
	}
	return s.policy.CheckURL("https://" + rest)
}

// certificates reports whether a text consists of certificates in PEM.
func certificates(text string) bool {
	rest, n := []byte(text), 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return n > 0 && len(strings.TrimSpace(string(rest))) == 0
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil || block.Type != "CERTIFICATE" {
			return false
		}
		n++
	}
}

// Settings implements change.Destinations.
func (s *Service) Settings(ctx context.Context, q *pg.Q, scope pg.Scope, name string, lock bool) (change.Destination, error) {
	row, err := getDestination(ctx, q, scope, name, lock)
	return settingsOf(row), err
}

// stored returns a time in its stored form.
func stored(at *time.Time) *time.Time {
	if at == nil {
		return nil
	}
	out := at.UTC().Truncate(time.Microsecond)
	return &out
}

func settingsOf(row models.ExportDestination) change.Destination {
	return change.Destination{Name: row.Name, Kind: row.Kind, URL: row.URL, Encoding: row.Encoding, Header: row.Header, CA: row.CA, Since: stored(row.Since)}
}

// SetIn implements change.Destinations. The position stays. The credentials end with the address that they were made for.
func (s *Service) SetIn(ctx context.Context, q *pg.Q, by action.Author, in change.Destination) error {
	in, err := s.Check(in)
	if err != nil {
		return err
	}
	row, err := getDestination(ctx, q, by.Scope, in.Name, true)
	if errors.Is(err, pg.ErrNotFound) { // of two requests for a new one, the later changes what the earlier made
		if _, err := tenancy.LockEnvironment(ctx, q, by.Scope); err != nil {
			return err
		}
		row, err = getDestination(ctx, q, by.Scope, in.Name, true)
	}
	fresh := errors.Is(err, pg.ErrNotFound)
	if err != nil && !fresh {
		return err
	}
	if fresh {
		if row, err = s.begin(ctx, q, by, in); err != nil {
			return err
		}
	}
	ended := row.Credentials != nil && (row.URL != in.URL || row.Kind != in.Kind || row.Header != in.Header)
	if ended {
		row.Credentials = nil
	}
	row.Kind, row.URL, row.Encoding, row.Header, row.CA, row.Since, row.UpdatedAt = in.Kind, in.URL, in.Encoding, in.Header, in.CA, in.Since, by.At
	row.NextAttemptAt = by.At
	if fresh {
		err = createDestination(ctx, q, row)
	} else {
		err = changeDestination(ctx, q, row)
	}
	if err != nil {
		return err
	}
	u, err := url.Parse(row.URL)
	if err != nil {
		return err
	}
	return record(ctx, q, by, events.DestinationChangedData{Destination: row.ID, Name: row.Name, Kind: string(row.Kind), Host: u.Host, CredentialsEnded: ended})
}

// begin returns a new destination. Without a time since when entries are sent it begins behind those that are sealed.
func (s *Service) begin(ctx context.Context, q *pg.Q, by action.Author, in change.Destination) (models.ExportDestination, error) {
	row := models.ExportDestination{ID: ids.New(ids.Destination), TenantID: by.Scope.Tenant, EnvironmentID: by.Scope.Environment, Name: in.Name, CreatedAt: by.At}
	all, err := listDestinations(ctx, q, by.Scope)
	if err != nil {
		return row, err
	}
	if len(all) >= maxEach {
		return row, problem.Newf(problem.Conflict, "The environment has %d destinations, which is the maximum.", maxEach)
	}
	if in.Since != nil {
		return row, nil
	}
	head, err := audit.HeadOf(ctx, q, by.Scope)
	if errors.Is(err, pg.ErrNotFound) {
		return row, nil
	}
	row.Position = head.Seq
	return row, err
}

// RemoveIn implements change.Destinations.
func (s *Service) RemoveIn(ctx context.Context, q *pg.Q, by action.Author, name string) error {
	row, err := removeDestination(ctx, q.AsStored(), by.Scope, name)
	if errors.Is(err, pg.ErrNotFound) {
		return problem.NewNotFound()
	}
	if err != nil {
		return err
	}
	return record(ctx, q, by, events.DestinationRemovedData{Destination: row.ID, Name: name, Position: row.Position})
}

func record(ctx context.Context, q *pg.Q, by action.Author, data events.Data) error {
	return events.Append(ctx, q, events.Entry{Scope: by.Scope, At: by.At, Actor: by.Actor, RequestID: by.RequestID, WorkflowID: by.WorkflowID, Data: data})
}

// Credentials authenticate the service to a destination. They are stored sealed and shown to no one.
type Credentials struct {
	Header      string `json:"header,omitempty"`      // value of the header; empty for none
	Certificate string `json:"certificate,omitempty"` // of the client, in PEM with its chain; empty for none
	Key         string `json:"key,omitempty"`         // of the certificate, in PEM
}

func (c Credentials) check(kind models.DestinationKind) error {
	switch {
	case c.Header != "" && kind == models.DestinationSyslog:
		return problem.Invalid([]any{"body", "header"}, "A syslog server takes a certificate, and no header.", "value_error")
	case len(c.Header) > maxSecret || strings.ContainsFunc(c.Header, func(r rune) bool { return r < ' ' || r > '~' }):
		return problem.Invalid([]any{"body", "header"}, fmt.Sprintf("The value of the header must have at most %d printable ASCII characters.", maxSecret), "value_error")
	case c.Certificate == "" && c.Key == "":
		return nil
	case len(c.Certificate) > maxPEM || len(c.Key) > maxPEM:
		return problem.Invalid([]any{"body", "certificate"}, fmt.Sprintf("Certificate and key must have at most %d bytes each.", maxPEM), "value_error")
	}
	if _, err := tls.X509KeyPair([]byte(c.Certificate), []byte(c.Key)); err != nil {
		return problem.Invalid([]any{"body", "certificate"}, "The certificate and the key must be in PEM and belong together.", "value_error")
	}
	return nil
}

// SetCredentials replaces the credentials of a destination; the zero value removes them.
func (s *Service) SetCredentials(ctx context.Context, by action.Author, name string, c Credentials) error {
	by.At = s.clock.Now()
	return s.store.Write(ctx, func(q *pg.Q) error {
		row, err := getDestination(ctx, q, by.Scope, name, true)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		if err := c.check(row.Kind); err != nil {
			return err
		}
		row.Credentials = nil
		if c != (Credentials{}) {
			raw, err := json.Marshal(c)
			if err != nil {
				return err
			}
			if row.Credentials, err = s.keys.Seal(purpose, raw, []byte(row.ID)); err != nil {
				return err
			}
		}
		row.UpdatedAt, row.NextAttemptAt = by.At, by.At
		if err := changeDestination(ctx, q, row); err != nil {
			return err
		}
		return record(ctx, q, by, events.DestinationCredentialsData{Destination: row.ID, Header: c.Header != "", Certificate: c.Certificate != ""})
	})
}

func (s *Service) credentials(row models.ExportDestination) (c Credentials, err error) {
	if row.Credentials == nil {
		return c, nil
	}
	raw, err := s.keys.Open(purpose, row.Credentials, []byte(row.ID))
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(raw, &c)
}

// Destination is a destination as operators see it.
type Destination struct {
	models.ExportDestination
	Behind int64      // entries that are sealed and not confirmed
	Oldest *time.Time // when the first of them was sealed
}

// List returns the destinations of an environment by name.
func (s *Service) List(ctx context.Context, scope pg.Scope) ([]Destination, error) {
	return listDestinations(ctx, s.store.Q, scope)
}

// Get returns a destination by name, or the problem not_found.
func (s *Service) Get(ctx context.Context, scope pg.Scope, name string) (Destination, error) {
	all, err := s.List(ctx, scope)
	if err != nil {
		return Destination{}, err
	}
	for _, d := range all {
		if d.Name == name {
			return d, nil
		}
	}
	return Destination{}, problem.NewNotFound()
}
