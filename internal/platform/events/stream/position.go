package stream

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// A position names a point of an environment's log that no public event may have: pos_, the number of the link before it, and
// the first bytes of that link's hash, by which the position of another environment, or of a log that was restored, is unknown.
const (
	positionPrefix = "pos_"
	positionBytes  = 8
)

// resume returns the number of the link behind which a stream continues, or ErrNotFound if no stream may continue there: the id is unknown in
// the environment, or what follows it is older than Options.Window.
func (h *Hub) resume(ctx context.Context, s pg.Scope, id string) (int64, error) {
	oldest := h.clock.Now().Add(-h.options.Window)
	if ids.Has(ids.Event, id) {
		e, err := events.GetEvent(ctx, h.store.Q, s, id)
		if err != nil {
			return 0, err
		}
		if e.At.Before(oldest) {
			return 0, pg.ErrNotFound
		}
		return audit.NumberOf(ctx, h.store.Q, s, id)
	}
	return h.resumePosition(ctx, s, id, oldest)
}

func (h *Hub) resumePosition(ctx context.Context, s pg.Scope, id string, oldest time.Time) (int64, error) {
	number, _, _ := strings.Cut(strings.TrimPrefix(id, positionPrefix), "_")
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil || seq < 0 {
		return 0, pg.ErrNotFound
	}
	known, err := h.position(ctx, s, seq)
	if err != nil {
		return 0, err
	}
	if known != id {
		return 0, pg.ErrNotFound
	}
	next, err := audit.ChainLinks(ctx, h.store.Q, s, seq+1, 1)
	if err != nil {
		return 0, err
	}
	if len(next) > 0 && next[0].SealedAt.Before(oldest) {
		return 0, pg.ErrNotFound
	}
	return seq, nil
}

// position returns the id of the position behind a link, or ErrNotFound if there is no such link; 0 is the beginning of the log.
func (h *Hub) position(ctx context.Context, s pg.Scope, seq int64) (string, error) {
	hash := audit.Genesis(s.Environment)
	if seq > 0 {
		var err error
		if hash, err = audit.HashAt(ctx, h.store.Q, s, seq); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s%d_%s", positionPrefix, seq, hex.EncodeToString(hash[:positionBytes])), nil
}
