package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Readings for an audit that compares what is stored with the log. Each returns a page or at most limit rows, so that an
// audit of a large environment needs no more memory than one of a small.

// WithoutTimeout lifts the statement timeout to the end of the transaction: an audit reads a whole environment, and no request
// waits for it.
func (q Audit) WithoutTimeout(ctx context.Context) error {
	_, err := q.exec(ctx, "select set_config('statement_timeout', '0', true)")
	return err
}

// DecisionRecord is a decision with all that hangs on it and every entry about it, in order. Authorization is nil if the
// row is gone.
type DecisionRecord struct {
	Decided       models.Event
	Authorization *models.Authorization
	Challenge     *models.Challenge
	Hold          *models.Hold
	Proof         *models.Proof
	Reviews       []models.Review
	Events        []models.Event
}

// Place is a place in a list that runs newest first. The zero value is its beginning.
type Place struct {
	At time.Time
	ID string
}

// DecisionRecords reads the decisions that the log names behind a place, newest first, at most limit of them.
func (q Audit) DecisionRecords(ctx context.Context, s Scope, after Place, limit int) ([]DecisionRecord, error) {
	tx := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and type = 'authorization.decided' and authorization_id is not null",
		s.Tenant, s.Environment)
	if after.ID != "" {
		tx = tx.Where("(at, id) < (?, ?)", after.At, after.ID)
	}
	var decided []models.Event
	if err := tx.Order("at desc, id desc").Limit(limit).Find(&decided).Error; err != nil {
		return nil, err
	}
	return q.recordsOf(ctx, s, decided)
}

func (q Audit) recordsOf(ctx context.Context, s Scope, decided []models.Event) ([]DecisionRecord, error) {
	ids, place := make([]string, len(decided)), make(map[string]int, len(decided))
	out := make([]DecisionRecord, len(decided))
	for i, e := range decided {
		ids[i], out[i].Decided = *e.AuthorizationID, e
		place[ids[i]] = i
	}
	var rows struct {
		authorizations []models.Authorization
		challenges     []models.Challenge
		holds          []models.Hold
		proofs         []models.Proof
		reviews        []models.Review
	}
	of := func(into any) error { return q.gorm(ctx).Where("authorization_id in ?", ids).Find(into).Error }
	for _, err := range []error{
		q.gorm(ctx).Omit("response").Where("tenant_id = ? and environment_id = ? and id in ?", s.Tenant, s.Environment, ids).Find(&rows.authorizations).Error,
		of(&rows.challenges), of(&rows.holds), of(&rows.proofs),
		q.gorm(ctx).Omit("receipt").Where("authorization_id in ?", ids).Find(&rows.reviews).Error,
	} {
		if err != nil {
			return nil, err
		}
	}
	for i, r := range rows.authorizations {
		out[place[r.ID]].Authorization = &rows.authorizations[i]
	}
	for i, r := range rows.challenges {
		out[place[r.AuthorizationID]].Challenge = &rows.challenges[i]
	}
	for i, r := range rows.holds {
		out[place[r.AuthorizationID]].Hold = &rows.holds[i]
	}
	for i, r := range rows.proofs {
		out[place[r.AuthorizationID]].Proof = &rows.proofs[i]
	}
	for _, r := range rows.reviews {
		d := &out[place[r.AuthorizationID]]
		d.Reviews = append(d.Reviews, r)
	}
	entries, err := q.Events().OfAuthorization(ctx, s, ids)
	for _, e := range entries {
		d := &out[place[*e.AuthorizationID]]
		d.Events = append(d.Events, e)
	}
	return out, err
}

// RecordOf is DecisionRecords for one authorization; ErrNotFound if the log has no such decision.
func (q Audit) RecordOf(ctx context.Context, s Scope, authorization string) (DecisionRecord, error) {
	var decided []models.Event
	if err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and type = 'authorization.decided' and authorization_id = ?",
		s.Tenant, s.Environment, authorization).Order("txid, seq").Limit(1).Find(&decided).Error; err != nil {
		return DecisionRecord{}, err
	}
	if len(decided) == 0 {
		return DecisionRecord{}, ErrNotFound
	}
	found, err := q.recordsOf(ctx, s, decided)
	if err != nil {
		return DecisionRecord{}, err
	}
	return found[0], nil
}

// UnloggedDecisions are stored decisions that the log does not name, at most limit ids.
func (q Audit) UnloggedDecisions(ctx context.Context, s Scope, limit int) ([]string, error) {
	var ids []string
	err := q.gorm(ctx).Raw(`select a.id from authorizations a where a.tenant_id = ? and a.environment_id = ? and not exists
		(select 1 from events e where e.authorization_id = a.id and e.environment_id = a.environment_id and e.type = 'authorization.decided')
		limit ?`, s.Tenant, s.Environment, limit).Scan(&ids).Error
	return ids, err
}

