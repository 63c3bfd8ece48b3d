package subject

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/reviewnote"
	"github.com/countersign-dev/countersign/internal/authz/storedvalues"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// exporter writes the export of one subject from one snapshot of the database. It can do so repeatedly, with the same bytes
// each time, which the digest relies on.
type exporter struct {
	q         *pg.Q
	stored    models.Subject
	subject   json.RawMessage // canonical
	selectors map[string]any  // what selects the rows of a section instead of the subject's uid
	open      Opener
	details   display.Vault
	kept      storedvalues.Vault
	notes     reviewnote.Vault
}

// exporter returns the exporter of a subject within the read transaction of q.
func (s *Service) exporter(ctx context.Context, q *pg.Q, row models.Subject) (exporter, error) {
	e := exporter{q: q, stored: row, open: s.open, details: display.NewVault(s.keys), kept: storedvalues.NewVault(s.keys), notes: reviewnote.NewVault(s.keys)}
	timing, err := s.timing(ctx, q, row)
	if err != nil {
		return e, err
	}
	if e.subject, err = canonical.JSON(newExportedSubject(row, timing)); err != nil {
		return e, err
	}
	pseudonyms, err := s.research.Pseudonyms(ctx, q, row.EnvironmentID, row.UID)
	if err != nil {
		return e, err
	}
	all, err := lists.All(ctx, q, pg.Scope{Tenant: row.TenantID, Environment: row.EnvironmentID})
	if err != nil {
		return e, err
	}
	keys, err := lists.NewVault(s.keys).Keys(all, row.ExternalID)
	e.selectors = map[string]any{researchSection: pseudonyms, listsSection: slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(keys))...)))}
	return e, err
}

// measure computes the digest of the data and the size of the document.
func (e exporter) measure(ctx context.Context, head exportHead) (Export, error) {
	sum, size := sha256.New(), counter(0)
	if err := e.data(ctx, io.MultiWriter(sum, &size)); err != nil {
		return Export{}, err
	}
	digest := "sha256:" + hex.EncodeToString(sum.Sum(nil))
	head.Digest = digest
	before, err := head.prefix()
	return Export{Digest: digest, Size: int64(len(before)) + int64(size) + int64(len(exportEnd))}, err
}

// exportEnd closes the document after the data.
const exportEnd = "}"

// prefix returns the document up to its data.
func (h exportHead) prefix() ([]byte, error) {
	raw, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return append(raw[:len(raw)-1], `,"data":`...), nil
}

// send writes the whole document.
func (e exporter) send(ctx context.Context, head exportHead, w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	before, err := head.prefix()
	if err != nil {
		return err
	}
	if _, err := out.Write(before); err != nil {
		return err
	}
	if err := e.data(ctx, out); err != nil {
		return err
	}
	if _, err := out.WriteString(exportEnd); err != nil {
		return err
	}
	return out.Flush()
}

// data writes the data as canonical JSON (RFC 8785): sections in the order of their names, the subject itself among them.
func (e exporter) data(ctx context.Context, w io.Writer) error {
	sections := &exportSections{w: w, uid: e.stored.UID, subject: e.subject, open: e.open, details: e.details, kept: e.kept, notes: e.notes}
	if err := exportSubject(ctx, e.q, e.stored, e.selectors, exportWithin, sections); err != nil {
		return err
	}
	return sections.end()
}

// exportSections writes sections in the order in which the store reads them. It implements ExportSink.
type exportSections struct {
	w       io.Writer
	open    Opener
	details display.Vault
	kept    storedvalues.Vault
	notes   reviewnote.Vault
	uid     string
	subject json.RawMessage
	current string
	rows    int
}

// subjectSection is the section that does not come from the store; it is inserted in the order of names.
const subjectSection = "subject"

// Section ends the current section and begins the next.
func (s *exportSections) Section(name string) error {
	mark := "],"
	if s.current == "" {
		mark = "{"
	}
	if s.current < subjectSection && name > subjectSection {
		mark += `"` + subjectSection + `":` + string(s.subject) + ","
	}
	s.current, s.rows = name, 0
	_, err := io.WriteString(s.w, mark+`"`+name+`":[`)
	return err
}

// Row writes one row of the section.
func (s *exportSections) Row(row json.RawMessage) error {
	var err error
	if row, err = s.unseal(row); err != nil {
		return err
	}
	if row, err = canonical.JSON(row); err != nil {
		return err
	}
	if s.rows++; s.rows > 1 {
		row = append([]byte(","), row...)
	}
	_, err = s.w.Write(row)
	return err
}

// end ends the last section and the data.
func (s *exportSections) end() error {
	_, err := io.WriteString(s.w, "]}")
	return err
}

// unseal replaces the sealed or packed field of a row by its content.
func (s *exportSections) unseal(row json.RawMessage) (json.RawMessage, error) {
	switch s.current {
	case "sessions":
		return replace(row, "state", func(id string, sealed []byte) (any, error) {
			return s.open.OpenState(models.Session{ID: id, State: sealed})
		})
	case "templates":
		return replace(row, "data", func(id string, sealed []byte) (any, error) {
			return s.open.OpenTemplate(models.Template{ID: id, SubjectUID: s.uid, Data: sealed})
		})
	case "typed_passages":
		var place struct {
			DeviceClass string `json:"device_class"`
			Block       int    `json:"block"`
		}
		if err := json.Unmarshal(row, &place); err != nil {
			return nil, err
		}
		return replace(row, "passages", func(_ string, sealed []byte) (any, error) {
			return s.open.OpenPassages(assurance.PassagePlace(s.uid, place.DeviceClass, place.Block), sealed)
		})
	case "shown_details":
		return replaceOf(row, "details", s.details.Open)
	case "kept_values":
		return replaceOf(row, "kept", s.kept.Open)
	case "review_notes":
		var by struct {
			Authorization string `json:"authorization_id"`
			Reviewer      string `json:"reviewer"`
		}
		if err := json.Unmarshal(row, &by); err != nil {
			return nil, err
		}
		return replace(row, "note", func(_ string, sealed []byte) (any, error) { return s.notes.Open(by.Authorization, by.Reviewer, sealed) })
	case "frames", "research_vectors":
		return replace(row, "vector", func(_ string, packed []byte) (any, error) {
			var f features.Frame
			err := f.UnmarshalBinary(packed)
			return f, err
		})
	default:
		return row, nil
	}
}

// replace replaces the bytes in a field of the row by the JSON of what open returns for them. A row without the field is
// returned as it is.
func replace(row json.RawMessage, field string, open func(id string, stored []byte) (any, error)) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	var stored []byte // base64 in JSON
	var id string
	if err := json.Unmarshal(row, &fields); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(fields[field], &stored); err != nil || len(stored) == 0 {
		return row, err
	}
	if raw, ok := fields["id"]; ok {
		if err := json.Unmarshal(raw, &id); err != nil {
			return nil, err
		}
	}
	v, err := open(id, stored)
	if err != nil {
		return nil, err
	}
	if fields[field], err = json.Marshal(v); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

func replaceOf[T any](row json.RawMessage, field string, open func(authorization string, sealed []byte) (T, error)) (json.RawMessage, error) {
	var of struct {
		Authorization string `json:"authorization_id"`
	}
	if err := json.Unmarshal(row, &of); err != nil {
		return nil, err
	}
	return replace(row, field, func(_ string, sealed []byte) (any, error) { return open(of.Authorization, sealed) })
}

// counter is a writer that counts bytes.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
