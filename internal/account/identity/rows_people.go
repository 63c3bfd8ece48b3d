package identity

import (
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// CommandLine is the principal of all commands of the operator of the service.
const CommandLine = "cli"

// Behind is who is behind an actor. Former is set for a credential that was given to an issuer of a different principal: the former
// one may still have the key. Such a credential is barred as both and approves as neither.
type Behind struct {
	Principal, Former string
	// MayBe lists the principals that an unconfirmed person may be (models.Person.MayBe).
	MayBe []string
	// Providers are the identity providers at which the person has an account. A provider knows its own accounts apart.
	Providers []string
	// ByProvider is set for a person whom only an identity provider confirms: they may have an account that came in a different way.
	ByProvider bool
}

// Is reports whether the actor is, was or may be the principal.
func (b Behind) Is(principal string) bool {
	return principal != "" && (principal == b.Principal || principal == b.Former || slices.Contains(b.MayBe, principal))
}

// SamePrincipal reports whether two actors are or were of one principal.
func (b Behind) SamePrincipal(other Behind) bool {
	for _, one := range []string{other.Principal, other.Former} {
		if one != "" && (one == b.Principal || one == b.Former) {
			return true
		}
	}
	return false
}

// MayBeSame reports whether one person may be behind two actors: as far as the stored accounts say, they are not certainly two people.
func (b Behind) MayBeSame(other Behind) bool {
	return b.SamePrincipal(other) || b.Is(other.Principal) || b.Is(other.Former) || other.Is(b.Principal) || other.Is(b.Former) ||
		slices.ContainsFunc(b.MayBe, other.Is) || b.mayHaveJoinedAs(other) || other.mayHaveJoinedAs(b)
}

// mayHaveJoinedAs reports whether the person of a provider may be a person who came in a different way, by invitation or by another provider.
func (b Behind) mayHaveJoinedAs(other Behind) bool {
	return b.ByProvider && strings.HasPrefix(other.Principal, actorPerson) &&
		!slices.ContainsFunc(b.Providers, func(p string) bool { return slices.Contains(other.Providers, p) })
}

// principalOf returns the principal of an actor without a row: the commands of the command line are one.
func principalOf(actor string) string {
	if strings.HasPrefix(actor, "cli:") {
		return CommandLine
	}
	return actor
}

// add adds what an account of the principal says about who the person may be.
func (b *Behind) add(p models.Person) {
	if p.IdentityProviderID != nil {
		b.Providers = append(b.Providers, *p.IdentityProviderID)
	}
	if p.ConfirmedAt == nil {
		b.MayBe = append(b.MayBe, SetOf(p)...)
	}
	b.ByProvider = b.ByProvider || p.ConfirmedByProvider()
}

// SetOf returns the stored principals that may be an account, confirmed or not.
func SetOf(p models.Person) []string {
	var out []string
	for _, actor := range slices.Concat(p.MayBe, p.MailedBy) {
		if one := principalOf(actor); !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// personBehind returns who is behind an account, revoked or not. An unknown account is its own principal.
func personBehind(ctx context.Context, q *pg.Q, tenant, id string) (Behind, error) {
	var rows []models.Person
	err := q.Gorm(ctx).Where(`tenant_id = @tenant and (id = @id or coalesce(principal, 'person:' || id) =
		(select coalesce(principal, 'person:' || id) from people where tenant_id = @tenant and id = @id))`, map[string]any{"tenant": tenant, "id": id}).Find(&rows).Error
	out := Behind{Principal: actorPerson + id}
	for _, p := range rows {
		if p.ID == id {
			out.Principal = p.CountsAs()
		}
		out.add(p)
	}
	return out, err
}

// addAccounts completes those who are people, from their accounts.
func addAccounts(ctx context.Context, q *pg.Q, tenant string, all map[string]Behind) error {
	var people []string
	for _, b := range all {
		if strings.HasPrefix(b.Principal, actorPerson) && !slices.Contains(people, b.Principal) {
			people = append(people, b.Principal)
		}
	}
	accounts, err := AccountsOf(ctx, q, tenant, people)
	for key, b := range all {
		for _, p := range accounts {
			if p.CountsAs() == b.Principal {
				b.add(p)
			}
		}
		all[key] = b
	}
	return err
}

// AccountsOf returns the accounts of principals, revoked ones too.
func AccountsOf(ctx context.Context, q *pg.Q, tenant string, principals []string) ([]models.Person, error) {
	if len(principals) == 0 {
		return nil, nil
	}
	var rows []models.Person
	err := q.Gorm(ctx).Where("tenant_id = ? and coalesce(principal, 'person:' || id) in ?", tenant, principals).Order("created_at, id").Find(&rows).Error
	return rows, err
}

// renameInSets makes the sets of all accounts list a linked principal under the name that it counts as.
func renameInSets(ctx context.Context, q *pg.Q, tenant, from, to string) error {
	_, err := pg.Change[models.Person](ctx, q, "tenant_id = @tenant and (@from = any(shown_to) or @from = any(mailed_by))",
		"shown_to = array_replace(shown_to, @from, @to), mailed_by = array_replace(mailed_by, @from, @to)", map[string]any{"tenant": tenant, "from": from, "to": to})
	return err
}

// ConfirmedPerson is the condition that a principal of a tenant is no person, or one who was confirmed by a time.
var ConfirmedPerson = `(@principal not like 'person:%' or exists (select from people p where p.tenant_id = @tenant
	and p.id = substr(@principal, 8) and p.confirmed_at <= @since and ` + people.NotEnded("p") + `))`

// SamePerson is the condition that two principals of a tenant are or may be one (Behind.MayBeSame).
const SamePerson = `(@a = @b or exists (select from people x where x.tenant_id = @tenant and coalesce(x.principal, 'person:' || x.id) in (@a, @b)
		and x.confirmed_at is null and case coalesce(x.principal, 'person:' || x.id) when @a then @b else @a end = any(x.shown_to || x.mailed_by))
	or @a like 'person:%' and @b like 'person:%' and exists (select from people x where x.tenant_id = @tenant and coalesce(x.principal, 'person:' || x.id) in (@a, @b)
			and x.confirmed_at is not null and x.confirmed_by like 'identity_provider:%')
		and not exists (select from people x join people y on y.identity_provider_id = x.identity_provider_id and y.tenant_id = x.tenant_id
			where x.tenant_id = @tenant and coalesce(x.principal, 'person:' || x.id) = @a and coalesce(y.principal, 'person:' || y.id) = @b))`
