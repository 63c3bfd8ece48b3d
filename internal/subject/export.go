package subject

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// ExportSchema is the version of the shape of an export's data. Fields and sections may be added under the same version.
const ExportSchema = "1"

// exportWithin bounds an export from its first row to the last byte that the caller takes.
const exportWithin = 5 * time.Minute

// How many exports a process makes at a time, and for one tenant: each holds a database connection until it is taken. More wait, for
// as long as their requests may.
const (
	exportsAtOnce = 4
	exportsEach   = 2
	exportsQueue  = 64
)

// Opener opens what is stored sealed of a subject (internal/authz/assurance).
type Opener interface {
	OpenState(s models.Session) (scoring.State, error)
	OpenTemplate(t models.Template) (scoring.Template, error)
	OpenPassages(place string, sealed []byte) (scoring.Passages, error)
}

// Export is SubjectExport, on its way: Body is read once and closed. Digest is over the canonical form of its data.
type Export struct {
	Digest string
	Size   int64 // of the body, bytes
	Body   io.ReadCloser
}

// exportHead is what stands before the data in a SubjectExport.
type exportHead struct {
	Subject     string `json:"subject"`
	GeneratedAt string `json:"generated_at"`
	Schema      string `json:"schema_version"`
	Digest      string `json:"digest"`
}

// Export writes down everything held about a subject, all of one moment. Learned templates, the state of a session and feature
// vectors are given opened, their cells by name. However much there is, a row of it at a time is in memory: it is read twice,
// once for the digest and the size and once to be sent.
func (s *Service) Export(ctx context.Context, p identity.Principal, id string) (Export, error) {
	if err := s.exports.Enter(ctx, p.TenantID, exportWithin); err != nil {
		return Export{}, problem.NewUnavailable("Other exports are under way. Ask again.", err)
	}
	// The caller's deadline is for an answer to begin; this one is for it to end.
	long, cancel := context.WithTimeout(context.WithoutCancel(ctx), exportWithin)
	reader, writer := io.Pipe()
	measured := make(chan error, 1)
	var out Export
	var row models.Subject
	now := s.clock.Now()
	go func() {
		defer func() {
			cancel()
			s.exports.Leave(p.TenantID)
		}()
		err := s.store.Read(long, func(q *store.Q) error {
			var err error
			if row, err = q.Subjects().Get(long, p.Store(), id); err != nil {
				return notFound(err)
			}
			e, err := s.exporter(long, q, row)
			if err != nil {
				return err
			}
			head := exportHead{Subject: id, GeneratedAt: apitime.Time(now), Schema: ExportSchema}
			if out, err = e.measure(long, head); err != nil {
				return err
			}
			head.Digest = out.Digest
			measured <- nil
			return e.send(long, head, writer)
		})
		writer.CloseWithError(err) // nil is the end of the file
		measured <- err            // has a place left unless the measuring went well
	}()
	if err := <-measured; err != nil {
		return Export{}, err
	}
	out.Body = reader
	if err := s.recordExport(context.WithoutCancel(ctx), p, row, out.Digest, now); err != nil {
		_ = reader.Close()
		return Export{}, err
	}
	return out, nil
}

func (s *Service) recordExport(ctx context.Context, p identity.Principal, row models.Subject, digest string, now time.Time) error {
	return s.store.Write(ctx, func(q *store.Q) error {
		return events.Append(ctx, q, entry(p, row, events.SubjectExported, now, map[string]any{"digest": digest}))
	})
}

// exportedSubject is the subject itself in an export.
type exportedSubject struct {
	ID               string          `json:"id"`
	Environment      string          `json:"environment"`
	Status           string          `json:"status"`
	Enrollment       string          `json:"enrollment"`
	AdaptationFrozen bool            `json:"adaptation_frozen"`
	ResearchConsent  bool            `json:"research_consent"`
	ClaimCapUntil    *string         `json:"claim_cap_until"`
	TimingTemplate   json.RawMessage `json:"timing_template"` // what /enrol learned; null where nothing was

	EnrollmentAskedAt *string `json:"enrollment_asked_at"`
	CreatedAt         string  `json:"created_at"`
	UpdatedAt         string  `json:"updated_at"`
	RevokedAt         *string `json:"revoked_at"`
}

func newExportedSubject(row models.Subject, timing json.RawMessage) exportedSubject {
	return exportedSubject{
		ID: row.ExternalID, Environment: row.EnvironmentID, Status: string(row.Status), Enrollment: string(row.Enrollment),
		AdaptationFrozen: row.AdaptationFrozen, ResearchConsent: row.ResearchConsent, ClaimCapUntil: apitime.OptionalTime(row.ClaimCapUntil),
		TimingTemplate: timing, EnrollmentAskedAt: apitime.OptionalTime(row.EnrollmentAskedAt), CreatedAt: apitime.Time(row.CreatedAt), UpdatedAt: apitime.Time(row.UpdatedAt),
		RevokedAt: apitime.OptionalTime(row.RevokedAt),
	}
}

// TimingPurpose is the keyring purpose under which what /enrol learned is sealed, with the subject's uid as additional data.
const TimingPurpose = "timing-template"

// timing is what /enrol learned of the subject, opened.
func (s *Service) timing(ctx context.Context, q *store.Q, row models.Subject) (json.RawMessage, error) {
	sealed, err := q.TimingTemplates().Get(ctx, store.Scope{Tenant: row.TenantID, Environment: row.EnvironmentID}, row.UID)
	if err != nil || sealed == nil {
		return json.RawMessage("null"), err
	}
	return s.keys.Open(TimingPurpose, sealed, []byte(row.UID))
}
