package staff

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// createConsoleSession inserts a session. It returns false if its ceremony opened a session before.
func createConsoleSession(ctx context.Context, q *pg.Q, s models.ConsoleSession) (bool, error) {
	res := q.Gorm(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "ceremony"}}, DoNothing: true}).Create(&s)
	return res.RowsAffected == 1, res.Error
}

// getConsoleSession returns the session with one of the MACs of its cookie, and its person. It returns ended and expired sessions too.
func getConsoleSession(ctx context.Context, q *pg.Q, macs [][]byte) (models.ConsoleSession, models.Person, error) {
	var s models.ConsoleSession
	var p models.Person
	if s, err := pg.OrNotFound(s, q.Gorm(ctx).Where("mac in ?", macs).Take(&s).Error); err != nil {
		return s, p, err
	}
	p, err := pg.OrNotFound(p, q.Gorm(ctx).Where("id = ?", s.PersonID).Take(&p).Error)
	return s, p, err
}

// touchConsoleSession records when a session was last used.
func touchConsoleSession(ctx context.Context, q *pg.Q, id string, at time.Time) error {
	_, err := q.Exec(ctx, "update console_sessions set last_seen_at = $2 where id = $1 and ended_at is null and last_seen_at < $2", id, at)
	return err
}

// beginConfirmation stores the ceremony that may confirm a session next, in place of an earlier one.
func beginConfirmation(ctx context.Context, q *pg.Q, id string, ceremony []byte) error {
	_, err := q.Exec(ctx, "update console_sessions set confirming = $2 where id = $1 and ended_at is null", id, ceremony)
	return err
}

// confirmConsoleSession records that the person of a session used a passkey again and ends the ceremony. It returns false if the
// session has ended or the ceremony is not the stored one. The column ceremony stays that of the sign-in: it is unique,
// so that no sign-in can be used twice.
func confirmConsoleSession(ctx context.Context, q *pg.Q, id string, ceremony []byte, at time.Time) (bool, error) {
	confirmed, err := pg.Change[models.ConsoleSession](ctx, q, "id = @id and ended_at is null and confirming = @ceremony",
		"confirmed_at = @at, last_seen_at = @at, confirming = null", map[string]any{"id": id, "ceremony": ceremony, "at": at})
	return len(confirmed) == 1, err
}

// endConsoleSession ends one session. It returns false if it had ended.
func endConsoleSession(ctx context.Context, q *pg.Q, id string, at time.Time) (bool, error) {
	ended, err := pg.Change[models.ConsoleSession](ctx, q.AsStored(), "id = @id and ended_at is null", "ended_at = @at", map[string]any{"id": id, "at": at})
	return len(ended) == 1, err
}

// EndConsoleSessions ends all sessions of a person and returns their ids.
func EndConsoleSessions(ctx context.Context, q *pg.Q, person string, at time.Time) ([]string, error) {
	ended, err := pg.Change[models.ConsoleSession](ctx, q.AsStored(), "person_id = @person and ended_at is null", "ended_at = @at", map[string]any{"person": person, "at": at})
	ids := make([]string, len(ended))
	for i, s := range ended {
		ids[i] = s.ID
	}
	return ids, err
}

// holdIdentityProvider locks a provider against changes until the transaction ends. It returns false if it was changed since updated, or removed.
// Several transactions may hold it at once.
func holdIdentityProvider(ctx context.Context, q *pg.Q, tenant, id string, updated time.Time) (bool, error) {
	var rows []string
	err := q.Gorm(ctx).Raw("select id from identity_providers where tenant_id = ? and id = ? and updated_at = ? and removed_at is null for share",
		tenant, id, updated).Find(&rows).Error
	return len(rows) == 1, err
}

// recordLogout records that a logout token was accepted. It returns false if it had been.
func recordLogout(ctx context.Context, q *pg.Q, l models.ProviderLogout) (bool, error) {
	res := q.Gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&l)
	return res.RowsAffected == 1, res.Error
}

// createFederatedPerson inserts a person of a provider. It returns false if the provider's subject has a person.
func createFederatedPerson(ctx context.Context, q *pg.Q, p models.Person) (bool, error) {
	res := q.Gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&p)
	return res.RowsAffected == 1, res.Error
}

