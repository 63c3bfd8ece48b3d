// Package signal receives security events about subjects from identity providers: OpenID Shared Signals 1.0 with the events of CAEP 1.0 and RISC 1.0, pushed
// (RFC 8935) or polled (RFC 8936).
//
// A stream is an issuer whose events an environment takes. A token is verified before anything in it is believed; then each event is stored, and does to
// the subject that it names what the stream says: end sessions, void what is open, require challenges for a time. Aliases say whom an event names
// (package alias). A repeated token, an unknown subject and an unknown event are acknowledged like any other. An event counts from when it happened:
// what was opened later stays.
//
// The package stores neither tokens nor what they say beside the type and the time of an event.
package signal

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/foreignjwt"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/alias"
	"github.com/countersign-dev/countersign/models"
)

// Path is the path of push delivery, before the id of the stream.
const Path = "/api/v1/signals/"

// Deps are the dependencies of a Service. All are required.
type Deps struct {
	Store   *pg.Store
	Keys    *keyring.Keyring
	Clock   clock.Clock
	Aliases *alias.Service
	// Subjects revokes subjects, if an operator has an event do that.
	Subjects *subject.Service
	// Client makes the requests to issuers. It must check the address of every connection.
	Client *http.Client
	// CheckURL returns a sentence that says why the Client would refuse a URL; empty if it would not.
	CheckURL func(url string) string
	BaseURL  string // without a slash at the end
}

// Service receives the events of all environments. It is safe for concurrent use.
type Service struct {
	store    *pg.Store
	sealer   *keyring.Keyring
	clock    clock.Clock
	aliases  *alias.Service
	subjects *subject.Service
	client   *http.Client
	check    func(string) string
	base     string
	keys     *foreignjwt.Keys
	rate     rate
}

// New returns the service.
func New(d Deps) *Service {
	client := foreignjwt.Client(d.Client, d.CheckURL, d.Clock)
	return &Service{
		store: d.Store, sealer: d.Keys, clock: d.Clock, aliases: d.Aliases, subjects: d.Subjects, client: client, check: d.CheckURL, base: d.BaseURL,
		keys: foreignjwt.NewKeys(client, d.Clock), rate: rate{of: map[string]*bucket{}},
	}
}

func unavailable(detail string, cause error) error { return problem.NewUnavailable(detail, cause) }

// Push receives a token that the issuer of a stream pushed. It returns a Refusal for one that is not taken, and the problems rate_limited and
// unavailable.
func (s *Service) Push(ctx context.Context, of models.SignalStream, raw string) error {
	if wait := s.rate.take(of.TenantID+" "+of.Issuer, s.clock.Now()); wait > 0 {
		return &problem.Error{Code: problem.RateLimited, Detail: "The issuer sent more than 100 tokens within a second.", RetryAfter: wait}
	}
	t, err := s.receive(ctx, of, raw)
	if noted := s.note(ctx, of, t, err); err == nil {
		err = noted
	}
	return err
}

// receive verifies a token and lets its events take effect.
func (s *Service) receive(ctx context.Context, of models.SignalStream, raw string) (token, error) {
	t, err := s.read(ctx, of, raw)
	if err != nil {
		return t, err
	}
	return t, s.store.Write(ctx, func(q *pg.Q) error {
		r := receiving{service: s, q: q.AsStored(), of: of, at: s.clock.Now()}
		digest := sha256.Sum256([]byte(t.id))
		r.token = digest[:]
		for _, e := range t.events {
			fresh, err := r.event(ctx, e)
			if err != nil || !fresh {
				return err
			}
		}
		return nil
	})
}

// noteEvery is how often the last reception of a stream is stored.
const noteEvery = 10 * time.Second

// note stores for operators when a token was received or why it was refused, and the status of the stream that the issuer reports.
func (s *Service) note(ctx context.Context, of models.SignalStream, t token, err error) error {
	n := notice{at: s.clock.Now()}
	for _, e := range t.events {
		if e.kind == streamUpdated && slices.Contains([]string{"enabled", "paused", "disabled"}, e.state) {
			n.status = e.state
		}
	}
	if err != nil {
		said := "The service could not take a token."
		var refusal *Refusal
		if errors.As(err, &refusal) {
			said = refusal.Description
		} else if p := problem.As(err); p.Code == problem.Unavailable {
			said = p.Detail
		}
		n.fault = &said
	}
	if n.status == "" && text(n.fault) == text(of.LastError) && of.ReceivedAt != nil && n.at.Sub(*of.ReceivedAt) < noteEvery {
		return nil
	}
	return noteStream(ctx, s.store.Q, of, n)
}

// receiving is the reception of one token in a transaction.
type receiving struct {
	service *Service
	q       *pg.Q
	of      models.SignalStream
	token   []byte
	place   int
	at      time.Time
}

func (r *receiving) scope() pg.Scope {
	return pg.Scope{Tenant: r.of.TenantID, Environment: r.of.EnvironmentID}
}

