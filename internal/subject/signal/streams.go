package signal

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/foreignjwt"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	pushPurpose = "signal-push" // of the keyring
	pollPurpose = "signal-poll"
	pushPrefix  = "set_"
	pushLength  = len(pushPrefix) + 43 // 256 bits in base64url

	// maxStreams bounds the issuers of an environment, maxText a text of the settings and a token, and maxKeySet the keys in bytes.
	maxStreams = 20
	maxText    = 512
	maxSecret  = 4096
	maxKeySet  = 64 << 10
)

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

var _ change.SignalStreams = (*Service)(nil)

// Check implements change.SignalStreams.
func (s *Service) Check(in change.SignalStream) error {
	bad := func(format string, args ...any) error { return problem.Newf(problem.BadRequest, format, args...) }
	if !validName.MatchString(in.Name) {
		return bad("name must be 1 to 32 lower-case letters, digits and hyphens, beginning with a letter or digit.")
	}
	for field, text := range map[string]string{"issuer": in.Issuer, "audience": in.Audience} {
		if n := utf8.RuneCountInString(text); n < 1 || n > maxText || displaytext.Fault(text) != "" {
			return bad("%s must have 1 to %d printable characters; it has %d.", field, maxText, n)
		}
	}
	if (in.KeysURL == "") == (len(in.Keys) == 0) {
		return bad("One of keys_url and keys is needed: where the issuer publishes its keys, or the keys.")
	}
	for field, url := range map[string]string{"keys_url": in.KeysURL, "poll_url": in.PollURL} {
		if fault := s.check(url); url != "" && (fault != "" || len(url) > maxText) {
			return bad("%s cannot be used: %s Networks of your own are allowed by COUNTERSIGN_OIDC_NETWORKS.", field, fault)
		}
	}
	if len(in.Keys) > 0 {
		if _, n, err := foreignjwt.Parse(in.Keys); err != nil || n == 0 || len(in.Keys) > maxKeySet {
			return bad("keys must be a key set (RFC 7517) of at most %d bytes with a public key for signatures.", maxKeySet)
		}
	}
	for kind, e := range in.Effects {
		if !slices.Contains(rules.SignalTypes, kind) {
			return bad("effects names the unknown type %q; the types are %s.", kind, strings.Join(rules.SignalTypes, ", "))
		}
		if e.ChallengeSeconds < 0 || e.ChallengeSeconds > int(maxChallenge/time.Second) {
			return bad("challenge_seconds of %s must be 0 to %d.", kind, int(maxChallenge/time.Second))
		}
	}
	return nil
}

// Settings implements change.SignalStreams.
func (s *Service) Settings(ctx context.Context, q *pg.Q, scope pg.Scope, name string, lock bool) (change.SignalStream, error) {
	row, err := getStream(ctx, q, scope, name, lock)
	if err != nil {
		return change.SignalStream{}, err
	}
	return settingsOf(row)
}

func settingsOf(row models.SignalStream) (change.SignalStream, error) {
	out := change.SignalStream{
		Name: row.Name, Issuer: row.Issuer, Audience: row.Audience, KeysURL: text(row.KeysURL), Keys: json.RawMessage(row.Keys), PollURL: text(row.PollURL),
	}
	err := json.Unmarshal(row.Effects, &out.Effects)
	return out, err
}

// SetIn implements change.SignalStreams. Tokens stay.
func (s *Service) SetIn(ctx context.Context, q *pg.Q, by action.Author, in change.SignalStream) error {
	if err := s.Check(in); err != nil {
		return err
	}
	row, err := getStream(ctx, q, by.Scope, in.Name, true)
	if errors.Is(err, pg.ErrNotFound) { // of two requests for a new one, the later changes what the earlier made
		if _, err := tenancy.LockEnvironment(ctx, q, by.Scope); err != nil {
			return err
		}
		row, err = getStream(ctx, q, by.Scope, in.Name, true)
	}
	fresh := errors.Is(err, pg.ErrNotFound)
	if err != nil && !fresh {
		return err
	}
	if fresh {
		all, err := listStreams(ctx, q, by.Scope)
		if err != nil {
			return err
		}
		if len(all) >= maxStreams {
			return problem.Newf(problem.Conflict, "The environment has %d issuers of security events, which is the maximum.", maxStreams)
		}
		row = models.SignalStream{ID: ids.New(ids.SignalStream), TenantID: by.Scope.Tenant, EnvironmentID: by.Scope.Environment, Name: in.Name, Status: "enabled", CreatedAt: by.At}
	}
	row.Issuer, row.Audience, row.KeysURL, row.Keys, row.PollURL, row.UpdatedAt = in.Issuer, in.Audience, optional(in.KeysURL), models.JSON(in.Keys), optional(in.PollURL), by.At
	if in.Effects == nil {
		in.Effects = map[string]models.SignalEffects{}
	}
	if row.Effects, err = json.Marshal(in.Effects); err != nil {
		return err
	}
	if fresh {
		err = createStream(ctx, q, row)
	} else {
		err = changeStream(ctx, q, row)
	}
	if err != nil {
		return err
	}
	keys := in.KeysURL
	if keys == "" {
		digest := sha256.Sum256(in.Keys)
		keys = "sha256:" + hex.EncodeToString(digest[:])
	}
	return record(ctx, q, by, events.SignalStreamChangedData{
		Stream: row.ID, Name: row.Name, Issuer: row.Issuer, Audience: row.Audience, Keys: keys, PollURL: in.PollURL, Effects: Described(in.Effects),
	})
}

