package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/countersign-dev/countersign/models"
)

// Trace is a stored decision with its challenge, hold and proof; each is nil if there is none.
type Trace struct {
	Authorization models.Authorization
	Subject       string // the relying party's id; empty once the subject is erased
	Challenge     *models.Challenge
	Hold          *models.Hold
	Proof         *models.Proof
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

// Trace returns one decision of the scope.
func (q Decisions) Trace(ctx context.Context, s Scope, id string) (Trace, error) {
	var a models.Authorization
	a, err := orNotFound(a, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&a).Error)
	if err != nil {
		return Trace{}, err
	}
	traces, err := q.follow(ctx, s, []models.Authorization{a})
	if err != nil {
		return Trace{}, err
	}
	return traces[0], nil
}

// Traces lists decisions, newest first.
func (q Decisions) Traces(ctx context.Context, s Scope, f TraceFilter, p Page) ([]Trace, string, error) {
	q.Q = q.old(ctx)
	tx, err := q.page(ctx, s, f, p)
	if err != nil {
		return nil, "", err
	}
	var rows []models.Authorization
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cutPage(rows, p, func(a models.Authorization) (time.Time, string) { return a.DecidedAt, a.ID })
	traces, err := q.follow(ctx, s, rows)
	return traces, next, err
}

// page is the query of Traces.
func (q Decisions) page(ctx context.Context, s Scope, f TraceFilter, p Page) (*gorm.DB, error) {
	all := f.narrow(q.gorm(ctx).Model(&models.Authorization{}), s)
	few := f.Subject != "" || f.Parent != ""
	if !few && slices.Contains([]string{"challenge", "hold", "deny"}, f.Decision) {
		return q.byEvent(s, f, all, p)
	}
	tx, err := paginate(all, p, "authorizations.decided_at", "authorizations.id")
	if err != nil || few {
		return tx, err
	}
	return q.byAction(ctx, s, f.Action, tx, p), nil
}

// byEvent finds decisions other than allow by their events, which have the same time and an index of such decisions by time,
// events_decision_time. Without it, a list of decisions that are seldom made would read all those between them.
func (q Decisions) byEvent(s Scope, f TraceFilter, tx *gorm.DB, p Page) (*gorm.DB, error) {
	tx = tx.Select("authorizations.*").Joins(`join events e on e.authorization_id = authorizations.id and e.environment_id = ? and e.decision = ?
		and e.decision in ('challenge', 'hold', 'deny') and e.type = 'authorization.decided'`, s.Environment, f.Decision)
	if f.Since != nil {
		tx = tx.Where("e.at >= ?", *f.Since)
	}
	if f.Until != nil {
		tx = tx.Where("e.at < ?", *f.Until)
	}
	if p.After != "" {
		at, _, err := ParseCursor(p.After)
		if err != nil {
			return nil, err
		}
		tx = tx.Where("e.at <= ?", at)
	}
	return paginate(tx, p, "e.at", "authorizations.id")
}

// byAction reads the newest rows of page for each action of the environment, or for those with the key, and merges them. Decisions
// are indexed by action and time; an index by time alone would be written with every decision, and would serve lists only.
func (q Decisions) byAction(ctx context.Context, s Scope, key string, page *gorm.DB, p Page) *gorm.DB {
	actions := q.gorm(ctx).Model(&models.Action{}).Select("id as action").Where(inScope, s.Tenant, s.Environment)
	if key != "" {
		actions = actions.Where("key = ?", key)
	}
	return q.gorm(ctx).Raw("select d.* from (?) of cross join lateral (?) d order by d.decided_at desc, d.id desc limit ?",
		actions, page.Where("authorizations.action_id = of.action"), p.Limit+1)
}

func (f TraceFilter) narrow(tx *gorm.DB, s Scope) *gorm.DB {
	tx = tx.Where("authorizations.tenant_id = ? and authorizations.environment_id = ?", s.Tenant, s.Environment)
	if f.Subject != "" {
		tx = tx.Where("authorizations.subject_uid = (select uid from subjects where environment_id = ? and external_id = ?)", s.Environment, f.Subject)
	}
	for column, value := range map[string]string{"action_key": f.Action, "decision": f.Decision, "mode": f.Mode, "parent_id": f.Parent} {
		if value != "" {
			tx = tx.Where("authorizations."+column+" = ?", value)
		}
	}
	if f.Since != nil {
		tx = tx.Where("authorizations.decided_at >= ?", *f.Since)
	}
	if f.Until != nil {
		tx = tx.Where("authorizations.decided_at < ?", *f.Until)
	}
	hold := "exists (select from holds h where h.authorization_id = authorizations.id and h.environment_id = authorizations.environment_id and "
	switch f.ReviewStatus {
	case "":
	case models.HoldPending:
		tx = tx.Where(hold+"h.status = 'pending' and h.due_at > ?)", f.Now)
	case models.HoldExpired:
		tx = tx.Where(hold+"(h.status = 'expired' or h.status = 'pending' and h.due_at <= ?))", f.Now)
	default:
		tx = tx.Where(hold+"h.status = ?)", string(f.ReviewStatus))
	}
	return tx
}

// follow reads the challenges, holds, proofs and subjects of the decisions, in one query for each kind.
func (q Decisions) follow(ctx context.Context, s Scope, rows []models.Authorization) ([]Trace, error) {
	traces := make([]Trace, len(rows))
	byID := make(map[string]*Trace, len(rows))
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
	in := func() *gorm.DB { return q.gorm(ctx).Where(inScope, s.Tenant, s.Environment) }
	for _, read := range []func() error{
		func() error { return in().Where("authorization_id in ?", ids).Find(&challenges).Error },
		func() error { return in().Where("authorization_id in ?", ids).Find(&holds).Error },
		func() error { return in().Where("authorization_id in ?", ids).Find(&proofs).Error },
		func() error { return in().Where("authorization_id in ?", ids).Find(&details).Error },
		func() error {
			return in().Select("uid", "external_id").Where("uid in ?", uids).Find(&subjects).Error
		},
	} {
		if err := read(); err != nil {
			return nil, err
		}
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

// Details returns the sealed details that a decision of the scope shows, or nil if there are none.
func (q Decisions) Details(ctx context.Context, s Scope, id string) ([]byte, error) {
	var row models.ShownDetails
	row, err := orNotFound(row, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and authorization_id = ?", s.Tenant, s.Environment, id).
		Take(&row).Error)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return row.Details, err
}

// Kept returns the sealed values that are kept of a decision of the scope, or nil if there are none.
func (q Decisions) Kept(ctx context.Context, s Scope, id string) ([]byte, error) {
	var row models.KeptValues
	row, err := orNotFound(row, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and authorization_id = ?", s.Tenant, s.Environment, id).
		Take(&row).Error)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return row.Kept, err
}
