package audit

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// disableTimeout lifts the statement timeout until the transaction ends. An audit reads a whole environment, and no
// request waits for it.
func disableTimeout(ctx context.Context, q *pg.Q) error {
	return q.LimitStatements(ctx, 0)
}

// DecisionRecord is a decision of the log with the stored rows that belong to it and every event about it, in order.
// Authorization is nil if the row is gone.
type DecisionRecord struct {
	Decided       models.Event
	Authorization *models.Authorization
	Challenge     *models.Challenge
	Hold          *models.Hold
	Steps         []models.HoldStep // in their order
	Teams         []models.HoldTeam
	Proof         *models.Proof
	Reviews       []models.Review
	Events        []models.Event
}

// RowPosition is a position in a list that runs newest first. The zero value is its beginning.
type RowPosition struct {
	At time.Time
	ID string
}

// decisionRecords returns at most limit decisions that the log names, newest first, behind a position.
func decisionRecords(ctx context.Context, q *pg.Q, s pg.Scope, after RowPosition, limit int) ([]DecisionRecord, error) {
	tx := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and type = 'authorization.decided' and authorization_id is not null",
		s.Tenant, s.Environment)
	if after.ID != "" {
		tx = tx.Where("(at, id) < (?, ?)", after.At, after.ID)
	}
	var decided []models.Event
	if err := tx.Order("at desc, id desc").Limit(limit).Find(&decided).Error; err != nil {
		return nil, err
	}
	return decisionRecordsOf(ctx, q, s, decided)
}

// decisionRecordsOf reads the stored rows and events of decided events, one query for each kind of row.
func decisionRecordsOf(ctx context.Context, q *pg.Q, s pg.Scope, decided []models.Event) ([]DecisionRecord, error) {
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
		steps          []models.HoldStep
		teams          []models.HoldTeam
		proofs         []models.Proof
		reviews        []models.Review
	}
	of := func(into any) error {
		return pg.Unchecked(q.Gorm(ctx)).Where("environment_id = ? and authorization_id in ?", s.Environment, ids).Find(into).Error
	}
	for _, err := range []error{
		pg.Unchecked(q.Gorm(ctx)).Where("tenant_id = ? and environment_id = ? and id in ?", s.Tenant, s.Environment, ids).Find(&rows.authorizations).Error,
		of(&rows.challenges), of(&rows.holds), of(&rows.steps), of(&rows.teams), of(&rows.proofs), of(&rows.reviews),
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
	slices.SortFunc(rows.steps, func(a, b models.HoldStep) int { return cmp.Compare(a.Step, b.Step) })
	for _, s := range rows.steps {
		d := &out[place[s.AuthorizationID]]
		d.Steps = append(d.Steps, s)
	}
	for _, t := range rows.teams {
		d := &out[place[t.AuthorizationID]]
		d.Teams = append(d.Teams, t)
	}
	for _, r := range rows.reviews {
		d := &out[place[r.AuthorizationID]]
		d.Reviews = append(d.Reviews, r)
	}
	var entries []models.Event
	err := q.Gorm(ctx).Raw(inOrder("v.*", "v.tenant_id = ? and v.environment_id = ? and v.authorization_id in ?"), s.Tenant, s.Environment, ids).Find(&entries).Error
	for _, e := range entries {
		d := &out[place[*e.AuthorizationID]]
		d.Events = append(d.Events, e)
	}
	return out, err
}

// inOrder selects the events that fulfil a condition in the order of the chain, which is sealed; those that wait for it come last.
func inOrder(columns, condition string) string {
	return "select " + columns + " from events v left join audit_chain c on c.event_id = v.id and c.environment_id = v.environment_id where " + condition +
		" order by c.seq, v.seq"
}

// recordOfDecision returns the record of one authorization, or ErrNotFound if the log has no such decision.
func recordOfDecision(ctx context.Context, q *pg.Q, s pg.Scope, authorization string) (DecisionRecord, error) {
	var decided []models.Event
	if err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and type = 'authorization.decided' and authorization_id = ?",
		s.Tenant, s.Environment, authorization).Order("seq").Limit(1).Find(&decided).Error; err != nil {
		return DecisionRecord{}, err
	}
	if len(decided) == 0 {
		return DecisionRecord{}, pg.ErrNotFound
	}
	found, err := decisionRecordsOf(ctx, q, s, decided)
	if err != nil {
		return DecisionRecord{}, err
	}
	return found[0], nil
}