// event stores an event and lets it take effect. It returns false if the token was received before: then nothing happens.
func (r *receiving) event(ctx context.Context, e event) (fresh bool, err error) {
	var subjects []string
	if e.kind != verification && e.kind != streamUpdated {
		if subjects, err = r.service.aliases.Find(ctx, r.q, r.scope(), e.names); err != nil {
			return false, err
		}
	}
	if len(subjects) == 0 {
		return r.store(ctx, r.row(e, nil))
	}
	for _, uid := range subjects {
		row := r.row(e, &uid)
		if !e.eased {
			row.Effects = namesOfEffects(r.effects(e.kind))
		}
		if fresh, err = r.store(ctx, row); err != nil || !fresh {
			return fresh, err
		}
		if err := r.apply(ctx, row); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (r *receiving) row(e event, uid *string) models.Signal {
	return models.Signal{
		ID: ids.New(ids.Signal), TenantID: r.of.TenantID, EnvironmentID: r.of.EnvironmentID, StreamID: r.of.ID, Token: r.token, Type: e.kind, Eased: e.eased,
		SubjectUID: uid, At: e.at, ReceivedAt: r.at, Effects: models.Strings{},
	}
}

func (r *receiving) store(ctx context.Context, row models.Signal) (bool, error) {
	row.Place = r.place
	r.place++
	return addSignal(ctx, r.q, row)
}

// effects returns what events of a type do on the stream.
func (r *receiving) effects(kind string) models.SignalEffects {
	var own map[string]models.SignalEffects
	if json.Unmarshal(r.of.Effects, &own) == nil { // written by streamRow
		if e, has := own[kind]; has {
			return e
		}
	}
	return defaults[kind]
}

func namesOfEffects(e models.SignalEffects) models.Strings {
	out := models.Strings{}
	for _, effect := range []struct {
		name string
		on   bool
	}{{EffectRevoke, e.Revoke}, {EffectEndSessions, e.EndSessions}, {EffectVoidProofs, e.VoidProofs}, {EffectChallenge, e.ChallengeSeconds > 0}} {
		if effect.on {
			out = append(out, effect.name)
		}
	}
	return out
}

// apply lets an event take effect on the subject of its row, and records it. What was opened after the event stays.
func (r *receiving) apply(ctx context.Context, row models.Signal) error {
	sub, err := subjectrow.LockByUID(ctx, r.q, r.scope(), *row.SubjectUID)
	if errors.Is(err, pg.ErrNotFound) { // erased since
		return nil
	}
	if err != nil {
		return err
	}
	data := events.SignalReceivedData{Signal: row.ID, Stream: r.of.ID, Type: row.Type, HappenedAt: apitime.Time(row.At), Effects: row.Effects}
	does := models.SignalEffects{}
	if !row.Eased {
		does = r.effects(row.Type)
	}
	entry := events.Entry{Scope: r.scope(), At: r.at, SubjectUID: sub.UID, Subject: sub.ExternalID, Actor: "signal_stream:" + r.of.ID, Data: data}
	if err := events.Append(ctx, r.q, entry); err != nil {
		return err
	}
	void := subject.Void{Subject: sub, At: r.at, Before: row.At, Actor: entry.Actor}
	if does.Revoke {
		if err := r.service.subjects.RevokeIn(ctx, r.q, void, ""); err != nil {
			return err
		}
	}
	for _, e := range []struct {
		on     bool
		reason string
	}{{does.EndSessions, subject.ReasonSessionsRevoked}, {does.VoidProofs, subject.ReasonAccountAtRisk}} {
		if void.Reason = e.reason; !e.on {
			continue
		}
		if err := void.Open(ctx, r.q); err != nil {
			return err
		}
	}
	if until := row.At.Add(time.Duration(does.ChallengeSeconds) * time.Second); until.After(r.at) {
		return subject.Suspect(ctx, r.q, until, entry)
	}
	return subject.Touch(ctx, r.q, r.scope(), sub.UID, r.at)
}

// perSecond is how many tokens an issuer may push within a second to one process.
const perSecond = 100

// rate counts what issuers push, by tenant and issuer.
type rate struct {
	mu sync.Mutex
	of map[string]*bucket
}

// bucket has room for perSecond tokens, which refills within a second.
type bucket struct {
	free float64
	at   time.Time
}

// maxBuckets bounds the memory of a rate: those beyond are forgotten, full or not.
const maxBuckets = 10_000

// take counts a token of an issuer; it returns how long to wait if there is no room.
func (r *rate) take(issuer string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.of[issuer]
	if b == nil {
		if len(r.of) >= maxBuckets {
			clear(r.of)
		}
		b = &bucket{free: perSecond, at: now}
		r.of[issuer] = b
	}
	b.free, b.at = min(perSecond, b.free+max(0, now.Sub(b.at).Seconds())*perSecond), now
	if b.free < 1 {
		return time.Second
	}
	b.free--
	return 0
}
