package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// Notices stores the notices about holds and who wants them.
type Notices struct{ *Q }

// Notices returns the queries of the aggregate.
func (q *Q) Notices() Notices { return Notices{q} }

// Announce adds the outbox row from which the notices of a hold are made. Its handler makes none if no one wants any.
func (q Notices) Announce(ctx context.Context, h models.Hold, kind models.NoticeKind, at time.Time) error {
	return q.Outbox().Insert(ctx, noticeOf(h, kind, at))
}

// noticeOf is the work of making the notices of a hold.
func noticeOf(h models.Hold, kind models.NoticeKind, at time.Time) models.Outbox {
	return models.Outbox{Topic: "notice", EnvironmentID: h.EnvironmentID, Ref: h.AuthorizationID,
		Payload: models.JSON(`{"kind":"` + string(kind) + `"}`), CreatedAt: at, AvailableAt: at}
}

// Hold returns a hold by environment and authorization, for the relay, which knows no tenant.
func (q Notices) Hold(ctx context.Context, environment, authorization string) (models.Hold, error) {
	var h models.Hold
	return orNotFound(h, q.gorm(ctx).Where("environment_id = ? and authorization_id = ?", environment, authorization).Take(&h).Error)
}

// Choices returns the choices of a person in an environment.
func (q Notices) Choices(ctx context.Context, s Scope, person string) ([]models.NoticeChoice, error) {
	var rows []models.NoticeChoice
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and person_id = ?", s.Tenant, s.Environment, person).
		Order("kind, channel").Find(&rows).Error
	return rows, err
}

// Choose replaces the choices of a person in an environment.
func (q Notices) Choose(ctx context.Context, s Scope, person string, rows []models.NoticeChoice) error {
	if _, err := q.exec(ctx, "delete from notice_choices where tenant_id = $1 and environment_id = $2 and person_id = $3",
		s.Tenant, s.Environment, person); err != nil || len(rows) == 0 {
		return err
	}
	return q.gorm(ctx).Create(&rows).Error
}

// Wanting returns the choices on an occasion that can be served: of people with access, by e-mail with a confirmed address, by
// chat with an address that was not removed.
func (q Notices) Wanting(ctx context.Context, s Scope, kind models.NoticeKind) ([]models.NoticeChoice, error) {
	var rows []models.NoticeChoice
	err := q.gorm(ctx).Raw(`select c.* from notice_choices c join people p on p.id = c.person_id and p.tenant_id = c.tenant_id and p.revoked_at is null
		where c.tenant_id = ? and c.environment_id = ? and c.kind = ? and case when c.channel = 'email'
			then exists (select from person_addresses a where a.person_id = c.person_id and a.confirmed_at is not null)
			else exists (select from chat_addresses a where a.environment_id = c.environment_id and a.id = c.channel and a.removed_at is null) end
		order by c.channel, c.person_id`, s.Tenant, s.Environment, kind).Find(&rows).Error
	return rows, err
}

// Insert adds notices and returns those that did not exist yet for the same hold, occasion and recipient.
func (q Notices) Insert(ctx context.Context, rows []models.Notice) ([]models.Notice, error) {
	var out []models.Notice
	for _, n := range rows {
		added, err := q.exec(ctx, `insert into notices (id, tenant_id, environment_id, authorization_id, kind, recipient, status, created_at)
			values ($1, $2, $3, $4, $5, $6, 'pending', $7) on conflict (authorization_id, environment_id, kind, recipient) do nothing`,
			n.ID, n.TenantID, n.EnvironmentID, n.AuthorizationID, n.Kind, n.Recipient, n.CreatedAt)
		if err != nil {
			return nil, err
		}
		if added == 1 {
			out = append(out, n)
		}
	}
	return out, nil
}

// Get returns a notice by environment and id, for the relay, which knows no tenant.
func (q Notices) Get(ctx context.Context, environment, id string) (models.Notice, error) {
	var n models.Notice
	return orNotFound(n, q.gorm(ctx).Where("environment_id = ? and id = ?", environment, id).Take(&n).Error)
}

// Settle ends a pending notice and reports whether it did; failure is empty unless it failed.
func (q Notices) Settle(ctx context.Context, n models.Notice, to models.NoticeStatus, failure string, at time.Time) (bool, error) {
	changed, err := q.exec(ctx, `update notices set status = $4, failure = nullif($5, ''), settled_at = $6, attempts = attempts + 1
		where tenant_id = $1 and environment_id = $2 and id = $3 and status = 'pending'`, n.TenantID, n.EnvironmentID, n.ID, string(to), failure, at)
	return changed == 1, err
}

// CountAttempt records an attempt that failed and will be repeated.
func (q Notices) CountAttempt(ctx context.Context, n models.Notice, failure string) error {
	_, err := q.exec(ctx, `update notices set attempts = attempts + 1, failure = $4
		where tenant_id = $1 and environment_id = $2 and id = $3 and status = 'pending'`, n.TenantID, n.EnvironmentID, n.ID, failure)
	return err
}

// Drop deletes at most limit settled notices created before t.
func (q Notices) Drop(ctx context.Context, t time.Time, limit int) (int64, error) {
	return q.exec(ctx, `delete from notices where id in (select id from notices where created_at < $1 and status <> 'pending' limit $2)`, t, limit)
}

// Forget deletes the address and the choices of a person, whose access was revoked.
func (q Notices) Forget(ctx context.Context, person string) error {
	if _, err := q.exec(ctx, "delete from notice_choices where person_id = $1", person); err != nil {
		return err
	}
	_, err := q.exec(ctx, "delete from person_addresses where person_id = $1", person)
	return err
}