// lockFederatedPerson returns the person of a provider's subject and locks the row until the transaction ends.
func lockFederatedPerson(ctx context.Context, q *pg.Q, tenant, provider, subject string) (models.Person, error) {
	var p models.Person
	tx := q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).
		Where("tenant_id = ? and identity_provider_id = ? and provider_subject = ?", tenant, provider, subject).Order("revoked_at desc nulls first")
	return pg.OrNotFound(p, tx.Take(&p).Error)
}

// lockPeopleOfSubject returns the people of a subject at any of the providers, the oldest first, and locks the rows until the transaction ends.
func lockPeopleOfSubject(ctx context.Context, q *pg.Q, tenant string, providers []string, subject string) ([]models.Person, error) {
	var rows []models.Person
	err := q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("tenant_id = ? and identity_provider_id in ? and provider_subject = ?", tenant, providers, subject).
		Order("created_at, id").Find(&rows).Error
	return rows, err
}

// PersonOfSubject returns the id of the person of a provider's subject, of one who has access before others; empty if there is none.
func PersonOfSubject(ctx context.Context, q *pg.Q, tenant, provider, subject string) (string, error) {
	var p models.Person
	err := q.Gorm(ctx).Where("tenant_id = ? and identity_provider_id = ? and provider_subject = ?", tenant, provider, subject).
		Order("revoked_at desc nulls first").Limit(1).Find(&p).Error
	return p.ID, err
}

// providersOf returns the identity providers of a tenant, removed ones too.
func providersOf(ctx context.Context, q *pg.Q, tenant string) ([]models.IdentityProvider, error) {
	var rows []models.IdentityProvider
	err := q.Gorm(ctx).Where("tenant_id = ?", tenant).Order("created_at, id").Find(&rows).Error
	return rows, err
}

// adoptFederatedPerson moves a person to the provider that signs them in now: the same issuer under a different name.
func adoptFederatedPerson(ctx context.Context, q *pg.Q, p models.Person, provider string) error {
	_, err := pg.Change[models.Person](ctx, q, "tenant_id = @tenant and id = @id", "identity_provider_id = @provider",
		map[string]any{"tenant": p.TenantID, "id": p.ID, "provider": provider})
	return err
}

// confirmByProvider records that the provider of a person confirms them, if no one else saw a link of theirs.
func confirmByProvider(ctx context.Context, q *pg.Q, p models.Person, at time.Time) error {
	_, err := pg.Change[models.Person](ctx, q, "tenant_id = @tenant and id = @id and principal is null and confirmed_at is null and shown_to = '{}' and mailed_by = '{}'",
		"confirmed_at = @at, confirmed_by = 'identity_provider:' || identity_provider_id", map[string]any{"tenant": p.TenantID, "id": p.ID, "at": at})
	return err
}

// peopleOfIdentityProvider returns the people of a provider who have access, in the order of their ids, at most limit from after on.
func peopleOfIdentityProvider(ctx context.Context, q *pg.Q, tenant, provider, after string, limit int) ([]models.Person, error) {
	var rows []models.Person
	err := q.Gorm(ctx).Where("tenant_id = ? and identity_provider_id = ? and revoked_at is null and id > ?", tenant, provider, after).
		Order("id").Limit(limit).Find(&rows).Error
	return rows, err
}

// renameFederatedPerson stores the name of a person as their provider has it.
func renameFederatedPerson(ctx context.Context, q *pg.Q, tenant, person, name string) error {
	_, err := q.Exec(ctx, "update people set name = $3 where tenant_id = $1 and id = $2", tenant, person, name)
	return err
}

// identitySubjectsOfSession returns the subjects of the people who signed in within a session of the provider.
func identitySubjectsOfSession(ctx context.Context, q *pg.Q, provider, session string) ([]string, error) {
	var out []string
	err := q.Gorm(ctx).Raw(`select distinct p.provider_subject from console_sessions s join people p on p.id = s.person_id
		where s.identity_provider_id = ? and s.provider_session = ? and p.identity_provider_id = ?`, provider, session, provider).Find(&out).Error
	return out, err
}

func createInvitation(ctx context.Context, q *pg.Q, i models.PersonInvitation) error {
	return q.Gorm(ctx).Create(&i).Error
}

