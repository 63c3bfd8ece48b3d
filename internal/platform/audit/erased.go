package audit

import (
	"context"
	"fmt"
	"strconv"
)

// erasures compares erasures with the log in both directions: every completed erasure has its entry, every entry of a
// completed erasure is stored with the same counts, and personal data is missing only because of an erasure or a retention run
// that the log records.
func (r *reconciliation) erasures(ctx context.Context) error {
	unproven, err := unprovenErasures(ctx, r.q, r.scope, maxFindings)
	if err != nil {
		return err
	}
	for _, e := range unproven {
		r.found(Finding{Kind: Unsupported, Target: e.ID, Field: "erasures", Detail: "the erasure is stored as completed and no entries of the log request and complete it"})
	}
	doubtful, err := doubtfulErasures(ctx, r.q, r.scope, maxFindings)
	if err != nil {
		return err
	}
	for _, e := range doubtful {
		f := Finding{Kind: Contradicted, Event: e.Event, Target: e.Erasure, Field: "erasures"}
		switch {
		case e.Status == "":
			f.Kind, f.Detail = Missing, "the erasure is in the log and its receipt is stored no more"
		case e.Status != "completed":
			f.Field, f.Wanted, f.Found = "erasures.status", "completed", e.Status
			f.Detail = "the log completed the erasure, and it is not stored as completed"
		default:
			f.Field, f.Wanted, f.Found = "erasures.removed", e.Kinds, e.KindsStored
			f.Detail = "the receipt does not count what the log says was removed"
		}
		r.found(f)
	}
	return r.erased(ctx)
}

// erased finds entries whose personal data was removed without an erasure or a retention run.
func (r *reconciliation) erased(ctx context.Context) error {
	ids, err := unprovenErased(ctx, r.q, r.scope, maxFindings)
	if err != nil {
		return err
	}
	for _, id := range ids {
		r.found(Finding{Kind: Unsupported, Event: id, Detail: "the entry's personal part is gone, and no erasure and no retention in the log removed it"})
	}
	counts, err := erasedCounts(ctx, r.q, r.scope)
	if err != nil {
		return err
	}
	r.state.Erasures = counts.Erasures
	if proven := counts.Erased - int64(len(ids)); proven != counts.Accounted {
		r.found(Finding{Kind: Contradicted, Field: "erased", Wanted: strconv.FormatInt(counts.Accounted, 10), Found: strconv.FormatInt(proven, 10),
			Detail: fmt.Sprintf("erasures account for %d erased entries, and %d are erased", counts.Accounted, proven)})
	}
	return nil
}
