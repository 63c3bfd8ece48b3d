package store

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// The columns of the facts, in the order of the statements.
const (
	factUID = iota
	factExternal
	factStatus
	factEnrollment
	factFrozen
	factCapped
	factCreated
	factUpdated
	factSessionID
	factDevice
	factSessionStatus
	factActive
	factState
	factPasskeys
	factHeads
	factTallies
	factDivision
	factPrior
	factHash
	factResponse
	factRecord
	factColumnCount
)

// factTexts are the columns of text, in their order. They are copied together, as one string.
var factTexts = [...]int{factUID, factExternal, factStatus, factEnrollment, factSessionID, factDevice, factSessionStatus, factPrior}

// factRow is a row of the facts. It reads the columns as they were received: every decision reads them, and pgx makes an object or
// two for each.
type factRow struct {
	scope Scope
	facts Facts
}

// errFactFormat is returned for columns in a form that is not the one of prepared statements.
var errFactFormat = errors.New("store: facts must be in the binary format")

// ScanRow implements pgx.RowScanner.
func (r *factRow) ScanRow(rows pgx.Rows) error {
	raw, fields := rows.RawValues(), rows.FieldDescriptions()
	if len(raw) != factColumnCount {
		return fmt.Errorf("store: %d columns of facts", len(raw))
	}
	for _, i := range []int{factFrozen, factCapped, factCreated, factUpdated, factActive, factState, factPasskeys, factDivision, factHash, factResponse, factRecord} {
		if raw[i] != nil && fields[i].Format != pgx.BinaryFormatCode {
			return errFactFormat
		}
	}
	text := textsOf(raw)
	r.facts = Facts{Passkeys: int(integerOf(raw[factPasskeys])), division: int(integerOf(raw[factDivision])), Subject: models.Subject{
		UID: text[factUID], ExternalID: text[factExternal], Status: models.SubjectStatus(text[factStatus]), TenantID: r.scope.Tenant,
		EnvironmentID: r.scope.Environment, Enrollment: models.EnrollmentState(text[factEnrollment]), AdaptationFrozen: flagOf(raw[factFrozen]),
		CreatedAt: momentOf(raw[factCreated]), UpdatedAt: momentOf(raw[factUpdated]),
	}}
	if raw[factCapped] != nil {
		until := momentOf(raw[factCapped])
		r.facts.Subject.ClaimCapUntil = &until
	}
	if raw[factSessionID] != nil {
		r.facts.Session = &models.Session{
			ID: text[factSessionID], TenantID: r.scope.Tenant, EnvironmentID: r.scope.Environment, SubjectUID: text[factUID],
			DeviceClass: text[factDevice], Status: models.SessionStatus(text[factSessionStatus]), LastActivityAt: momentOf(raw[factActive]),
			State: copied(raw[factState]),
		}
	}
	if err := r.scanPrior(raw, text[factPrior]); err != nil {
		return err
	}
	if raw[factTallies] != nil {
		if err := json.Unmarshal(raw[factTallies], &r.facts.Tallies); err != nil {
			return fmt.Errorf("tallies: %w", err)
		}
	}
	var err error
	r.facts.Heads, err = heads.read(raw[factHeads])
	return err
}

// scanPrior reads the stored response to the same idempotency key.
func (r *factRow) scanPrior(raw [][]byte, id string) error {
	if raw[factPrior] == nil {
		return nil
	}
	prior := models.Authorization{Response: copied(raw[factResponse]), Record: copied(raw[factRecord])}
	if err := prior.UnpackRecord(); err != nil {
		return err
	}
	r.facts.Prior = &PriorDecision{ID: id, RequestHash: copied(raw[factHash]), Response: prior.Response}
	return nil
}

func scanFacts(row pgx.Row, s Scope) (Facts, error) {
	r := factRow{scope: s}
	err := row.Scan(&r)
	return r.facts, err
}

// readFacts runs a statement of facts, together with those of other requests if it has a group.
func (q Decisions) readFacts(ctx context.Context, s Scope, query string, args []any, with *group) (Facts, error) {
	var f Facts
	err := q.grouped(ctx, with, &grouped{query: q.text(query), args: args, scan: func(row pgx.Row) (err error) {
		f, err = scanFacts(row, s)
		return err
	}})
	return f, err
}

// textsOf returns the columns of text, which are parts of one string.
func textsOf(raw [][]byte) (out [factColumnCount]string) {
	var all strings.Builder
	size := 0
	for _, i := range factTexts {
		size += len(raw[i])
	}
	all.Grow(size)
	for _, i := range factTexts {
		all.Write(raw[i])
	}
	rest := all.String()
	for _, i := range factTexts {
		out[i], rest = rest[:len(raw[i])], rest[len(raw[i]):]
	}
	return out
}

// copied returns a copy of a column, which is overwritten by the next row; nil for null.
func copied(raw []byte) []byte {
	if raw == nil {
		return nil
	}
	return append(make([]byte, 0, len(raw)), raw...)
}

// The following read the binary format of a column; a null column has the zero value.

func flagOf(raw []byte) bool { return len(raw) == 1 && raw[0] != 0 }

func integerOf(raw []byte) int64 {
	if len(raw) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(raw)) // #nosec G115 -- the bits of a signed integer
}

// momentOf reads a time, which is sent in microseconds since 2000.
func momentOf(raw []byte) time.Time {
	if len(raw) != 8 {
		return time.Time{}
	}
	return time.UnixMicro(epoch2000.UnixMicro() + integerOf(raw))
}

var epoch2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// headTexts remembers the heads of templates by their text, which is the same for most subjects: it names no person.
type headTexts struct {
	mu    sync.RWMutex
	known map[string][]models.Template
}

// mostHeads is the number of texts at which they are forgotten.
const mostHeads = 1024

var heads = headTexts{known: map[string][]models.Template{}}

// read decodes the text of heads. The result is shared: it must not be changed.
func (h *headTexts) read(raw []byte) ([]models.Template, error) {
	h.mu.RLock()
	out, ok := h.known[string(raw)]
	h.mu.RUnlock()
	if ok {
		return out, nil
	}
	out, err := decodeHeads(raw)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.known) >= mostHeads {
		clear(h.known)
	}
	h.known[string(raw)] = out
	return out, nil
}

func decodeHeads(raw []byte) ([]models.Template, error) {
	var heads []struct {
		Modality    string         `json:"modality"`
		Device      string         `json:"device"`
		Model       string         `json:"model"`
		Provisional bool           `json:"provisional"`
		Limitations models.Strings `json:"limitations"`
	}
	if err := json.Unmarshal(raw, &heads); err != nil {
		return nil, fmt.Errorf("template heads: %w", err)
	}
	out := make([]models.Template, len(heads))
	for i, h := range heads {
		out[i] = models.Template{Modality: h.Modality, DeviceClass: h.Device, ModelVersion: h.Model, Provisional: h.Provisional, Limitations: h.Limitations}
	}
	return out, nil
}