// getInvitation returns the invitation with one of the MACs of its token, and its person. It returns used and expired invitations
// too. If lock is set it locks the row until the transaction ends. There is no scope: the caller has only the token.
func getInvitation(ctx context.Context, q *pg.Q, macs [][]byte, lock bool) (models.PersonInvitation, models.Person, error) {
	var i models.PersonInvitation
	var p models.Person
	tx := q.Gorm(ctx).Where("mac in ?", macs)
	if lock {
		tx = tx.Clauses(clause.Locking{Strength: "UPDATE"})
	}
	if i, err := pg.OrNotFound(i, tx.Take(&i).Error); err != nil {
		return i, p, err
	}
	p, err := pg.OrNotFound(p, q.Gorm(ctx).Where("id = ?", i.PersonID).Take(&p).Error)
	return i, p, err
}

// openInvitations returns a person's invitations that are neither used nor expired, to show whether there is one.
func openInvitations(ctx context.Context, q *pg.Q, person string, now time.Time) ([]models.PersonInvitation, error) {
	var rows []models.PersonInvitation
	err := pg.Unchecked(q.Gorm(ctx)).Where("person_id = ? and used_at is null and expires_at > ?", person, now).Find(&rows).Error
	return rows, err
}

// useInvitation marks an invitation as used. It returns false if it was used before or has expired.
func useInvitation(ctx context.Context, q *pg.Q, id string, at time.Time) (bool, error) {
	used, err := pg.Change[models.PersonInvitation](ctx, q, "id = @id and used_at is null and expires_at > @at", "used_at = @at", map[string]any{"id": id, "at": at})
	return len(used) == 1, err
}

// mintInvitation stores the MAC of the link of an invitation that goes by mail and can be used. It returns ErrNotFound for any other.
func mintInvitation(ctx context.Context, q *pg.Q, id string, mac []byte, at time.Time) (models.PersonInvitation, error) {
	minted, err := pg.Change[models.PersonInvitation](ctx, q, `id = @id and mailed and used_at is null and expires_at > @at
		and exists (select from people p where p.id = person_id and p.revoked_at is null)`, "mac = @mac", map[string]any{"id": id, "mac": mac, "at": at})
	if err != nil {
		return models.PersonInvitation{}, err
	}
	if len(minted) == 0 {
		return models.PersonInvitation{}, pg.ErrNotFound
	}
	return minted[0], nil
}

// discardInvitation ends an unused invitation that goes by mail.
func discardInvitation(ctx context.Context, q *pg.Q, id string, at time.Time) error {
	_, err := pg.Change[models.PersonInvitation](ctx, q.AsStored(), "id = @id and mailed and used_at is null", "used_at = @at", map[string]any{"id": id, "at": at})
	return err
}

// mailedSince counts the invitations that go by mail to a person, made after one time, and to the people of their tenant, made after another.
func mailedSince(ctx context.Context, q *pg.Q, p models.Person, own, all time.Time) (person, tenant int, err error) {
	err = q.QueryRow(ctx, `select count(*) filter (where p.id = $2 and i.created_at > $3), count(*) from person_invitations i
		join people p on p.id = i.person_id where p.tenant_id = $1 and i.mailed and i.created_at > $4`, p.TenantID, p.ID, own, all).Scan(&person, &tenant)
	return person, tenant, err
}

// LockStaff lets one transaction at a time change who may do what in a tenant. It comes before the lock of any person.
func LockStaff(ctx context.Context, q *pg.Q, tenant string) error {
	_, err := q.Exec(ctx, "select from tenants where id = $1 for no key update", tenant)
	return err
}

// addressesOfTenant returns the addresses of the people of a tenant. Those of revoked people are forgotten.
func addressesOfTenant(ctx context.Context, q *pg.Q, tenant string) ([]models.PersonAddress, error) {
	var rows []models.PersonAddress
	err := q.Gorm(ctx).Where("tenant_id = ?", tenant).Order("person_id").Find(&rows).Error
	return rows, err
}

func addressOf(ctx context.Context, q *pg.Q, person string) (models.PersonAddress, error) {
	var row models.PersonAddress
	return pg.OrNotFound(row, q.Gorm(ctx).Where("person_id = ?", person).Take(&row).Error)
}

