package authorization

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// StoredTrace is a stored decision with its challenge, hold and proof; each is nil if there is none.
type StoredTrace struct {
	Authorization models.Authorization
	Subject       string // the relying party's id; empty once the subject is erased
	Challenge     *models.Challenge
	Hold          *models.Hold
	Proof         *models.Proof
	Altered       bool   // one of these records was changed outside of the service
	Details       []byte // sealed; nil for an action that shows none, and once they are past their retention
}

// TraceFilter narrows a list of decisions. Empty fields filter nothing. Now decides which pending holds count as expired.
type TraceFilter struct {
	Subject      string // the relying party's id
	Action       string // key
	Decision     string
	Mode         string
	Parent       string // id of the decision that is followed up
	ReviewStatus models.HoldStatus
	Since, Until *time.Time // of decided_at: from, and before
	Now          time.Time
}

// TraceDecision returns one decision of the scope as it is stored, and records what of it was altered.
func TraceDecision(ctx context.Context, q *pg.Q, s pg.Scope, id string) (StoredTrace, error) {
	q = q.AsStored()
	var a models.Authorization
	a, err := pg.OrNotFound(a, q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&a).Error)
	if err != nil {
		return StoredTrace{}, err
	}
	traces, err := followTraces(ctx, q, s, []models.Authorization{a})
	if err != nil {
		return StoredTrace{}, err
	}
	return traces[0], nil
}

// ListTraces lists decisions, newest first.
func ListTraces(ctx context.Context, q *pg.Q, s pg.Scope, f TraceFilter, p pg.Page) ([]StoredTrace, string, error) {
	q = q.Old(ctx).AsStored()
	tx, err := tracePage(ctx, q, s, f, p)
	if err != nil {
		return nil, "", err
	}
	var rows []models.Authorization
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(a models.Authorization) (time.Time, string) { return a.DecidedAt, a.ID })
	traces, err := followTraces(ctx, q, s, rows)
	return traces, next, err
}

// tracePage is the query of Traces. A list without a subject or a parent follows the index that has what it lists in the order of time.
func tracePage(ctx context.Context, q *pg.Q, s pg.Scope, f TraceFilter, p pg.Page) (*gorm.DB, error) {
	few := f.Subject != "" || f.Parent != ""
	if !few && f.ReviewStatus != "" {
		return tracesByHold(ctx, q, s, f, p)
	}
	all := f.within(f.narrow(q.Gorm(ctx).Model(&models.Authorization{}), s), "authorizations.decided_at")
	seldom := f.Mode != "" && f.Mode != string(models.ModeEnforce)
	if !few && !seldom && slices.Contains(otherThanAllow, f.Decision) {
		return tracesByEvent(q, s, f, all, p)
	}
	tx, err := pg.Paginate(f.held(all), p, "authorizations.decided_at", "authorizations.id")
	if err != nil || few {
		return tx, err
	}
	return tracesByAction(ctx, q, s, f, tx, seldom, p), nil
}

// otherThanAllow are the decisions that events_decision_time has.
var otherThanAllow = []string{"challenge", "hold", "deny"}

// tracesByEvent finds decisions other than allow by their events, which have the same time and an index of such decisions by time,
// events_decision_time. Without it, a list of decisions that are seldom made would read all those between them.
func tracesByEvent(_ *pg.Q, s pg.Scope, f TraceFilter, tx *gorm.DB, p pg.Page) (*gorm.DB, error) {
	tx = tx.Select("authorizations.*").Joins(`join events e on e.authorization_id = authorizations.id and e.environment_id = ? and e.decision = ?
		and e.decision in ('challenge', 'hold', 'deny') and e.type = 'authorization.decided'`, s.Environment, f.Decision)
	if f.Action != "" {
		tx = tx.Where("e.action = ?", f.Action) // events_decision_action
	}
	if tx = f.within(tx, "e.at"); p.After != "" {
		at, _, err := pg.ParseCursor(p.After)
		if err != nil {
			return nil, err
		}
		tx = tx.Where("e.at <= ?", at)
	}
	return pg.Paginate(tx, p, "e.at", "authorizations.id")
}