// unloggedDecisions returns at most limit ids of stored decisions that the log does not name.
func unloggedDecisions(ctx context.Context, q *pg.Q, s pg.Scope, limit int) ([]string, error) {
	var ids []string
	err := q.Gorm(ctx).Raw(`select a.id from authorizations a where a.tenant_id = ? and a.environment_id = ? and not exists
		(select 1 from events e where e.authorization_id = a.id and e.environment_id = a.environment_id and e.type = 'authorization.decided')
		limit ?`, s.Tenant, s.Environment, limit).Find(&ids).Error
	return ids, err
}

// NoEvidence is the condition that an event r is not compared with anything that is stored, so that retention may erase its personal part.
var NoEvidence = `r.type not in ('` + string(events.RecordsChanged) + `', '` + string(events.SubjectErased) + `', '` + string(events.RetentionExecuted) + `',
		'` + string(events.EvaluationCreated) + `', '` + string(events.EvaluationClosed) + `')
	and not exists (select from authorizations a where a.id = r.authorization_id and a.environment_id = r.environment_id)
	and not (r.type in ('` + strings.Join(subjectTypes, "', '") + `')
		and exists (select from subjects s where s.uid = r.subject_uid and s.environment_id = r.environment_id))`

// SubjectRecord is a subject with its templates, passkeys and standing approvals and every event about it of the requested types.
type SubjectRecord struct {
	Subject   models.Subject
	Templates []models.Template // without their data
	Passkeys  []pg.Row
	Standing  []pg.Row
	Events    []models.Event
	Bridging  bool // version 1.0 may have begun a recovery, which the subject does not name
}

// subjectRecords returns at most limit subjects, newest first, behind a position, with their events of the types.
func subjectRecords(ctx context.Context, q *pg.Q, s pg.Scope, types []string, after RowPosition, limit int) ([]SubjectRecord, error) {
	tx := pg.Unchecked(q.Gorm(ctx)).Omit("timing_template").Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment)
	if after.ID != "" {
		tx = tx.Where("(created_at, uid) < (?, ?)", after.At, after.ID)
	}
	var subjects []models.Subject
	if err := tx.Order("created_at desc, uid desc").Limit(limit).Find(&subjects).Error; err != nil {
		return nil, err
	}
	out, uids, place := make([]SubjectRecord, len(subjects)), make([]string, len(subjects)), make(map[string]int, len(subjects))
	for i, r := range subjects {
		out[i].Subject, out[i].Bridging, uids[i], place[r.UID] = r, q.Bridging(), r.UID, i
	}
	var templates []models.Template
	var passkeys []models.Passkey
	var standing []models.StandingApproval
	var entries []models.Event
	for _, err := range []error{
		q.Gorm(ctx).Omit("data").Where("environment_id = ? and subject_uid in ?", s.Environment, uids).Order("subject_uid, version").Find(&templates).Error,
		pg.Unchecked(q.Gorm(ctx)).Where("environment_id = ? and subject_uid in ?", s.Environment, uids).Find(&passkeys).Error,
		pg.Unchecked(q.Gorm(ctx)).Where("environment_id = ? and subject_uid in ?", s.Environment, uids).Find(&standing).Error,
		q.Gorm(ctx).Raw(inOrder("v.*", "v.environment_id = ? and v.subject_uid in ? and v.type in ?"), s.Environment, uids, types).Find(&entries).Error,
	} {
		if err != nil {
			return nil, err
		}
	}
	for _, r := range templates {
		d := &out[place[r.SubjectUID]]
		d.Templates = append(d.Templates, r)
	}
	states, err := pg.States(ctx, q, passkeys)
	for _, r := range states {
		d := &out[place[r.Subject]]
		d.Passkeys = append(d.Passkeys, r)
	}
	if err != nil {
		return nil, err
	}
	states, err = pg.States(ctx, q, standing)
	for _, r := range states {
		d := &out[place[r.Subject]]
		d.Standing = append(d.Standing, r)
	}
	for _, e := range entries {
		d := &out[place[*e.SubjectUID]]
		d.Events = append(d.Events, e)
	}
	return out, err
}

