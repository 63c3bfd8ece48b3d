// Package assurance assesses subjects: it turns stored evidence (the encrypted state of a session, the heads of templates) into an
// AssuranceProfile. It stores nothing, and package scoring does the judging. States are decrypted in this package only and never
// leave the process in clear.
package assurance

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/models"
)

const (
	statePurpose    = "session-state"
	templatePurpose = "template"
)

// Profile is the contract's AssuranceProfile.
type Profile struct {
	ID string `json:"id"`
	// Subject is the relying party's id.
	Subject string `json:"subject"`
	// Session is the assessed session; nil if the subject has none.
	Session *string `json:"session"`
	// AssessedAt is in RFC 3339, to the millisecond.
	AssessedAt string `json:"assessed_at"`
	scoring.Profile
}

// Assessor assesses sessions with the active model. It is safe for concurrent use.
type Assessor struct {
	models atomic.Pointer[inForce]
	own    atomic.Pointer[map[string]*inForce] // by environment that has backgrounds of its own
	keys   *keyring.Keyring
}

// inForce is the active model with the backgrounds, by version, that templates may still have been trained with.
type inForce struct {
	model *scoring.Model
	known map[string]*scoring.Background
}

// New returns an Assessor.
func New(model *scoring.Model, keys *keyring.Keyring) *Assessor {
	a := &Assessor{keys: keys}
	a.Use(model)
	return a
}

// Use activates a model, from the next assessment on. Templates that were trained with one of the known backgrounds are migrated to
// it when they are read; those of any other background do not count until they are trained again.
func (a *Assessor) Use(model *scoring.Model, known ...*scoring.Background) {
	next := &inForce{model, make(map[string]*scoring.Background, len(known))}
	for _, b := range known {
		next.known[b.Version] = b
	}
	a.models.Store(next)
}

// Model returns the deployment's active model, of the environments that have no background of their own.
func (a *Assessor) Model() *scoring.Model { return a.models.Load().model }

// Earlier returns the background versions of a modality whose templates can be migrated to the deployment's active one.
func (a *Assessor) Earlier(m features.Modality) []string { return a.models.Load().earlier(m) }

// earlier returns the background versions of a modality whose templates can be migrated to the active one.
func (f *inForce) earlier(m features.Modality) []string {
	var out []string
	for version := range f.known {
		if current := f.standsFor(m, version); current != version {
			out = append(out, version)
		}
	}
	return out
}

// standsFor returns the version under which a template is assessed: the active one if the template can be migrated to it, else its
// own.
func (f *inForce) standsFor(m features.Modality, version string) string {
	bg := f.model.Background(m)
	if old := f.known[version]; bg != nil && old != nil && old.Modality == m {
		return bg.Version
	}
	return version
}

// OpenState decrypts the state of a session; a session without evidence has an empty state.
func (a *Assessor) OpenState(s models.Session) (scoring.State, error) { return a.openState(nil, s) }

// openState is OpenState into memory, if it is not nil.
func (a *Assessor) openState(mem *scoring.Memory, s models.Session) (scoring.State, error) {
	state := scoring.NewState(scoring.DeviceClass(s.DeviceClass))
	if len(s.State) == 0 {
		return state, nil
	}
	err := a.opened(statePurpose, s.State, s.ID, func(raw []byte) error { return state.DecodeIn(mem, raw) })
	if err != nil {
		return state, fmt.Errorf("state of session %s: %w", s.ID, err)
	}
	return state, nil
}

// memories pools the memory of states that are assessed, which is wiped.
var memories = sync.Pool{New: func() any { return new(scoring.Memory) }}

// scratch pools the buffers for decrypted data: every frame decrypts some 50 kB.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// opened decrypts data that is sealed to an id and passes it to decode. The bytes are wiped afterwards: decode must copy what it
// stores.
func (a *Assessor) opened(purpose string, sealed []byte, id string, decode func([]byte) error) error {
	buf, _ := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	raw, err := a.keys.OpenTo((*buf)[:0], purpose, sealed, []byte(id))
	if err != nil {
		return err
	}
	*buf = raw
	defer clear(raw)
	return decode(raw)
}

