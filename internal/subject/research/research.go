// Package research stores feature vectors for research under pseudonyms, and deletes them.
//
// A vector is stored only with three consents: of the subject; of the page, in the frame; and of the deployment, for itself and
// for the environment. The pseudonym is a keyed hash of the subject under a salt that is destroyed when its period ends, so
// that the vectors of one person in two periods cannot be linked. The link that a withdrawal needs to find them is sealed.
//
// Three tables hold the data: a period has the sealed salt of an environment; a vector has its pseudonym and a day; a link has a
// keyed hash of the subject (the holder) and the sealed pseudonym of a period.
//
// The package may not store a time of day, the id of the session or the frame, or anything else that leads back to the subject.
// It does not read vectors: training does, through the store.
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
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Keyring purposes, with the additional data of each.
const (
	saltPurpose   = "research-salt"      // sealed with the period's id
	linkPurpose   = "research-link"      // sealed with the holder and the period's id
	holderPurpose = "research-pseudonym" // keyed hash of environment and subject
)

// saltSize is the length of a salt in bytes.
const saltSize = 32

// Service stores and deletes research vectors.
type Service struct {
	store   *pg.Store
	keys    *keyring.Keyring
	enabled bool
}

// New returns the service. If enabled is false, it stores nothing but still deletes earlier vectors.
func New(st *pg.Store, keys *keyring.Keyring, enabled bool) *Service {
	return &Service{store: st, keys: keys, enabled: enabled}
}

// Vector is the part of a frame that may be stored.
type Vector struct {
	SubjectUID  string    // replaced by the pseudonym
	DeviceClass string    // such as desktop
	Data        []byte    // features.Frame in its binary form
	At          time.Time // stored as a day
}

// Save stores a vector in the caller's transaction if deployment, environment and subject consent, and reports whether it did.
// The caller has checked the consent of the page, in the frame. A nil service stores nothing.
func (s *Service) Save(ctx context.Context, q *pg.Q, scope pg.Scope, v Vector) (bool, error) {
	if s == nil || !s.enabled {
		return false, nil
	}
	period, err := s.currentPeriod(ctx, q, scope.Environment, v.At)
	if errors.Is(err, pg.ErrNotFound) {
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
	return saveVector(ctx, q, scope, v.SubjectUID, models.ResearchVector{
		ID: ids.Timeless(ids.Research), Pseudonym: pseudonym, DeviceClass: v.DeviceClass, Vector: v.Data, CreatedAt: day(v.At),
	}, models.ResearchLink{Holder: holder, PeriodID: period.ID, Pseudonym: sealed})
}

// currentPeriod returns the environment's current period, and begins one if there is none. It returns pg.ErrNotFound if
// research is off for the environment.
func (s *Service) currentPeriod(ctx context.Context, q *pg.Q, environment string, at time.Time) (models.ResearchPeriod, error) {
	p, err := currentPeriod(ctx, q, environment)
	if !errors.Is(err, pg.ErrNotFound) {
		return p, err
	}
	fresh, err := s.newPeriod(environment, at)
	if err != nil {
		return p, err
	}
	if err := beginPeriod(ctx, q, fresh); err != nil {
		return p, err
	}
	return currentPeriod(ctx, q, environment) // a concurrent transaction's, if that was first
}

// newPeriod returns a period with a new sealed salt.
func (s *Service) newPeriod(environment string, at time.Time) (models.ResearchPeriod, error) {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // crypto/rand.Read never returns an error
	p := models.ResearchPeriod{ID: ids.New(ids.ResearchPeriod), EnvironmentID: environment, StartedAt: at}
	var err error
	p.Salt, err = s.keys.Seal(saltPurpose, salt, []byte(p.ID))
	return p, err
}

// pseudonym returns the subject's pseudonym within a period: HMAC-SHA-256 of the uid under the period's salt.
func (s *Service) pseudonym(p models.ResearchPeriod, subjectUID string) ([]byte, error) {
	salt, err := s.keys.Open(saltPurpose, p.Salt, []byte(p.ID))
	if err != nil {
		return nil, fmt.Errorf("the salt of research period %s: %w", p.ID, err)
	}
	h := hmac.New(sha256.New, salt)
	h.Write([]byte(subjectUID))
	return h.Sum(nil), nil
}

// linkContext returns the additional data that binds a sealed pseudonym to its link.
func linkContext(holder []byte, period string) []byte { return append([]byte(period+" "), holder...) }

// day truncates a time to its day, the only part that is stored.
func day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// Pseudonyms returns the pseudonyms of the subject in all periods, for exports.
func (s *Service) Pseudonyms(ctx context.Context, q *pg.Q, environment, subjectUID string) ([][]byte, error) {
	pseudonyms, _, err := s.links(ctx, q, environment, subjectUID)
	return pseudonyms, err
}

// links unseals the subject's links under every master key, so that those from before a key rotation are found too.
func (s *Service) links(ctx context.Context, q *pg.Q, environment, subjectUID string) (pseudonyms, holders [][]byte, err error) {
	holders = s.keys.MACs(holderPurpose, []byte(environment), []byte(subjectUID))
	rows, err := linksOfSubject(ctx, q, environment, holders)
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

// Forget deletes every vector of the subject, with its links, in the caller's transaction. It returns the number of vectors.
func (s *Service) Forget(ctx context.Context, q *pg.Q, environment, subjectUID string) (int64, error) {
	pseudonyms, holders, err := s.links(ctx, q, environment, subjectUID)
	if err != nil {
		return 0, err
	}
	return deleteVectors(ctx, q, environment, holders, pseudonyms)
}
