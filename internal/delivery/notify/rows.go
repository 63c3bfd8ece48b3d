package notify

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// holdOfNotice returns a hold by environment and authorization, for the relay, which knows no tenant.
func holdOfNotice(ctx context.Context, q *pg.Q, environment, authorization string) (models.Hold, error) {
	var h models.Hold
	return pg.OrNotFound(h, pg.Unchecked(q.Gorm(ctx)).Where("environment_id = ? and authorization_id = ?", environment, authorization).Take(&h).Error)
}

func noticeChoices(ctx context.Context, q *pg.Q, s pg.Scope, person string) ([]models.NoticeChoice, error) {
	var rows []models.NoticeChoice
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and person_id = ?", s.Tenant, s.Environment, person).
		Order("kind, channel").Find(&rows).Error
	return rows, err
}

// chooseNotices replaces the choices of a person in an environment.
func chooseNotices(ctx context.Context, q *pg.Q, s pg.Scope, person string, rows []models.NoticeChoice) error {
	if _, err := q.Exec(ctx, "delete from notice_choices where tenant_id = $1 and environment_id = $2 and person_id = $3",
		s.Tenant, s.Environment, person); err != nil || len(rows) == 0 {
		return err
	}
	return q.Gorm(ctx).Create(&rows).Error
}

// reviewersWanting returns the choices on an occasion that can be served: of people with access, by e-mail with a confirmed address, by
// chat with an address that was not removed.
func reviewersWanting(ctx context.Context, q *pg.Q, s pg.Scope, kind models.NoticeKind) ([]models.NoticeChoice, error) {
	var rows []models.NoticeChoice
	err := q.Gorm(ctx).Raw(`select c.* from notice_choices c join people p on p.id = c.person_id and p.tenant_id = c.tenant_id and p.revoked_at is null
		where c.tenant_id = ? and c.environment_id = ? and (c.kind = ? or ? = 'break_glass') and case when c.channel = 'email'
			then exists (select from person_addresses a where a.person_id = c.person_id and a.confirmed_at is not null)
			else exists (select from chat_addresses a where a.environment_id = c.environment_id and a.id = c.channel and a.removed_at is null) end
		order by c.channel, c.person_id`, s.Tenant, s.Environment, kind, kind).Find(&rows).Error
	return rows, err
}

// lastDue returns when the last message to a recipient was or will be due; the zero time if there was none.
func lastDue(ctx context.Context, q *pg.Q, n models.Notice) (time.Time, error) {
	var last time.Time
	err := q.QueryRow(ctx, `select coalesce(max(due_at), '0001-01-01 00:00:00Z') from notices
		where tenant_id = $1 and environment_id = $2 and recipient = $3`, n.TenantID, n.EnvironmentID, n.Recipient).Scan(&last)
	return last, err
}

// insertNotice adds a notice of what happened at a time and reports whether it did: there is one for a hold, an occasion and a recipient. That of a
// further step replaces that of the step before.
func insertNotice(ctx context.Context, q *pg.Q, n models.Notice, happened time.Time) (bool, error) {
	added, err := q.Exec(ctx, `insert into notices (id, tenant_id, environment_id, authorization_id, kind, recipient, status, created_at, due_at)
		values ($1, $2, $3, $4, $5, $6, 'pending', $7, $8) on conflict (authorization_id, environment_id, kind, recipient) do update
			set id = excluded.id, status = 'pending', attempts = 0, failure = null, created_at = excluded.created_at, due_at = excluded.due_at, carried_by = null, settled_at = null
			where notices.environment_id = $3 and notices.kind = 'next_step' and notices.status <> 'pending' and notices.created_at < $9`,
		n.ID, n.TenantID, n.EnvironmentID, n.AuthorizationID, n.Kind, n.Recipient, n.CreatedAt, n.DueAt, happened)
	return added == 1, err
}