// putAddress stores an address of a person that they did not type themselves, in place of another.
func putAddress(ctx context.Context, q *pg.Q, a models.PersonAddress) error {
	_, err := q.Exec(ctx, `insert into person_addresses (person_id, tenant_id, address, changed_at, named_by, confirmed_at) values ($1, $2, $3, $4, $5, $6)
		on conflict (person_id) do update set address = $3, changed_at = $4, named_by = $5, confirmed_at = $6, code_mac = null, code_expires_at = null, attempts = 0`,
		a.PersonID, a.TenantID, a.Address, a.ChangedAt, a.NamedBy, a.ConfirmedAt)
	return err
}

// confirmAddress marks an address as the person's.
func confirmAddress(ctx context.Context, q *pg.Q, a models.PersonAddress, at time.Time) error {
	_, err := q.Exec(ctx, `update person_addresses set confirmed_at = $3, code_mac = null, code_expires_at = null
		where person_id = $1 and changed_at = $2 and confirmed_at is null`, a.PersonID, a.ChangedAt, at)
	return err
}

// voidInvitationsOf ends the unused invitations that a person issued for themselves, in a session.
func voidInvitationsOf(ctx context.Context, q *pg.Q, person string, at time.Time) error {
	_, err := pg.Change[models.PersonInvitation](ctx, q.AsStored(), "person_id = @person and created_by = 'person:' || person_id and used_at is null", "used_at = @at",
		map[string]any{"person": person, "at": at})
	return err
}

// voidInvitations ends the unused invitations of a person.
func voidInvitations(ctx context.Context, q *pg.Q, person string, at time.Time) error {
	_, err := pg.Change[models.PersonInvitation](ctx, q.AsStored(), "person_id = @person and used_at is null", "used_at = @at", map[string]any{"person": person, "at": at})
	return err
}

// forgetNotices deletes the address and the choices of a person, whose access was revoked.
func forgetNotices(ctx context.Context, q *pg.Q, person string) error {
	if _, err := q.Exec(ctx, "delete from notice_choices where person_id = $1", person); err != nil {
		return err
	}
	_, err := q.Exec(ctx, "delete from person_addresses where person_id = $1", person)
	return err
}

// listSavedFilters returns a person's filters of one list, by name.
func listSavedFilters(ctx context.Context, q *pg.Q, s pg.Scope, person, list string) ([]models.SavedFilter, error) {
	var rows []models.SavedFilter
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and person_id = ? and list = ?", s.Tenant, s.Environment, person, list).
		Order("name").Find(&rows).Error
	return rows, err
}

// countSavedFilters counts a person's filters of all lists and environments.
func countSavedFilters(ctx context.Context, q *pg.Q, person string) (n int, err error) {
	err = q.QueryRow(ctx, "select count(*) from saved_filters where person_id = $1", person).Scan(&n)
	return n, err
}

// createSavedFilter inserts a filter. It returns false if the person has one of this name for the list.
func createSavedFilter(ctx context.Context, q *pg.Q, f models.SavedFilter) (bool, error) {
	res := q.Gorm(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&f)
	return res.RowsAffected == 1, res.Error
}

// renameSavedFilter renames a person's filter and returns its list. It returns ErrNotFound if there is none, and taken if another filter of the list
// has the name.
func renameSavedFilter(ctx context.Context, q *pg.Q, s pg.Scope, person, id, name string) (list string, taken bool, err error) {
	if list, err = savedFiltersWhere(ctx, q, s, person, id); err != nil {
		return "", false, err
	}
	n, err := q.Exec(ctx, `update saved_filters f set name = $5 where tenant_id = $1 and environment_id = $2 and person_id = $3 and id = $4
		and not exists (select from saved_filters o where o.person_id = f.person_id and o.environment_id = f.environment_id and o.list = f.list
			and o.name = $5 and o.id <> f.id)`, s.Tenant, s.Environment, person, id, name)
	return list, n == 0, err
}

// deleteSavedFilter deletes a person's filter and returns its list, or ErrNotFound.
func deleteSavedFilter(ctx context.Context, q *pg.Q, s pg.Scope, person, id string) (list string, err error) {
	err = q.QueryRow(ctx, `delete from saved_filters where tenant_id = $1 and environment_id = $2 and person_id = $3 and id = $4 returning list`,
		s.Tenant, s.Environment, person, id).Scan(&list)
	return pg.OrNotFound(list, err)
}

func savedFiltersWhere(ctx context.Context, q *pg.Q, s pg.Scope, person, id string) (list string, err error) {
	err = q.QueryRow(ctx, `select list from saved_filters where tenant_id = $1 and environment_id = $2 and person_id = $3 and id = $4`,
		s.Tenant, s.Environment, person, id).Scan(&list)
	return pg.OrNotFound(list, err)
}