// tracesByHold finds decisions by their holds, which have the same time and an index by status and time, holds_newest.
func tracesByHold(ctx context.Context, q *pg.Q, s pg.Scope, f TraceFilter, p pg.Page) (*gorm.DB, error) {
	var pages []string
	var args []any
	for _, h := range f.holds() {
		tx := f.narrow(q.Gorm(ctx).Model(&models.Authorization{}), s).Select("authorizations.*").
			Joins("join holds h on h.authorization_id = authorizations.id and h.environment_id = ?", s.Environment).Where(h.sql, h.args...)
		tx, err := pg.Paginate(f.within(tx, "h.opened_at"), p, "h.opened_at", "h.authorization_id")
		if err != nil {
			return nil, err
		}
		pages, args = append(pages, "select * from (?) page"), append(args, tx)
	}
	return q.Gorm(ctx).Raw(strings.Join(pages, " union all ")+" order by decided_at desc, id desc limit ?", append(args, p.Limit+1)...), nil
}

// seldomMode is the condition of authorizations_seldom. A statement that repeats it can follow that index: an argument would not do.
const seldomMode = "mode <> 'enforce'"

// tracesByAction reads the newest rows of page for each action of the environment, or for those with the key, and merges them. Decisions
// are indexed by action and time; an index by time alone would be written with every decision, and would serve lists only. Those in a mode
// that is seldom used are read for each action and kind of decision: the index authorizations_seldom has no others.
func tracesByAction(ctx context.Context, q *pg.Q, s pg.Scope, f TraceFilter, page *gorm.DB, seldom bool, p pg.Page) *gorm.DB {
	actions := q.Gorm(ctx).Model(&models.Action{}).Select("id as action").Where(pg.InScope, s.Tenant, s.Environment)
	page = page.Where("authorizations.action_id = of.action")
	if seldom {
		kinds := models.Strings{f.Decision}
		if f.Decision == "" {
			kinds = append(models.Strings{"allow"}, otherThanAllow...)
		}
		actions = actions.Select("id as action, unnest(cast(? as text[])) as kind", kinds)
		page = page.Where("authorizations.decision = of.kind and authorizations." + seldomMode)
	}
	if f.Action != "" {
		actions = actions.Where("key = ?", f.Action)
	}
	return q.Gorm(ctx).Raw("select d.* from (?) of cross join lateral (?) d order by d.decided_at desc, d.id desc limit ?", actions, page, p.Limit+1)
}

// narrow adds the conditions of the filter but those on the hold and the time.
func (f TraceFilter) narrow(tx *gorm.DB, s pg.Scope) *gorm.DB {
	tx = tx.Where("authorizations.tenant_id = ? and authorizations.environment_id = ?", s.Tenant, s.Environment)
	if f.Subject != "" {
		tx = tx.Where("authorizations.subject_uid = "+subjectrow.UIDOf(subjectrow.InScope+" and external_id = ?"), s.Tenant, s.Environment, f.Subject)
	}
	for column, value := range map[string]string{"action_key": f.Action, "decision": f.Decision, "mode": f.Mode, "parent_id": f.Parent} {
		if value != "" {
			tx = tx.Where("authorizations."+column+" = ?", value)
		}
	}
	return tx
}

// within limits a column to the time of the filter.
func (f TraceFilter) within(tx *gorm.DB, column string) *gorm.DB {
	if f.Since != nil {
		tx = tx.Where(column+" >= ?", *f.Since)
	}
	if f.Until != nil {
		tx = tx.Where(column+" < ?", *f.Until)
	}
	return tx
}

// holdCondition is a condition on a hold h, with its arguments.
type holdCondition struct {
	sql  string
	args []any
}

