package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Range bounds an export by the time of the entries. Nil is unbounded.
type Range struct {
	Since *time.Time // inclusive
	Until *time.Time // exclusive
}

// holds reports whether the time is within the range.
func (r Range) holds(at time.Time) bool {
	return (r.Since == nil || !at.Before(*r.Since)) && (r.Until == nil || at.Before(*r.Until))
}

// maxLine bounds a line of an export, in bytes.
const maxLine = 64 << 20

// signedHead is the first line of an export.
type signedHead struct {
	Head *Head `json:"head"`
}

// lines returns the encoder of the lines of an export.
func lines(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// Export writes a head and an environment's sealed entries as JSON Lines in the order of the chain and returns their number. It omits
// entries that are missing from the database; Verify reports those.
func Export(ctx context.Context, st *pg.Store, s pg.Scope, r Range, head Head, w io.Writer) (int64, error) {
	enc := lines(w)
	if err := enc.Encode(signedHead{&head}); err != nil {
		return 0, err
	}
	var written, from int64
	for from = 1; ; {
		links, err := ChainLinks(ctx, st.Q, s, from, walkBatch)
		if err != nil {
			return written, err
		}
		for _, l := range links {
			from = l.Seq + 1
			if l.Event == nil || !r.holds(l.Event.At) {
				continue
			}
			out, err := line(l)
			if err != nil {
				return written, err
			}
			if err := enc.Encode(out); err != nil {
				return written, err
			}
			written++
		}
		if len(links) < walkBatch {
			return written, nil
		}
	}
}

// VerifyExport verifies an export by itself: every entry and link, and that they lead to the signed head. It needs the environment's public
// keys only. The links before the first line cannot be verified.
func VerifyExport(ctx context.Context, keys Checker, export io.Reader) (Result, error) {
	in := bufio.NewReader(export)
	var first signedHead
	if line, err := in.ReadBytes('\n'); err != nil || json.Unmarshal(line, &first) != nil || first.Head == nil {
		return Result{}, errors.New("the first line has no head: it is not an export of countersign audit export")
	}
	s := pg.Scope{Environment: first.Head.Environment}
	if err := CheckHead(ctx, s, keys, *first.Head); err != nil {
		return Result{}, err
	}
	w := traversal{scope: s, earlier: first.Head, hash: Genesis(s.Environment), matched: first.Head.Sequence == 0,
		result: Result{Environment: s.Environment, Findings: []Finding{}}}
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	for len(w.result.Findings) < maxFindings && scanner.Scan() {
		if raw := bytes.TrimSpace(scanner.Bytes()); len(raw) > 0 {
			if err := w.checkLine(raw); err != nil {
				return w.result, err
			}
		}
	}
	if err := scanner.Err(); err != nil {
		return w.result, fmt.Errorf("the line after link %d: %w", w.seq, err)
	}
	w.end(HeadRow{Seq: w.seq, Hash: w.hash})
	return w.result, nil
}

// checkLine verifies one line of an export, also what it repeats for its readers.
func (w *traversal) checkLine(raw []byte) error {
	var said Line
	if err := json.Unmarshal(raw, &said); err != nil {
		return fmt.Errorf("the line after link %d: %w", w.seq, err)
	}
	link, err := said.link()
	if err != nil {
		return fmt.Errorf("the line of entry %s: %w", said.ID, err)
	}
	if w.result.Entries == 0 && link.Seq > 1 {
		w.hash, w.seq = link.Previous, link.Seq-1
	}
	found := len(w.result.Findings)
	w.check(link)
	if len(w.result.Findings) > found {
		return nil
	}
	again, err := line(link)
	if err != nil {
		return err
	}
	again.SealedAt = said.SealedAt // the chain does not cover it
	var exported bytes.Buffer
	if err := lines(&exported).Encode(again); err != nil {
		return err
	}
	if !bytes.Equal(raw, bytes.TrimSpace(exported.Bytes())) {
		w.find(Altered, link.Seq, link.EventID, "the line says something else than what was sealed")
	}
	return nil
}

// link returns the link and the event in a line.
func (l Line) link() (Link, error) {
	previous, err := unText(l.PreviousHash)
	if err != nil {
		return Link{}, err
	}
	hash, err := unText(l.Hash)
	if err != nil {
		return Link{}, err
	}
	e := models.Event{ID: l.ID, EnvironmentID: l.Environment, Type: l.Kind, At: time.UnixMicro(l.AtMicros), SubjectUID: l.SubjectUID, Subject: l.Subject,
		Action: l.Action, AuthorizationID: l.Authorization, Decision: l.Decision, Actor: l.Actor, RequestID: l.RequestID, WorkflowID: l.WorkflowID,
		Salt: l.Salt, Digest: l.Digest}
	if !bytes.Equal(l.Data, []byte("null")) {
		e.Data = models.JSON(l.Data)
	}
	if l.ErasedAt != nil {
		at, err := apitime.Parse(*l.ErasedAt)
		if err != nil {
			return Link{}, err
		}
		e.ErasedAt = &at
	}
	return Link{Seq: l.Sequence, EventID: l.ID, Previous: previous, Hash: hash, Event: &e}, nil
}

// unText is the inverse of Text.
func unText(text string) ([]byte, error) {
	return hex.DecodeString(strings.TrimPrefix(text, "sha256:"))
}