func deleteSavedFiltersOf(ctx context.Context, q *pg.Q, person string) error {
	_, err := q.Exec(ctx, "delete from saved_filters where person_id = $1", person)
	return err
}

// LockPerson returns a person of the tenant, revoked or not, and locks the row until the transaction ends.
func LockPerson(ctx context.Context, q *pg.Q, tenant, id string) (models.Person, error) {
	var p models.Person
	return pg.OrNotFound(p, q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("tenant_id = ? and id = ?", tenant, id).Take(&p).Error)
}

// listPeople lists the people of a tenant, newest first, revoked ones too.
func listPeople(ctx context.Context, q *pg.Q, tenant string, p pg.Page) ([]models.Person, string, error) {
	tx, err := pg.Paginate(pg.Unchecked(q.Gorm(ctx)).Where("tenant_id = ?", tenant), p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Person
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(r models.Person) (time.Time, string) { return r.CreatedAt, r.ID })
	return rows, next, nil
}

// peopleByID returns people of the tenant, in the order of their ids.
func peopleByID(ctx context.Context, q *pg.Q, tenant string, ids []string) ([]models.Person, error) {
	var rows []models.Person
	err := q.Gorm(ctx).Where("tenant_id = ? and id in ?", tenant, ids).Order("id").Find(&rows).Error
	return rows, err
}

// positionsOf returns the positions of the accounts of a person, of those who have access.
func positionsOf(ctx context.Context, q *pg.Q, tenant, person string) ([]models.PersonPosition, error) {
	var rows []models.PersonPosition
	err := q.Gorm(ctx).Where(`tenant_id = @tenant and person_id in (select id from people where tenant_id = @tenant and revoked_at is null
		and coalesce(principal, 'person:' || id) = (select coalesce(principal, 'person:' || id) from people where tenant_id = @tenant and id = @person))`,
		map[string]any{"tenant": tenant, "person": person}).Order("person_id").Find(&rows).Error
	return rows, err
}

// getPosition returns the position of one account.
func getPosition(ctx context.Context, q *pg.Q, tenant, person string) (models.PersonPosition, error) {
	var row models.PersonPosition
	return pg.OrNotFound(row, q.Gorm(ctx).Where("tenant_id = ? and person_id = ?", tenant, person).Take(&row).Error)
}

func createPosition(ctx context.Context, q *pg.Q, p models.PersonPosition) error {
	return q.Gorm(ctx).Create(&p).Error
}

// changePosition replaces the position of an account.
func changePosition(ctx context.Context, q *pg.Q, p models.PersonPosition) error {
	_, err := pg.Change[models.PersonPosition](ctx, q, "tenant_id = @TenantID and person_id = @PersonID",
		"manager_id = @ManagerID, department = @Department, changed_at = @ChangedAt", p)
	return err
}

// NamesOfPeople returns the names of people of the tenant, by id.
func NamesOfPeople(ctx context.Context, q *pg.Q, tenant string, ids []string) (map[string]string, error) {
	var rows []models.Person
	err := pg.Unchecked(q.Gorm(ctx)).Select("id", "name").Where("tenant_id = ? and id in ?", tenant, ids).Find(&rows).Error
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Name
	}
	return out, err
}

// PeopleNamed returns the ids of the people with a name, in any case.
func PeopleNamed(ctx context.Context, q *pg.Q, tenant, name string) ([]string, error) {
	var out []string
	err := q.Gorm(ctx).Model(&models.Person{}).Where("tenant_id = ? and lower(name) = lower(?)", tenant, name).Limit(2).Pluck("id", &out).Error
	return out, err
}

// revokePerson revokes a person's access, and forgets their e-mail address and their notices. It returns false if it was revoked before. The caller ends the sessions
// (ConsoleSessions.EndAll).
func revokePerson(ctx context.Context, q *pg.Q, tenant, id, by string, at time.Time) (bool, error) {
	revoked, err := pg.Change[models.Person](ctx, q.AsStored(), "tenant_id = @tenant and id = @id and revoked_at is null", "revoked_at = @at, revoked_by = @by",
		map[string]any{"tenant": tenant, "id": id, "by": by, "at": at})
	if err != nil || len(revoked) == 0 {
		return false, err
	}
	return true, forgetNotices(ctx, q, id)
}

