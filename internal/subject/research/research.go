// Package research keeps feature vectors for learning, and only where three agree: the subject, who consented; the page,
// whose frame says so; and the deployment, which switched it on for itself and for the environment. A vector is kept under a
// pseudonym, a keyed hash of the subject under a salt that is destroyed when its period ends, so that one person's vectors
// of two periods cannot be told to belong together. What a withdrawal needs to find them is sealed.
//
// The package may not keep a time of day, an id of the session or the frame, or anything else that leads back to the
// subject, and it may not read vectors: learning does (store.ResearchVectors).
package research

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Purposes of the keyring.
const (
	saltPurpose   = "research-salt"      // sealed with the period's id
	linkPurpose   = "research-link"      // sealed with the holder and the period's id
	holderPurpose = "research-pseudonym" // keyed hash of environment and subject
)

// saltSize is the length of a salt in bytes.
const saltSize = 32

// Service keeps and forgets vectors.
type Service struct {
	store   *store.Store
	keys    *keyring.Keyring
	enabled bool
}

// New makes the service. Where enabled is false it keeps nothing, and still forgets what was kept before.
func New(st *store.Store, keys *keyring.Keyring, enabled bool) *Service {
	return &Service{store: st, keys: keys, enabled: enabled}
}

// Vector is what may be kept of a frame.
type Vector struct {
	SubjectUID  string
	DeviceClass string
	Data        []byte // features.Frame in its binary form
	At          time.Time
}

// Keep keeps a vector in the caller's transaction, where deployment, environment and subject agree; it reports whether it
// did. The caller asks it only where the frame says so. A nil service keeps nothing.
func (s *Service) Save(ctx context.Context, q *store.Q, scope store.Scope, v Vector) (bool, error) {
	if s == nil || !s.enabled {
		return false, nil
	}
	period, err := s.currentPeriod(ctx, q, scope.Environment, v.At)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	pseudonym, err := s.pseudonym(period, v.SubjectUID)
	if err != nil {
		return false, err
	}
	holder := s.keys.MAC(holderPurpose, []byte(scope.Environment), []byte(v.SubjectUID))
	sealed, err := s.keys.Seal(linkPurpose, pseudonym, linkContext(holder, period.ID))
	if err != nil {
		return false, err
	}
	return q.Research().SaveVector(ctx, scope, v.SubjectUID, models.ResearchVector{
		ID: ids.Timeless(ids.Research), Pseudonym: pseudonym, DeviceClass: v.DeviceClass, Vector: v.Data, CreatedAt: day(v.At),
	}, models.ResearchLink{Holder: holder, PeriodID: period.ID, Pseudonym: sealed})
}

// period is the one under way, begun where there is none. ErrNotFound where research is off for the environment.
func (s *Service) currentPeriod(ctx context.Context, q *store.Q, environment string, at time.Time) (models.ResearchPeriod, error) {
	p, err := q.Research().Period(ctx, environment)
	if !errors.Is(err, store.ErrNotFound) {
		return p, err
	}
	fresh, err := s.newPeriod(environment, at)
	if err != nil {
		return p, err
	}
	if err := q.Research().BeginPeriod(ctx, fresh); err != nil {
		return p, err
	}
	return q.Research().Period(ctx, environment) // another's, where it was first
}

func (s *Service) newPeriod(environment string, at time.Time) (models.ResearchPeriod, error) {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails: it ends the process instead
	p := models.ResearchPeriod{ID: ids.New(ids.ResearchPeriod), EnvironmentID: environment, StartedAt: at}
	var err error
	p.Salt, err = s.keys.Seal(saltPurpose, salt, []byte(p.ID))
	return p, err
}

func (s *Service) pseudonym(p models.ResearchPeriod, subjectUID string) ([]byte, error) {
	salt, err := s.keys.Open(saltPurpose, p.Salt, []byte(p.ID))
	if err != nil {
		return nil, fmt.Errorf("the salt of research period %s: %w", p.ID, err)
	}
	h := hmac.New(sha256.New, salt)
	h.Write([]byte(subjectUID))
	return h.Sum(nil), nil
}

// bound ties a sealed pseudonym to its link.
func linkContext(holder []byte, period string) []byte { return append([]byte(period+" "), holder...) }

// day is all that is kept of a time.
func day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// Pseudonyms are all those that vectors of the subject are kept under, of every period.
func (s *Service) Pseudonyms(ctx context.Context, q *store.Q, environment, subjectUID string) ([][]byte, error) {
	pseudonyms, _, err := s.links(ctx, q, environment, subjectUID)
	return pseudonyms, err
}

// links opens the subject's links under every master key: those made before a rotation must be found too.
func (s *Service) links(ctx context.Context, q *store.Q, environment, subjectUID string) (pseudonyms, holders [][]byte, err error) {
	holders = s.keys.MACs(holderPurpose, []byte(environment), []byte(subjectUID))
	rows, err := q.Research().Links(ctx, environment, holders)
	if err != nil {
		return nil, nil, err
	}
	pseudonyms = make([][]byte, len(rows))
	for i, l := range rows {
		if pseudonyms[i], err = s.keys.Open(linkPurpose, l.Pseudonym, linkContext(l.Holder, l.PeriodID)); err != nil {
			return nil, nil, fmt.Errorf("a research link of period %s: %w", l.PeriodID, err)
		}
	}
	return pseudonyms, holders, nil
}

// Forget removes every vector of the subject, and its links, in the caller's transaction. It answers how many vectors went.
func (s *Service) Forget(ctx context.Context, q *store.Q, environment, subjectUID string) (int64, error) {
	pseudonyms, holders, err := s.links(ctx, q, environment, subjectUID)
	if err != nil {
		return 0, err
	}
	return q.Research().Forget(ctx, environment, holders, pseudonyms)
}
