package subject

import (
	"context"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/internal/canonical"
	"github.com/countersign-dev/countersign/internal/events"
	"github.com/countersign-dev/countersign/internal/identity"
	"github.com/countersign-dev/countersign/internal/scoring"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/wire"
	"github.com/countersign-dev/countersign/models"
)

// ExportSchema is the version of the shape of an export's data. Fields and sections may be added under the same version.
const ExportSchema = "1"

// Opener opens what is stored sealed of a subject (internal/assurance).
type Opener interface {
	OpenState(s models.Session) (scoring.State, error)
	OpenTemplate(t models.Template) (scoring.Template, error)
}

// Export is SubjectExport. Digest is over the canonical form of Data.
type Export struct {
	Subject     string          `json:"subject"`
	GeneratedAt string          `json:"generated_at"`
	Schema      string          `json:"schema_version"`
	Digest      string          `json:"digest"`
	Data        json.RawMessage `json:"data"`
}

// exportedSubject is the subject itself in an export.
type exportedSubject struct {
	ID               string  `json:"id"`
	Environment      string  `json:"environment"`
	Status           string  `json:"status"`
	Enrollment       string  `json:"enrollment"`
	AdaptationFrozen bool    `json:"adaptation_frozen"`
	ResearchConsent  bool    `json:"research_consent"`
	ClaimCapUntil    *string `json:"claim_cap_until"`
	CreatedAt        string  `json:"created_at"`
	UpdatedAt        string  `json:"updated_at"`
	RevokedAt        *string `json:"revoked_at"`
}

// Export writes down everything held about a subject, all of one moment. Learned templates and the state of a session are
// given opened, in the binary form of the model, in base64; so are feature vectors.
func (s *Service) Export(ctx context.Context, p identity.Principal, id string) (Export, error) {
	now := s.clock.Now()
	var row models.Subject
	var data map[string]any
	err := s.store.Read(ctx, func(q *store.Q) error {
		var err error
		if row, err = q.Subject(ctx, p.Store(), id); err != nil {
			return absent(err)
		}
		data, err = s.collect(ctx, q, row)
		return err
	})
	if err != nil {
		return Export{}, err
	}
	out := Export{Subject: id, GeneratedAt: wire.Time(now), Schema: ExportSchema}
	if out.Data, err = canonical.JSON(data); err != nil {
		return Export{}, err
	}
	out.Digest = canonical.DigestBytes(out.Data)
	return out, s.exported(ctx, p, row, out.Digest, now)
}

func (s *Service) exported(ctx context.Context, p identity.Principal, row models.Subject, digest string, now time.Time) error {
	return s.store.Write(ctx, func(q *store.Q) error {
		return events.Append(ctx, q, entry(p, row, events.SubjectExported, now, map[string]any{"digest": digest}))
	})
}

func (s *Service) collect(ctx context.Context, q *store.Q, row models.Subject) (map[string]any, error) {
	sections, err := q.ExportSubject(ctx, row.UID, pseudonyms(s.keys, row.EnvironmentID, row.UID))
	if err != nil {
		return nil, err
	}
	data := map[string]any{"subject": exportedSubject{
		ID: row.ExternalID, Environment: row.EnvironmentID, Status: string(row.Status), Enrollment: string(row.Enrollment),
		AdaptationFrozen: row.AdaptationFrozen, ResearchConsent: row.ResearchConsent, ClaimCapUntil: wire.OptionalTime(row.ClaimCapUntil),
		CreatedAt: wire.Time(row.CreatedAt), UpdatedAt: wire.Time(row.UpdatedAt), RevokedAt: wire.OptionalTime(row.RevokedAt),
	}}
	for name, rows := range sections {
		data[name] = rows
	}
	data["sessions"], err = opened(sections["sessions"], "state", func(id string, sealed []byte) (encoding.BinaryMarshaler, error) {
		return s.open.OpenState(models.Session{ID: id, State: sealed})
	})
	if err != nil {
		return nil, err
	}
	data["templates"], err = opened(sections["templates"], "data", func(id string, sealed []byte) (encoding.BinaryMarshaler, error) {
		return s.open.OpenTemplate(models.Template{ID: id, Data: sealed})
	})
	return data, err
}

// opened replaces the sealed field of each row by what is in it.
func opened(rows []json.RawMessage, field string, open func(id string, sealed []byte) (encoding.BinaryMarshaler, error)) ([]map[string]any, error) {
	out := make([]map[string]any, len(rows))
	for i, raw := range rows {
		if err := json.Unmarshal(raw, &out[i]); err != nil {
			return nil, err
		}
		text, _ := out[i][field].(string)
		if text == "" {
			continue
		}
		sealed, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, err
		}
		id, _ := out[i]["id"].(string)
		v, err := open(id, sealed)
		if err != nil {
			return nil, err
		}
		plain, err := v.MarshalBinary()
		if err != nil {
			return nil, err
		}
		out[i][field] = base64.StdEncoding.EncodeToString(plain)
	}
	return out, nil
}