// SealState encrypts the state of a session for storage.
func (a *Assessor) SealState(session string, state scoring.State) ([]byte, error) {
	raw, err := state.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return a.keys.Seal(statePurpose, raw, []byte(session))
}

// OpenTemplate decrypts a whole template.
func (a *Assessor) OpenTemplate(t models.Template) (scoring.Template, error) {
	var out scoring.Template
	if err := a.opened(templatePurpose, t.Data, placeOf(t), out.UnmarshalBinary); err != nil {
		return out, fmt.Errorf("template %s: %w", t.ID, err)
	}
	return out, nil
}

// Templates decrypts whole templates and migrates those of earlier backgrounds to the active model.
func (a *Assessor) Templates(rows []models.Template) (scoring.Templates, error) {
	out := make(scoring.Templates, len(rows))
	for i, row := range rows {
		t, err := a.OpenTemplate(row)
		if err != nil {
			return nil, err
		}
		if out[i], err = a.migrated(row, t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// migrated returns the decrypted template of a row, migrated to the active model if it is of an earlier background.
func (a *Assessor) migrated(row models.Template, t scoring.Template) (scoring.Template, error) {
	f := a.of(row.EnvironmentID)
	old := f.known[t.ModelVersion]
	if old == nil {
		return t, nil
	}
	carried, err := f.model.Retrain(scoring.Templates{t}, scoring.NewModel(old))
	if err != nil {
		return t, fmt.Errorf("template %s: %w", row.ID, err)
	}
	return carried[0], nil
}

// placeOf names the row that a template is sealed to: it opens as this version of this subject only.
func placeOf(row models.Template) string { return row.SubjectUID + " " + row.ID }

// SealTemplate encrypts a template for storage in a row.
func (a *Assessor) SealTemplate(row models.Template, t scoring.Template) ([]byte, error) {
	raw, err := t.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return a.keys.Seal(templatePurpose, raw, []byte(placeOf(row)))
}

// Heads returns the part of an environment's templates that an assessment needs; the rows may be loaded without their data.
func (a *Assessor) Heads(environment string, rows []models.Template) scoring.Templates {
	f := a.of(environment)
	out := make(scoring.Templates, len(rows))
	for i, t := range rows {
		out[i] = scoring.Template{
			Modality: features.Modality(t.Modality), Device: scoring.DeviceClass(t.DeviceClass),
			ModelVersion: f.standsFor(features.Modality(t.Modality), t.ModelVersion), Provisional: t.Provisional, Limitations: t.Limitations,
		}
	}
	return out
}

// Assess assesses a subject by one session (nil if there is none) at a time. The evidence of a session that has ended or expired by
// then does not count. The profile has a reason code for that, and for no session.
func (a *Assessor) Assess(subject models.Subject, session *models.Session, heads []models.Template, now time.Time) (Profile, error) {
	p := Profile{ID: ids.New(ids.Profile), Subject: subject.ExternalID, AssessedAt: apitime.Time(now)}
	state, over := scoring.NewState(scoring.UnknownDevice), reason.SessionMissing
	if session != nil {
		mem, _ := memories.Get().(*scoring.Memory)
		defer func() { // a profile has nothing of the state's memory
			mem.Reset()
			memories.Put(mem)
		}()
		p.Session = &session.ID
		var err error
		if state, over, err = a.current(mem, *session, now); err != nil {
			return p, err
		}
	}
	p.Profile = Marked(a.ModelOf(subject.EnvironmentID).Assess(state, a.Heads(subject.EnvironmentID, heads), now, scoring.AssessOptions{CapLikely: subject.Capped(now)}), over)
	return p, nil
}

// Facts returns the part of the profile that a policy can require.
func (p Profile) Facts() policy.Assurance {
	out := policy.Assurance{
		Coverage: policy.Coverage(p.Coverage), FreshnessMS: p.FreshnessMS, InsufficientEvidence: p.InsufficientEvidence,
		Claims: make([]policy.Claim, len(p.Claims)),
	}
	for i, c := range p.Claims {
		out.Claims[i] = policy.Claim{
			Name: c.Claim, Status: policy.Status(c.Status), Coverage: policy.Coverage(c.Coverage), FreshnessMS: c.FreshnessMS,
			ReasonCodes: c.ReasonCodes,
		}
	}
	return out
}