// Address returns the e-mail address of a person of the tenant.
func (q Notices) Address(ctx context.Context, tenant, person string) (models.PersonAddress, error) {
	var row models.PersonAddress
	return orNotFound(row, q.gorm(ctx).Where("tenant_id = ? and person_id = ?", tenant, person).Take(&row).Error)
}

// SetAddress stores a new address, which is not confirmed, unless the person changed it after notSince. It reports whether it did.
func (q Notices) SetAddress(ctx context.Context, a models.PersonAddress, notSince time.Time) (bool, error) {
	n, err := q.exec(ctx, `insert into person_addresses as a (person_id, tenant_id, address, changed_at) values ($1, $2, $3, $4)
		on conflict (person_id) do update set address = $3, changed_at = $4, confirmed_at = null, code_mac = null, code_expires_at = null, attempts = 0
		where a.tenant_id = $2 and a.changed_at <= $5`, a.PersonID, a.TenantID, a.Address, a.ChangedAt, notSince)
	return n == 1, err
}

// RemoveAddress deletes the address of a person, unless it is not confirmed and the person changed it after notSince. It reports whether
// it did.
func (q Notices) RemoveAddress(ctx context.Context, tenant, person string, notSince time.Time) (bool, error) {
	n, err := q.exec(ctx, `delete from person_addresses where tenant_id = $1 and person_id = $2
		and (confirmed_at is not null or changed_at <= $3)`, tenant, person, notSince)
	return n == 1, err
}

// SetCode stores the code that is mailed to an address that waits for its confirmation, and reports whether it still does.
func (q Notices) SetCode(ctx context.Context, a models.PersonAddress, mac []byte, expires time.Time) (bool, error) {
	n, err := q.exec(ctx, `update person_addresses set code_mac = $4, code_expires_at = $5, attempts = 0
		where tenant_id = $1 and person_id = $2 and changed_at = $3 and confirmed_at is null`, a.TenantID, a.PersonID, a.ChangedAt, mac, expires)
	return n == 1, err
}

// CountCode counts an attempt to confirm an address with a code, and reports whether one was left.
func (q Notices) CountCode(ctx context.Context, a models.PersonAddress, most int, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update person_addresses set attempts = attempts + 1 where tenant_id = $1 and person_id = $2 and changed_at = $3
		and confirmed_at is null and code_mac is not null and code_expires_at > $4 and attempts < $5`, a.TenantID, a.PersonID, a.ChangedAt, at, most)
	return n == 1, err
}

// ConfirmAddress marks an address as confirmed by the code with the MAC and reports whether it did.
func (q Notices) ConfirmAddress(ctx context.Context, a models.PersonAddress, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update person_addresses set confirmed_at = $5, code_mac = null, code_expires_at = null
		where tenant_id = $1 and person_id = $2 and changed_at = $3 and code_mac = $4 and confirmed_at is null`,
		a.TenantID, a.PersonID, a.ChangedAt, a.CodeMAC, at)
	return n == 1, err
}

// ChatAddresses lists the chat addresses of the environment by name.
func (q Notices) ChatAddresses(ctx context.Context, s Scope) ([]models.ChatAddress, error) {
	var rows []models.ChatAddress
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and removed_at is null", s.Tenant, s.Environment).Order("name, id").Find(&rows).Error
	return rows, err
}

// ChatAddress returns a chat address of the environment that was not removed.
func (q Notices) ChatAddress(ctx context.Context, s Scope, id string) (models.ChatAddress, error) {
	var row models.ChatAddress
	return orNotFound(row, q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ? and removed_at is null", s.Tenant, s.Environment, id).
		Take(&row).Error)
}

// LockChatAddresses locks the environment's list of chat addresses until the transaction ends, so that its length can be limited.
func (q Notices) LockChatAddresses(ctx context.Context, s Scope) ([]models.ChatAddress, error) {
	if _, err := q.Environments().Lock(ctx, s); err != nil {
		return nil, err
	}
	return q.ChatAddresses(ctx, s)
}

// AddChatAddress inserts a chat address. It returns false if the environment has one of that name.
func (q Notices) AddChatAddress(ctx context.Context, a models.ChatAddress) (bool, error) {
	res := q.gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&a)
	return res.RowsAffected == 1, res.Error
}

// RemoveChatAddress removes a chat address with its URL and the choices of it, and reports whether it did.
func (q Notices) RemoveChatAddress(ctx context.Context, s Scope, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update chat_addresses set removed_at = $4, url = null, failing_since = null, failure = null
		where tenant_id = $1 and environment_id = $2 and id = $3 and removed_at is null`, s.Tenant, s.Environment, id, at)
	if err != nil || n == 0 {
		return false, err
	}
	_, err = q.exec(ctx, "delete from notice_choices where tenant_id = $1 and environment_id = $2 and channel = $3", s.Tenant, s.Environment, id)
	return true, err
}

// MarkChatAddress records the result of an attempt to post to a chat address; an empty failure is a success.
func (q Notices) MarkChatAddress(ctx context.Context, s Scope, id, failure string, at time.Time) error {
	if failure == "" {
		_, err := q.exec(ctx, `update chat_addresses set failing_since = null, failure = null
			where tenant_id = $1 and environment_id = $2 and id = $3 and failing_since is not null`, s.Tenant, s.Environment, id)
		return err
	}
	_, err := q.exec(ctx, `update chat_addresses set failing_since = coalesce(failing_since, $5), failure = $4
		where tenant_id = $1 and environment_id = $2 and id = $3 and removed_at is null`, s.Tenant, s.Environment, id, failure, at)
	return err
}
