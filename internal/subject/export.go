package subject

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// ExportSchema is the version of the export's data. Fields and sections may be added within a version.
const ExportSchema = "1"

// exportWithin limits the duration of an export from its first row to the last byte that the client reads.
const exportWithin = 5 * time.Minute

// The limits of concurrent exports of one process: in total, per tenant, and waiting. An export holds a database connection
// until the client has read it.
const (
	exportsAtOnce = 4
	exportsEach   = 2
	exportsQueue  = 64
)

// Opener unseals the stored data of a subject. assurance.Assessor implements it.
type Opener interface {
	OpenState(s models.Session) (scoring.State, error)
	OpenTemplate(t models.Template) (scoring.Template, error)
	OpenPassages(place string, sealed []byte) (scoring.Passages, error)
}

// Export is a streamed SubjectExport of the contract. The caller reads Body once and must close it.
type Export struct {
	Digest string // of the canonical form of the data
	Size   int64  // of the body, in bytes
	Body   io.ReadCloser
}

// exportHead holds the fields that precede the data in a SubjectExport.
type exportHead struct {
	Subject     string `json:"subject"`
	GeneratedAt string `json:"generated_at"`
	Schema      string `json:"schema_version"`
	Digest      string `json:"digest"`
}

// Export exports everything that is stored about a subject, from one snapshot of the database. Templates, session states and
// feature vectors are unsealed, their cells by name. One row at a time is in memory, whatever the size of the export: the rows
// are read twice, first for the digest and the size, then to be sent. It records subject.exported before it returns.
func (s *Service) Export(ctx context.Context, p identity.Principal, id string) (Export, error) {
	if err := s.exports.Enter(ctx, p.TenantID, exportWithin); err != nil {
		return Export{}, problem.NewUnavailable("Too many exports are in progress. Retry the request.", err)
	}
	// The caller's deadline limits the start of the response; this one limits its end.
	long, cancel := context.WithTimeout(context.WithoutCancel(ctx), exportWithin)
	reader, writer := io.Pipe()
	measured := make(chan error, 1)
	var out Export
	var row models.Subject
	now := s.clock.Now()
	// One goroutine holds the read transaction. It first measures, which the caller waits for, and then writes to the pipe as
	// fast as the client reads.
	go func() {
		defer func() {
			cancel()
			s.exports.Leave(p.TenantID)
		}()
		err := s.store.Read(long, func(q *pg.Q) error {
			var err error
			if row, err = subjectrow.Get(long, q.AsStored(), p.Store(), id); err != nil {
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
		measured <- err            // does not block: the buffer is free unless measuring succeeded
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

// recordExport records the export with its digest, so that a copy can be matched to it later.
func (s *Service) recordExport(ctx context.Context, p identity.Principal, row models.Subject, digest string, now time.Time) error {
	return s.store.Write(ctx, func(q *pg.Q) error {
		return events.Append(ctx, q, entry(p, row, now, events.SubjectExportedData{Digest: digest}))
	})
}

// exportedSubject is the "subject" section of an export.
type exportedSubject struct {
	ID               string          `json:"id"`
	Environment      string          `json:"environment"`
	Status           string          `json:"status"`
	Enrollment       string          `json:"enrollment"`
	AdaptationFrozen bool            `json:"adaptation_frozen"`
	ResearchConsent  bool            `json:"research_consent"`
	ClaimCapUntil    *string         `json:"claim_cap_until"`
	ChallengeUntil   *string         `json:"challenge_until"`
	TimingTemplate   json.RawMessage `json:"timing_template"` // the template of /enrol, unsealed; null if there is none

	EnrollmentAskedAt *string `json:"enrollment_asked_at"`
	CreatedAt         string  `json:"created_at"`
	UpdatedAt         string  `json:"updated_at"`
	RevokedAt         *string `json:"revoked_at"`
	ReinstatedAt      *string `json:"reinstated_at"`
}

func newExportedSubject(row models.Subject, timing json.RawMessage) exportedSubject {
	return exportedSubject{
		ID: row.ExternalID, Environment: row.EnvironmentID, Status: string(row.Status), Enrollment: string(row.Enrollment),
		AdaptationFrozen: row.AdaptationFrozen, ResearchConsent: row.ResearchConsent, ClaimCapUntil: apitime.OptionalTime(row.ClaimCapUntil), ChallengeUntil: apitime.OptionalTime(row.ChallengeUntil),
		TimingTemplate: timing, EnrollmentAskedAt: apitime.OptionalTime(row.EnrollmentAskedAt), CreatedAt: apitime.Time(row.CreatedAt), UpdatedAt: apitime.Time(row.UpdatedAt),
		RevokedAt: apitime.OptionalTime(row.RevokedAt), ReinstatedAt: apitime.OptionalTime(row.ReinstatedAt),
	}
}

// TimingPurpose is the keyring purpose that seals the timing template of /enrol. The additional data is the subject's uid.
const TimingPurpose = "timing-template"

// timing returns the subject's timing template of /enrol, unsealed, or JSON null.
func (s *Service) timing(ctx context.Context, q *pg.Q, row models.Subject) (json.RawMessage, error) {
	sealed, err := GetTimingTemplate(ctx, q, pg.Scope{Tenant: row.TenantID, Environment: row.EnvironmentID}, row.UID)
	if err != nil || sealed == nil {
		return json.RawMessage("null"), err
	}
	return s.keys.Open(TimingPurpose, sealed, []byte(row.UID))
}
