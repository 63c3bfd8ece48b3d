package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// Passkeys stores the passkeys of subjects.
type Passkeys struct{ *Q }

// Passkeys returns the queries of the aggregate.
func (q *Q) Passkeys() Passkeys { return Passkeys{q} }

// Create inserts a passkey. It returns false if the environment has its credential id already, for any subject.
func (q Passkeys) Create(ctx context.Context, p models.Passkey) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "environment_id"}, {Name: "credential_id"}}, DoNothing: true,
	}).Create(&p)
	return res.RowsAffected == 1, res.Error
}

// List lists a subject's passkeys, newest first, revoked ones too.
func (q Passkeys) List(ctx context.Context, s Scope, uid string, p Page) ([]models.Passkey, string, error) {
	tx, err := paginate(q.gorm(ctx).Where(inScope+" and subject_uid = ?", s.Tenant, s.Environment, uid), p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Passkey
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cutPage(rows, p, func(r models.Passkey) (time.Time, string) { return r.CreatedAt, r.ID })
	return rows, next, nil
}

// Active returns the subjects' passkeys that are not revoked, oldest first.
func (q Passkeys) Active(ctx context.Context, s Scope, uids ...string) ([]models.Passkey, error) {
	var rows []models.Passkey
	err := q.gorm(ctx).Where(inScope+" and subject_uid in ? and revoked_at is null", s.Tenant, s.Environment, uids).
		Order("created_at, id").Find(&rows).Error
	return rows, err
}

// ForChallenge returns the subject's passkeys that may complete a challenge, oldest first: those that are not revoked and whose model
// the policy version of the decision permits.
func (q Passkeys) ForChallenge(ctx context.Context, s Scope, c models.Challenge) ([]models.Passkey, error) {
	var permitted []string
	err := q.queryRow(ctx, `select coalesce(array(select jsonb_array_elements_text(v.requirements->'passkey_aaguids')), '{}')
		from authorizations a join policy_versions v on v.action_id = a.action_id and v.version = a.policy_version
		where a.tenant_id = $1 and a.environment_id = $2 and a.id = $3`, s.Tenant, s.Environment, c.AuthorizationID).Scan(&permitted)
	if permitted, err = orNotFound(permitted, err); err != nil {
		return nil, err
	}
	active, err := q.Active(ctx, s, c.SubjectUID)
	return models.OfModels(active, permitted), err
}

// CountsOfModels returns for each of the decisions by id how many passkeys of the models its subject has now; none is left out.
func (q Passkeys) CountsOfModels(ctx context.Context, s Scope, authorizations, aaguids []string) (map[string]int, error) {
	rows, err := q.query(ctx, `select a.id, count(*) from authorizations a join passkeys p on p.subject_uid = a.subject_uid and p.environment_id = a.environment_id
		where a.tenant_id = $1 and a.environment_id = $2 and a.id = any ($3) and p.revoked_at is null
			and encode(p.aaguid, 'hex') = any (select replace(m, '-', '') from unnest($4::text[]) m)
		group by a.id`, s.Tenant, s.Environment, authorizations, aaguids)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]int{}
	for rows.Next() {
		var id string
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			return nil, err
		}
		out[id] = n
	}
	return out, rows.Err()
}

// ModelsMatter reports whether an active policy of the environment permits only some models of authenticators.
func (q Passkeys) ModelsMatter(ctx context.Context, s Scope) (bool, error) {
	var matter bool
	err := q.queryRow(ctx, `select exists (select from policy_versions where tenant_id = $1 and environment_id = $2 and status = 'active'
		and requirements ? 'passkey_aaguids')`, s.Tenant, s.Environment).Scan(&matter)
	return matter, err
}

// Revoke revokes a passkey of the subject. It returns false if it was revoked before and ErrNotFound if there is none.
func (q Passkeys) Revoke(ctx context.Context, s Scope, uid, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update passkeys set revoked_at = $5
		where tenant_id = $1 and environment_id = $2 and subject_uid = $3 and id = $4 and revoked_at is null`,
		s.Tenant, s.Environment, uid, id, at)
	if err != nil || n == 1 {
		return n == 1, err
	}
	var found string
	err = q.queryRow(ctx, `select id from passkeys where tenant_id = $1 and environment_id = $2 and subject_uid = $3 and id = $4`,
		s.Tenant, s.Environment, uid, id).Scan(&found)
	_, err = orNotFound(found, err)
	return false, err
}

// SpendAssertion raises the sign count of the passkey of a request to that of its assertion and reports whether it did. It does not if
// the passkey is revoked or another assertion reached the count before. Authenticators without a counter always send
// zero.
func (q Passkeys) SpendAssertion(ctx context.Context, m models.MoveRequest, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update passkeys set sign_count = $2, backup_state = $3, last_used_at = $4
		where id = $1 and environment_id = $5 and revoked_at is null and (sign_count < $2 or (sign_count = 0 and $2 = 0))`,
		m.PasskeyID, m.SignCount, m.BackupState, at, m.EnvironmentID)
	return n == 1, err
}

// WarnOfClone marks a passkey whose sign count went backwards, which a cloned authenticator would cause.
func (q Passkeys) WarnOfClone(ctx context.Context, s Scope, id string) error {
	_, err := q.exec(ctx, "update passkeys set clone_warning = true where tenant_id = $1 and environment_id = $2 and id = $3",
		s.Tenant, s.Environment, id)
	return err
}