// markJoined records when a person registered their first passkey.
func markJoined(ctx context.Context, q *pg.Q, person string, at time.Time) error {
	_, err := q.Exec(ctx, "update people set joined_at = $2 where id = $1 and joined_at is null", person, at)
	return err
}

// countAs is the condition of the accounts of a principal.
const countAs = "tenant_id = @tenant and coalesce(principal, 'person:' || id) = @principal"

// putSet stores who may be an account.
func putSet(ctx context.Context, q *pg.Q, p models.Person, set []string) error {
	_, err := pg.Change[models.Person](ctx, q, "id = @id", "shown_to = @set", map[string]any{"id": p.ID, "set": models.Strings(set)})
	return err
}

// unconfirm ends the confirmation of the accounts of a principal and returns those that are not confirmed any more. Accounts that no one else saw fall
// back to their identity provider, which still confirms them.
func unconfirm(ctx context.Context, q *pg.Q, p models.Person, at time.Time) ([]models.Person, error) {
	of := map[string]any{"tenant": p.TenantID, "principal": p.CountsAs(), "at": at}
	ended, err := pg.Change[models.Person](ctx, q, countAs+" and confirmed_at is not null", "confirmed_at = null, confirmed_by = null", of)
	if err != nil {
		return nil, err
	}
	kept, err := pg.Change[models.Person](ctx, q, countAs+` and revoked_at is null and not exists (select from people o where o.tenant_id = @tenant
			and coalesce(o.principal, 'person:' || o.id) = @principal and (o.identity_provider_id is null or o.shown_to <> '{}' or o.mailed_by <> '{}'))`,
		"confirmed_at = @at, confirmed_by = 'identity_provider:' || identity_provider_id", of)
	if len(kept) > 0 {
		ended = nil
	}
	return ended, err
}

// confirmPerson records that the accounts of a principal are of a person of its own. It returns false if they were confirmed before, by someone other than
// their identity provider.
func confirmPerson(ctx context.Context, q *pg.Q, p models.Person, by string, at time.Time) (bool, error) {
	confirmed, err := pg.Change[models.Person](ctx, q, countAs+" and (confirmed_at is null or confirmed_by like 'identity_provider:%')", "confirmed_at = @at, confirmed_by = @by",
		map[string]any{"tenant": p.TenantID, "principal": p.CountsAs(), "at": at, "by": by})
	return len(confirmed) > 0, err
}

// confirmedBy returns the people whom a person confirmed, in the order of their ids: those with a role in an environment, or all if it is empty.
func confirmedBy(ctx context.Context, q *pg.Q, giver models.Person, environment string) ([]models.Person, error) {
	var rows []models.Person
	err := q.Gorm(ctx).Where(`tenant_id = ? and confirmed_by = 'person:' || ?::text and (? = '' or exists
		(select from person_roles r where r.person_id = people.id and r.environment_id = ?))`, giver.TenantID, giver.ID, environment, environment).Order("id").Find(&rows).Error
	return rows, err
}

// linkablePeople returns at most limit confirmed people of the tenant of a person who count as someone else, newest first.
func linkablePeople(ctx context.Context, q *pg.Q, p models.Person, limit int) ([]models.Person, error) {
	var rows []models.Person
	err := q.Gorm(ctx).Where("tenant_id = ? and revoked_at is null and confirmed_at is not null and coalesce(principal, 'person:' || id) <> ?", p.TenantID, p.CountsAs()).
		Order("created_at desc, id desc").Limit(limit).Find(&rows).Error
	return rows, err
}

// confirmedOperators counts the people other than one who are operators of an environment and were confirmed.
func confirmedOperators(ctx context.Context, q *pg.Q, s pg.Scope, except string) (int, error) {
	var n int
	err := q.QueryRow(ctx, `select count(*) from people p join person_roles r on r.person_id = p.id and r.environment_id = $2 and r.role = 'operator'
		where p.tenant_id = $1 and p.revoked_at is null and p.confirmed_at is not null and p.id <> $3`, s.Tenant, s.Environment, except).Scan(&n)
	return n, err
}