// holds are the conditions of which a hold meets one. Each names one status, as it is stored.
func (f TraceFilter) holds() []holdCondition {
	switch f.ReviewStatus {
	case models.HoldPending:
		return []holdCondition{{"h.status = 'pending' and h.due_at > ?", []any{f.Now}}}
	case models.HoldExpired:
		return []holdCondition{{"h.status = 'expired'", nil}, {"h.status = 'pending' and h.due_at <= ?", []any{f.Now}}}
	}
	return []holdCondition{{"h.status = ?", []any{string(f.ReviewStatus)}}}
}

// held adds the condition on the hold.
func (f TraceFilter) held(tx *gorm.DB) *gorm.DB {
	if f.ReviewStatus == "" {
		return tx
	}
	var conditions []string
	var args []any
	for _, h := range f.holds() {
		conditions, args = append(conditions, h.sql), append(args, h.args...)
	}
	return tx.Where("exists (select from holds h where h.authorization_id = authorizations.id and h.environment_id = authorizations.environment_id and ("+
		strings.Join(conditions, " or ")+"))", args...)
}

// followTraces reads the challenges, holds, proofs and subjects of the decisions, in one query for each kind.
func followTraces(ctx context.Context, q *pg.Q, s pg.Scope, rows []models.Authorization) ([]StoredTrace, error) {
	traces := make([]StoredTrace, len(rows))
	byID := make(map[string]*StoredTrace, len(rows))
	var ids, uids []string
	for i, a := range rows {
		traces[i].Authorization = a
		byID[a.ID] = &traces[i]
		ids, uids = append(ids, a.ID), append(uids, a.SubjectUID)
	}
	if len(ids) == 0 {
		return traces, nil
	}
	var challenges []models.Challenge
	var holds []models.Hold
	var proofs []models.Proof
	var subjects []models.Subject
	var details []models.ShownDetails
	in := func() *gorm.DB { return q.Gorm(ctx).Where(pg.InScope, s.Tenant, s.Environment) }
	for _, read := range []func() error{
		func() error { return in().Where("authorization_id in ?", ids).Find(&challenges).Error },
		func() error { return in().Where("authorization_id in ?", ids).Find(&holds).Error },
		func() error { return in().Where("authorization_id in ?", ids).Find(&proofs).Error },
		func() error { return in().Where("authorization_id in ?", ids).Find(&details).Error },
		func() error {
			return pg.Unchecked(in()).Select("uid", "external_id").Where("uid in ?", uids).Find(&subjects).Error
		},
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(
		pg.MarkAltered(ctx, q, rows, func(a *models.Authorization) { byID[a.ID].Altered = true }),
		pg.MarkAltered(ctx, q, challenges, func(c *models.Challenge) { byID[c.AuthorizationID].Altered = true }),
		pg.MarkAltered(ctx, q, holds, func(h *models.Hold) { byID[h.AuthorizationID].Altered = true }),
		pg.MarkAltered(ctx, q, proofs, func(p *models.Proof) { p.Status, byID[p.AuthorizationID].Altered = models.ProofUnknown, true }),
	); err != nil {
		return nil, err
	}
	external := make(map[string]string, len(subjects))
	for _, row := range subjects {
		external[row.UID] = row.ExternalID
	}
	for i := range traces {
		traces[i].Subject = external[traces[i].Authorization.SubjectUID]
	}
	for i := range details {
		byID[details[i].AuthorizationID].Details = details[i].Details
	}
	for i := range challenges {
		byID[challenges[i].AuthorizationID].Challenge = &challenges[i]
	}
	for i := range holds {
		byID[holds[i].AuthorizationID].Hold = &holds[i]
	}
	for i := range proofs {
		byID[proofs[i].AuthorizationID].Proof = &proofs[i]
	}
	return traces, nil
}

// keptValues returns the sealed values that are kept of a decision of the scope, or nil if there are none.
func keptValues(ctx context.Context, q *pg.Q, s pg.Scope, id string) ([]byte, error) {
	var row models.KeptValues
	row, err := pg.OrNotFound(row, q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and authorization_id = ?", s.Tenant, s.Environment, id).
		Take(&row).Error)
	if errors.Is(err, pg.ErrNotFound) {
		return nil, nil
	}
	return row.Kept, err
}