// Described returns effects in words, such as "session-revoked: end_sessions, challenge 3600".
func Described(effects map[string]models.SignalEffects) []string {
	out := []string{}
	for _, kind := range slices.Sorted(maps.Keys(effects)) {
		e := effects[kind]
		names := namesOfEffects(e)
		for i, n := range names {
			if n == EffectChallenge {
				names[i] = fmt.Sprintf("%s %d", n, e.ChallengeSeconds)
			}
		}
		if len(names) == 0 {
			names = models.Strings{"none"}
		}
		out = append(out, kind+": "+strings.Join(names, ", "))
	}
	return out
}

// RemoveIn implements change.SignalStreams. The events that were received stay.
func (s *Service) RemoveIn(ctx context.Context, q *pg.Q, by action.Author, name string) error {
	row, err := removeStream(ctx, q.AsStored(), by.Scope, name)
	if errors.Is(err, pg.ErrNotFound) {
		return problem.NewNotFound()
	}
	if err != nil {
		return err
	}
	return record(ctx, q, by, events.SignalStreamRemovedData{Stream: row.ID, Name: name})
}

func record(ctx context.Context, q *pg.Q, by action.Author, data events.Data) error {
	return events.Append(ctx, q, events.Entry{Scope: by.Scope, At: by.At, Actor: by.Actor, RequestID: by.RequestID, WorkflowID: by.WorkflowID, Data: data})
}

// IssuePushToken returns a new token with which the issuer of a stream pushes. It is shown this once, and the one of before ends.
func (s *Service) IssuePushToken(ctx context.Context, scope pg.Scope, name, actor string) (string, error) {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // crypto/rand.Read never returns an error
	token := pushPrefix + base64.RawURLEncoding.EncodeToString(raw)
	return token, s.setToken(ctx, scope, name, actor, "push", func(row *models.SignalStream) error {
		row.PushMAC = s.sealer.MAC(pushPurpose, []byte(token))
		return nil
	})
}

// SetPollToken stores the token with which events of a stream are polled.
func (s *Service) SetPollToken(ctx context.Context, scope pg.Scope, name, token, actor string) error {
	if token == "" || len(token) > maxSecret || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return problem.Newf(problem.BadRequest, "The token must have 1 to %d printable ASCII characters without spaces.", maxSecret)
	}
	return s.setToken(ctx, scope, name, actor, "poll", func(row *models.SignalStream) (err error) {
		row.PollToken, err = s.sealer.Seal(pollPurpose, []byte(token), []byte(row.ID))
		return err
	})
}

func (s *Service) setToken(ctx context.Context, scope pg.Scope, name, actor, use string, set func(*models.SignalStream) error) error {
	now := s.clock.Now()
	return s.store.Write(ctx, func(q *pg.Q) error {
		row, err := getStream(ctx, q, scope, name, true)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		if err := set(&row); err != nil {
			return err
		}
		row.UpdatedAt = now
		if err := changeStream(ctx, q, row); err != nil {
			return err
		}
		return record(ctx, q, action.Author{Scope: scope, Actor: actor, At: now}, events.SignalTokenIssuedData{Stream: row.ID, Use: use})
	})
}

// Authenticate returns the stream of a push token. Every rejection is the same problem, unauthenticated.
func (s *Service) Authenticate(ctx context.Context, token string) (models.SignalStream, error) {
	refused := problem.New(problem.Unauthenticated, "The token is missing, malformed or ended.")
	if len(token) != pushLength || !strings.HasPrefix(token, pushPrefix) {
		return models.SignalStream{}, refused
	}
	row, err := streamByMAC(ctx, s.store.Q, s.sealer.MACs(pushPurpose, []byte(token)))
	if errors.Is(err, pg.ErrNotFound) {
		return row, refused
	}
	return row, err
}

// Stream is an issuer of security events as operators see it.
type Stream struct {
	models.SignalStream
	Settings change.SignalStream
	PushURL  string
}

// List returns the issuers of an environment by name.
func (s *Service) List(ctx context.Context, scope pg.Scope) ([]Stream, error) {
	rows, err := listStreams(ctx, s.store.Q, scope)
	out := make([]Stream, len(rows))
	for i, row := range rows {
		settings, fault := settingsOf(row)
		if err = errors.Join(err, fault); err != nil {
			return nil, err
		}
		out[i] = Stream{SignalStream: row, Settings: settings, PushURL: s.base + Path + row.ID}
	}
	return out, err
}

// Shown is how many of the newest events of a stream operators see.
const Shown = 50

// Received is a received event with the relying party's id of its subject; empty for one that is not known.
type Received struct {
	models.Signal
	Subject string
}

// Newest returns the newest events of a stream.
func (s *Service) Newest(ctx context.Context, scope pg.Scope, stream string) ([]Received, error) {
	return newestSignals(ctx, s.store.Q, scope, stream, Shown)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