// carryNotices has the message of a notice carry the others that wait for the same recipient, unless another message carries it, and returns
// the pending ones that it carries. A repetition adds none. The rows are locked in one order, so that of two messages at the same time one
// carries all.
func carryNotices(ctx context.Context, q *pg.Q, environment, id string) ([]models.Notice, error) {
	if _, err := q.Exec(ctx, `update notices set carried_by = $2 where environment_id = $1 and id in (
		select w.id from notices n join notices w on w.environment_id = n.environment_id and w.recipient = n.recipient
		where n.environment_id = $1 and n.id = $2 and n.status = 'pending' and n.carried_by is null
			and w.environment_id = $1 and w.status = 'pending' and w.carried_by is null
		order by w.id for update of w)`, environment, id); err != nil {
		return nil, err
	}
	var rows []models.Notice
	err := pg.Unchecked(q.Gorm(ctx)).Where("environment_id = ? and carried_by = ? and status = 'pending'", environment, id).Order("created_at, id").Find(&rows).Error
	return rows, err
}

// discardNotice ends a pending notice that has lost its reason.
func discardNotice(ctx context.Context, q *pg.Q, n models.Notice, at time.Time) error {
	_, err := q.Exec(ctx, `update notices set status = 'discarded', settled_at = $4
		where tenant_id = $1 and environment_id = $2 and id = $3 and status = 'pending'`, n.TenantID, n.EnvironmentID, n.ID, at)
	return err
}

// settleNotices ends the pending notices that a message carries; failure is empty unless it failed.
func settleNotices(ctx context.Context, q *pg.Q, s pg.Scope, carrier string, to models.NoticeStatus, failure string, at time.Time) error {
	_, err := q.Exec(ctx, `update notices set status = $4, failure = nullif($5, ''), settled_at = $6, attempts = attempts + 1
		where tenant_id = $1 and environment_id = $2 and carried_by = $3 and status = 'pending'`, s.Tenant, s.Environment, carrier, string(to), failure, at)
	return err
}

// countNoticeAttempt records an attempt to send a message that failed and will be repeated.
func countNoticeAttempt(ctx context.Context, q *pg.Q, s pg.Scope, carrier, failure string) error {
	_, err := q.Exec(ctx, `update notices set attempts = attempts + 1, failure = $4
		where tenant_id = $1 and environment_id = $2 and carried_by = $3 and status = 'pending'`, s.Tenant, s.Environment, carrier, failure)
	return err
}

func mailAddress(ctx context.Context, q *pg.Q, tenant, person string) (models.PersonAddress, error) {
	var row models.PersonAddress
	return pg.OrNotFound(row, q.Gorm(ctx).Where("tenant_id = ? and person_id = ?", tenant, person).Take(&row).Error)
}

// setMailAddress stores a new address, which is not confirmed, unless the person changed it after notSince. It reports whether it did.
func setMailAddress(ctx context.Context, q *pg.Q, a models.PersonAddress, notSince time.Time) (bool, error) {
	n, err := q.Exec(ctx, `insert into person_addresses as a (person_id, tenant_id, address, changed_at) values ($1, $2, $3, $4)
		on conflict (person_id) do update set address = $3, changed_at = $4, confirmed_at = null, code_mac = null, code_expires_at = null, attempts = 0, named_by = null
		where a.tenant_id = $2 and a.changed_at <= $5`, a.PersonID, a.TenantID, a.Address, a.ChangedAt, notSince)
	return n == 1, err
}

// setTiming stores when a person is sent e-mail, and reports whether the person has an address.
func setTiming(ctx context.Context, q *pg.Q, tenant, person string, t Timing) (bool, error) {
	n, err := q.Exec(ctx, `update person_addresses set gather_minutes = $3, quiet_from = $4, quiet_until = $5, zone = $6
		where tenant_id = $1 and person_id = $2`, tenant, person, t.GatherMinutes, t.QuietFrom, t.QuietUntil, t.Zone)
	return n == 1, err
}

// removeMailAddress deletes the address of a person, unless it is not confirmed and the person changed it after notSince. It reports whether
// it did.
func removeMailAddress(ctx context.Context, q *pg.Q, tenant, person string, notSince time.Time) (bool, error) {
	n, err := q.Exec(ctx, `delete from person_addresses where tenant_id = $1 and person_id = $2
		and (confirmed_at is not null or changed_at <= $3)`, tenant, person, notSince)
	return n == 1, err
}