// SubjectRecord is a subject with what was learned and registered for it, and every entry about it of the wanted types.
type SubjectRecord struct {
	Subject   models.Subject
	Templates []models.Template // without their data
	Passkeys  []models.Passkey
	Events    []models.Event
}

// SubjectRecords reads the subjects behind a place, newest first, at most limit of them, with their entries of the types.
func (q Audit) SubjectRecords(ctx context.Context, s Scope, types []string, after Place, limit int) ([]SubjectRecord, error) {
	tx := q.gorm(ctx).Omit("timing_template").Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment)
	if after.ID != "" {
		tx = tx.Where("(created_at, uid) < (?, ?)", after.At, after.ID)
	}
	var subjects []models.Subject
	if err := tx.Order("created_at desc, uid desc").Limit(limit).Find(&subjects).Error; err != nil {
		return nil, err
	}
	out, uids, place := make([]SubjectRecord, len(subjects)), make([]string, len(subjects)), make(map[string]int, len(subjects))
	for i, r := range subjects {
		out[i].Subject, uids[i], place[r.UID] = r, r.UID, i
	}
	var templates []models.Template
	var passkeys []models.Passkey
	var entries []models.Event
	for _, err := range []error{
		q.gorm(ctx).Omit("data").Where("subject_uid in ?", uids).Order("subject_uid, version").Find(&templates).Error,
		q.gorm(ctx).Where("subject_uid in ?", uids).Find(&passkeys).Error,
		q.gorm(ctx).Where("environment_id = ? and subject_uid in ? and type in ?", s.Environment, uids, types).Order("txid, seq").Find(&entries).Error,
	} {
		if err != nil {
			return nil, err
		}
	}
	for _, r := range templates {
		d := &out[place[r.SubjectUID]]
		d.Templates = append(d.Templates, r)
	}
	for _, r := range passkeys {
		d := &out[place[r.SubjectUID]]
		d.Passkeys = append(d.Passkeys, r)
	}
	for _, e := range entries {
		d := &out[place[*e.SubjectUID]]
		d.Events = append(d.Events, e)
	}
	return out, nil
}

// LostSubject is a subject that the log has and that is stored no more.
type LostSubject struct {
	Event string
	UID   string
}

// LostSubjects are subjects whose creation is in the log, not erased, and which are not stored; at most limit of them.
func (q Audit) LostSubjects(ctx context.Context, s Scope, limit int) ([]LostSubject, error) {
	var rows []LostSubject
	err := q.gorm(ctx).Raw(`select e.id as event, e.subject_uid as uid from events e where e.tenant_id = ? and e.environment_id = ?
		and e.type = 'subject.created' and e.subject_uid is not null
		and not exists (select 1 from subjects s where s.uid = e.subject_uid and s.environment_id = e.environment_id) limit ?`,
		s.Tenant, s.Environment, limit).Scan(&rows).Error
	return rows, err
}

// Erasing says which of the subjects are being erased, by an erasure whose request the log has.
func (q Audit) Erasing(ctx context.Context, s Scope, uids []string) (map[string]bool, error) {
	var found []string
	err := q.gorm(ctx).Raw(`select r.subject_uid from erasures r where r.tenant_id = ? and r.environment_id = ? and r.status = 'erasing'
		and r.subject_uid in ? and exists (select 1 from events e where e.environment_id = r.environment_id
			and e.type = 'subject.erasure_requested' and e.at = r.requested_at and e.actor = r.requested_by)`,
		s.Tenant, s.Environment, uids).Scan(&found).Error
	out := make(map[string]bool, len(found))
	for _, uid := range found {
		out[uid] = true
	}
	return out, err
}

// RetentionRuns are the times, of those given, at which the log says that retention was executed.
func (q Audit) RetentionRuns(ctx context.Context, s Scope, times []time.Time) (map[time.Time]bool, error) {
	out := map[time.Time]bool{}
	if len(times) == 0 {
		return out, nil
	}
	var found []time.Time
	err := q.gorm(ctx).Raw(`select distinct at from events where tenant_id = ? and environment_id = ? and type = 'retention.executed' and at in ?`,
		s.Tenant, s.Environment, times).Scan(&found).Error
	for _, at := range found {
		out[at.UTC()] = true
	}
	return out, err
}

// RetainedFrom is the time before which retention, as far as the log says, has removed what is of a class; the zero time if
// it never did. An entry from before entries named that time, or whose data is gone, speaks for the shortest retention that
// can be set.
func (q Audit) RetainedFrom(ctx context.Context, s Scope, class Expiring, shortest time.Duration) (time.Time, error) {
	var at *time.Time
	err := q.queryRow(ctx, `select max(coalesce((data->>'older_than')::timestamptz, at - make_interval(secs => $4))) from events
		where tenant_id = $1 and environment_id = $2 and type = 'retention.executed' and (data is null or data->>'class' = $3)`,
		s.Tenant, s.Environment, string(class), shortest.Seconds()).Scan(&at)
	if err != nil || at == nil {
		return time.Time{}, err
	}
	return *at, nil
}