// ableOperators returns the environments of a tenant with an operator who is confirmed and has a passkey, and can therefore act.
func ableOperators(ctx context.Context, q *pg.Q, tenant string) ([]string, error) {
	var out []string
	err := q.Gorm(ctx).Raw(`select distinct r.environment_id from people p join person_roles r on r.person_id = p.id and r.role = 'operator'
		where p.tenant_id = ? and p.revoked_at is null and p.confirmed_at is not null and p.joined_at is not null`, tenant).Find(&out).Error
	return out, err
}

// signedIn records a sign-in of a person of an identity provider, from which the lapse of their credentials is counted.
func signedIn(ctx context.Context, q *pg.Q, tenant, person string, at time.Time) error {
	if _, err := pg.Change[models.Person](ctx, q, "tenant_id = @tenant and id = @id", "signed_in_at = @at",
		map[string]any{"tenant": tenant, "id": person, "at": at}); err != nil {
		return err
	}
	return tenancy.LapseCredentials(ctx, q, tenant, tenancy.LapseOf{Person: person})
}

// withdrawRole withdraws a role. It returns false if the person does not have it.
func withdrawRole(ctx context.Context, q *pg.Q, person, environment string, role models.Role) (bool, error) {
	withdrawn, err := pg.Remove[models.PersonRole](ctx, q, "person_id = ? and environment_id = ? and role = ?", person, environment, role)
	return len(withdrawn) == 1, err
}

// RolesOf returns the roles of people, by person, environment and role.
func RolesOf(ctx context.Context, q *pg.Q, people ...string) ([]models.PersonRole, error) {
	var rows []models.PersonRole
	err := q.Gorm(ctx).Where("person_id in ?", people).Order("person_id, environment_id, role").Find(&rows).Error
	return rows, err
}

// createPasskey inserts a passkey. It returns false if its credential id is stored already, for any person.
func createPasskey(ctx context.Context, q *pg.Q, p models.PersonPasskey) (bool, error) {
	res := q.Gorm(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "credential_id"}}, DoNothing: true}).Create(&p)
	return res.RowsAffected == 1, res.Error
}

// passkeysOfPerson returns a person's passkeys, oldest first.
func passkeysOfPerson(ctx context.Context, q *pg.Q, person string) ([]models.PersonPasskey, error) {
	var rows []models.PersonPasskey
	err := q.Gorm(ctx).Where("person_id = ?", person).Order("created_at, id").Find(&rows).Error
	return rows, err
}

// lockPasskey returns the passkey with the credential id, and its person, and locks it until the transaction ends.
func lockPasskey(ctx context.Context, q *pg.Q, credentialID []byte) (models.PersonPasskey, models.Person, error) {
	var k models.PersonPasskey
	var p models.Person
	tx := q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("credential_id = ?", credentialID)
	if k, err := pg.OrNotFound(k, tx.Take(&k).Error); err != nil {
		return k, p, err
	}
	p, err := pg.OrNotFound(p, q.Gorm(ctx).Where("id = ?", k.PersonID).Take(&p).Error)
	return k, p, err
}

// recordPasskeyUse stores the fields of a passkey that an assertion changed.
func recordPasskeyUse(ctx context.Context, q *pg.Q, k models.PersonPasskey) error {
	_, err := q.Exec(ctx, "update person_passkeys set sign_count = $2, backup_state = $3, clone_warning = $4, last_used_at = $5 where id = $1",
		k.ID, k.SignCount, k.BackupState, k.CloneWarning, k.LastUsedAt)
	return err
}

// DropExpired deletes sessions, invitations and the record of accepted logout tokens that expired before t, at most limit of each. It is
// part of the caller's transaction.
func DropExpired(ctx context.Context, q *pg.Q, t time.Time, limit int) (int64, error) {
	sessions, err := q.Exec(ctx, `delete from console_sessions where mac in
		(select mac from console_sessions where expires_at < $1 limit $2)`, t, limit)
	if err != nil {
		return 0, err
	}
	invitations, err := pg.Remove[models.PersonInvitation](ctx, q, "id in (select id from person_invitations where expires_at < ? limit ?)", t, limit)
	if err != nil {
		return 0, err
	}
	logouts, err := q.Exec(ctx, `delete from provider_logouts where (identity_provider_id, token_digest) in
		(select identity_provider_id, token_digest from provider_logouts where expires_at < $1 limit $2)`, t, limit)
	return sessions + int64(len(invitations)) + logouts, err
}