// setMailCode stores the code that is mailed to an address that waits for its confirmation, and reports whether it still does.
func setMailCode(ctx context.Context, q *pg.Q, a models.PersonAddress, mac []byte, expires time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update person_addresses set code_mac = $4, code_expires_at = $5, attempts = 0
		where tenant_id = $1 and person_id = $2 and changed_at = $3 and confirmed_at is null`, a.TenantID, a.PersonID, a.ChangedAt, mac, expires)
	return n == 1, err
}

// countMailCode counts an attempt to confirm an address with a code, and reports whether one was left.
func countMailCode(ctx context.Context, q *pg.Q, a models.PersonAddress, most int, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update person_addresses set attempts = attempts + 1 where tenant_id = $1 and person_id = $2 and changed_at = $3
		and confirmed_at is null and code_mac is not null and code_expires_at > $4 and attempts < $5`, a.TenantID, a.PersonID, a.ChangedAt, at, most)
	return n == 1, err
}

// confirmMailAddress marks an address as confirmed by the code with the MAC and reports whether it did.
func confirmMailAddress(ctx context.Context, q *pg.Q, a models.PersonAddress, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update person_addresses set confirmed_at = $5, code_mac = null, code_expires_at = null
		where tenant_id = $1 and person_id = $2 and changed_at = $3 and code_mac = $4 and confirmed_at is null`,
		a.TenantID, a.PersonID, a.ChangedAt, a.CodeMAC, at)
	return n == 1, err
}

// ChatAddresses lists the chat addresses of the environment by name.
func ChatAddresses(ctx context.Context, q *pg.Q, s pg.Scope) ([]models.ChatAddress, error) {
	var rows []models.ChatAddress
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and removed_at is null", s.Tenant, s.Environment).Order("name, id").Find(&rows).Error
	return rows, err
}

// chatAddress returns a chat address of the environment that was not removed.
func chatAddress(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.ChatAddress, error) {
	var row models.ChatAddress
	return pg.OrNotFound(row, q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ? and removed_at is null", s.Tenant, s.Environment, id).
		Take(&row).Error)
}

// lockChatAddresses locks the environment's list of chat addresses until the transaction ends, so that its length can be limited.
func lockChatAddresses(ctx context.Context, q *pg.Q, s pg.Scope) ([]models.ChatAddress, error) {
	if _, err := tenancy.LockEnvironment(ctx, q, s); err != nil {
		return nil, err
	}
	return ChatAddresses(ctx, q, s)
}

// addChatAddress inserts a chat address. It returns false if the environment has one of that name.
func addChatAddress(ctx context.Context, q *pg.Q, a models.ChatAddress) (bool, error) {
	res := q.Gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&a)
	return res.RowsAffected == 1, res.Error
}

// removeChatAddress removes a chat address with its URL and the choices of it, and reports whether it did.
func removeChatAddress(ctx context.Context, q *pg.Q, s pg.Scope, id string, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update chat_addresses set removed_at = $4, url = null, failing_since = null, failure = null
		where tenant_id = $1 and environment_id = $2 and id = $3 and removed_at is null`, s.Tenant, s.Environment, id, at)
	if err != nil || n == 0 {
		return false, err
	}
	_, err = q.Exec(ctx, "delete from notice_choices where tenant_id = $1 and environment_id = $2 and channel = $3", s.Tenant, s.Environment, id)
	return true, err
}

// markChatAddress records the result of an attempt to post to a chat address; an empty failure is a success.
func markChatAddress(ctx context.Context, q *pg.Q, s pg.Scope, id, failure string, at time.Time) error {
	if failure == "" {
		_, err := q.Exec(ctx, `update chat_addresses set failing_since = null, failure = null
			where tenant_id = $1 and environment_id = $2 and id = $3 and failing_since is not null`, s.Tenant, s.Environment, id)
		return err
	}
	_, err := q.Exec(ctx, `update chat_addresses set failing_since = coalesce(failing_since, $5), failure = $4
		where tenant_id = $1 and environment_id = $2 and id = $3 and removed_at is null`, s.Tenant, s.Environment, id, failure, at)
	return err
}
