package audit

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
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

// Export writes an environment's sealed entries as JSON Lines in the order of the chain and returns their number. It omits
// entries that are missing from the database; Verify reports those.
func Export(ctx context.Context, st *pg.Store, s pg.Scope, r Range, w io.Writer) (int64, error) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
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