// LostSubject is a subject that the log records and that is no longer stored.
type LostSubject struct {
	Event string
	UID   string
}

// lostSubjects returns at most limit subjects whose creation is in the log, with its personal part, and that are not
// stored.
func lostSubjects(ctx context.Context, q *pg.Q, s pg.Scope, limit int) ([]LostSubject, error) {
	var rows []LostSubject
	err := q.Gorm(ctx).Raw(`select e.id as event, e.subject_uid as uid from events e where e.tenant_id = ? and e.environment_id = ?
		and e.type = 'subject.created' and e.subject_uid is not null
		and not exists (select 1 from subjects s where s.uid = e.subject_uid and s.environment_id = e.environment_id and s.tenant_id = e.tenant_id) limit ?`,
		s.Tenant, s.Environment, limit).Find(&rows).Error
	return rows, err
}

// isErasing returns those of the subjects that are being erased by an erasure whose request the log records.
func isErasing(ctx context.Context, q *pg.Q, s pg.Scope, uids []string) (map[string]bool, error) {
	if len(uids) == 0 {
		return map[string]bool{}, nil
	}
	var found []string
	err := q.Gorm(ctx).Raw(`select r.subject_uid from erasures r where r.tenant_id = ? and r.environment_id = ? and r.status = 'erasing'
		and r.subject_uid in ? and exists (select 1 from events e where e.environment_id = r.environment_id
			and e.type = 'subject.erasure_requested' and e.at = r.requested_at and e.actor = r.requested_by)`,
		s.Tenant, s.Environment, uids).Find(&found).Error
	out := make(map[string]bool, len(found))
	for _, uid := range found {
		out[uid] = true
	}
	return out, err
}

// retainedFrom returns the time before which retention has removed the rows of a class, according to the log, or the zero
// time if it never did. An event whose data is gone is taken for the
// shortest retention that can be set.
func retainedFrom(ctx context.Context, q *pg.Q, s pg.Scope, class Expiring, shortest time.Duration) (time.Time, error) {
	var at *time.Time
	err := q.QueryRow(ctx, `select max(coalesce((data->>'older_than')::timestamptz, at - make_interval(secs => $4))) from events
		where tenant_id = $1 and environment_id = $2 and type = 'retention.executed' and (data is null or data->>'class' = $3)`,
		s.Tenant, s.Environment, string(class), shortest.Seconds()).Scan(&at)
	if err != nil || at == nil {
		return time.Time{}, err
	}
	return *at, nil
}

// evaluationRecords returns the evaluations of an environment and the entries that created and closed them, in order.
func evaluationRecords(ctx context.Context, q *pg.Q, s pg.Scope) (rows []models.Evaluation, entries []models.Event, err error) {
	if err = q.Gorm(ctx).Where(pg.InScope, s.Tenant, s.Environment).Find(&rows).Error; err != nil {
		return nil, nil, err
	}
	err = q.Gorm(ctx).Raw(inOrder("v.*", "v.tenant_id = ? and v.environment_id = ? and v.type in ?"), s.Tenant, s.Environment,
		[]string{string(events.EvaluationCreated), string(events.EvaluationClosed)}).Find(&entries).Error
	return rows, entries, err
}

// listsOf returns the lists of an environment.
func listsOf(ctx context.Context, q *pg.Q, s pg.Scope) ([]models.List, error) {
	var rows []models.List
	err := pg.Unchecked(q.Gorm(ctx)).Where(pg.InScope, s.Tenant, s.Environment).Order("id").Find(&rows).Error
	return rows, err
}

// changedRowsOf returns the last states of the rows of an environment that belong to no subject.
func changedRowsOf(ctx context.Context, q *pg.Q, s pg.Scope) (changedRows, error) {
	out := changedRows{}
	rows, err := q.Query(ctx, inOrder("v.id, v.data", "v.environment_id = $1 and v.type = $2 and v.data is not null and v.subject_uid is null"),
		s.Environment, string(events.RecordsChanged))
	if err != nil {
		return nil, err
	}
	var id string
	var data models.JSON
	_, err = pgx.ForEachRow(rows, []any{&id, &data}, func() error { return out.apply(id, data) })
	return out, err
}
