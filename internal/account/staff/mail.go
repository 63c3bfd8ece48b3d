package staff

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/webname"
	"github.com/countersign-dev/countersign/models"
)

// An invitation that goes by mail has no link until a worker sends it: neither its author nor a log, a history or a row ever has the link.
// The author chose the address, so that it can be their own: until someone else confirms the account, it counts for nothing that asks for
// two people, as with a link that was shown.

const (
	addressPurpose = "person-address" // of the keyring
	// maxAddress is the maximum length of an address in bytes (RFC 5321, section 4.5.3.1.3, without the angle brackets).
	maxAddress = 254
	// maxLocalPart is that of the part before the @ (section 4.5.3.1.1).
	maxLocalPart = 64
	// mailEvery limits the invitations that are mailed to one person.
	mailEvery = time.Minute
	// mailsAnHour limits those of a tenant: their authors choose whom the service writes to.
	mailsAnHour = 200
)

// localPart is the form of what precedes the @ of an address: a dot-atom (RFC 5322, section 3.2.3). The quoted form is refused: no mailbox needs it, and
// what compares addresses would have to know it.
var localPart = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+([.][A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$")

// CheckAddress refuses a text that is not one address that mail can be sent to.
func CheckAddress(text string) error {
	at := strings.LastIndex(text, "@")
	host, err := webname.Host(text[at+1:])
	switch {
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return badValue("address", "The address must consist of ASCII characters without spaces; write an internationalised domain in its xn-- form.")
	case at < 1 || len(text) > maxAddress || at > maxLocalPart || !localPart.MatchString(text[:at]):
		return badValue("address", "The address must be one e-mail address of at most 254 characters and no name, such as ann@example.com.")
	case err != nil || !isMailDomain(host):
		return badValue("address", "The address must name a fully qualified host after the @, such as example.com.")
	default:
		return nil
	}
}

// isMailDomain reports whether mail can be sent to a host from elsewhere: it is fully qualified, no public suffix such as co.uk, and none of the names that
// are never registered (RFC 6761, RFC 7686). Mail goes to the host that the address names: no address literal and no bare name reaches a machine
// behind the mail server.
func isMailDomain(host string) bool {
	last := host[strings.LastIndex(host, ".")+1:]
	suffix, registry := publicsuffix.PublicSuffix(host)
	return last != host && (suffix != host || !registry) && !slices.Contains([]string{"localhost", "invalid", "onion", "arpa"}, last)
}

// SealAddress seals the address of a person. The person's id is the additional data, so that it cannot be moved to another row. It is sealed even though
// staff are known to the tenant: a copy of the database should not be a list of addresses.
func SealAddress(keys *keyring.Keyring, person, address string) ([]byte, error) {
	return keys.Seal(addressPurpose, []byte(address), []byte(person))
}

// OpenAddress unseals the address of a person.
func OpenAddress(keys *keyring.Keyring, row models.PersonAddress) (string, error) {
	raw, err := keys.Open(addressPurpose, row.Address, []byte(row.PersonID))
	return string(raw), err
}

// mailbox returns what two addresses of one mailbox have in common: case does not matter, nor what follows a plus sign (RFC 5233).
func mailbox(address string) string {
	local, domain, _ := strings.Cut(strings.ToLower(address), "@")
	local, _, _ = strings.Cut(local, "+")
	return local + "@" + domain
}

// inviteTo is invite, for an invitation whose link is mailed if there is an address. It is not in the result then.
func (s *Service) inviteTo(ctx context.Context, op operation, scope pg.Scope, p models.Person, address string) (Invited, error) {
	if address == "" {
		return s.invite(ctx, op, p, InvitationLife)
	}
	if err := s.nameAddress(ctx, op, p, address); err != nil {
		return Invited{}, err
	}
	if err := op.mayMail(ctx, p); err != nil {
		return Invited{}, err
	}
	i := op.invitation(p, InvitationLife)
	i.Mailed = true
	if err := op.record(ctx, p, i); err != nil {
		return Invited{}, err
	}
	row := outbox.Item{Topic: outbox.TopicInvitation, Environment: scope.Environment, Ref: i.ID, At: op.at}
	return Invited{Person: p, Address: address, ExpiresAt: i.ExpiresAt}, outbox.Add(ctx, op.q, row)
}

// mayMail refuses an invitation by mail if the person has just been mailed one, or the tenant has had too many.
func (op operation) mayMail(ctx context.Context, p models.Person) error {
	person, tenant, err := mailedSince(ctx, op.q, p, op.at.Add(-mailEvery), op.at.Add(-time.Hour))
	switch {
	case err != nil:
		return err
	case person > 0:
		return problem.New(problem.Conflict, "An invitation was mailed to this person less than a minute ago. Wait a minute, then invite them again.")
	case tenant >= mailsAnHour:
		return problem.Newf(problem.Conflict, "The tenant has mailed %d invitations within an hour, which is the maximum. Invite without an address, or wait.", mailsAnHour)
	default:
		return nil
	}
}

// nameAddress stores the address of a person as one that the actor chose, unless the person has it already. It refuses that of another person.
func (s *Service) nameAddress(ctx context.Context, op operation, p models.Person, address string) error {
	if err := CheckAddress(address); err != nil {
		return err
	}
	// Of two invitations at once that name one address, the second sees the first.
	if err := LockStaff(ctx, op.q, p.TenantID); err != nil {
		return err
	}
	all, err := s.addresses(ctx, op.q, p.TenantID)
	if err != nil {
		return err
	}
	for _, a := range all {
		switch {
		case a.PersonID == p.ID && a.text == address:
			return nil
		case a.PersonID != p.ID && mailbox(a.text) == mailbox(address):
			return badValue("address", "The address is that of another person of the tenant. Each mailbox belongs to one person: choose a different address.")
		}
	}
	sealed, err := SealAddress(s.keys, p.ID, address)
	if err != nil {
		return err
	}
	return putAddress(ctx, op.q, models.PersonAddress{PersonID: p.ID, TenantID: p.TenantID, Address: sealed, ChangedAt: op.at, NamedBy: &op.actor})
}

// addressText returns the address of a person; empty for none.
func (s *Service) addressText(ctx context.Context, q *pg.Q, p models.Person) (string, error) {
	row, err := addressOf(ctx, q, p.ID)
	if errors.Is(err, pg.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return OpenAddress(s.keys, row)
}

type openedAddress struct {
	models.PersonAddress
	text string
}

func (s *Service) addresses(ctx context.Context, q *pg.Q, tenant string) ([]openedAddress, error) {
	rows, err := addressesOfTenant(ctx, q, tenant)
	if err != nil {
		return nil, err
	}
	out := make([]openedAddress, len(rows))
	for i, row := range rows {
		if out[i].text, err = OpenAddress(s.keys, row); err != nil {
			return nil, err
		}
		out[i].PersonAddress = row
	}
	return out, nil
}

// Mailed is an invitation to be mailed. Only who mails it has its URL.
type Mailed struct {
	Address   string
	URL       string
	ExpiresAt time.Time
}

// MintMailed makes the link of an invitation that goes by mail. It returns false if the invitation is not usable any more, or if the
// person has a different address by now. A repeated attempt makes a new link, because the earlier one is stored nowhere.
func (s *Service) MintMailed(ctx context.Context, id string) (Mailed, bool, error) {
	token := newSecret()
	var out Mailed
	var minted bool
	err := s.store.Write(ctx, func(q *pg.Q) error {
		i, err := mintInvitation(ctx, q, id, s.keys.MAC(invitationPurpose, []byte(token)), s.clock.Now())
		if errors.Is(err, pg.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, _, err := s.usableInvitation(ctx, q, token, false); problem.As(err) != nil {
			return nil //nolint:nilerr // it is not mailed, which is no failure
		} else if err != nil {
			return err
		}
		row, err := addressOf(ctx, q, i.PersonID)
		if errors.Is(err, pg.ErrNotFound) || err == nil && row.ChangedAt.After(i.CreatedAt) {
			return nil
		}
		if err != nil {
			return err
		}
		minted, out.URL, out.ExpiresAt = true, s.invitationURL(token), i.ExpiresAt
		out.Address, err = OpenAddress(s.keys, row)
		return err
	})
	return out, minted, err
}

// DiscardMailed voids an invitation whose mail could not be sent, so that the person does not seem to be invited.
func (s *Service) DiscardMailed(ctx context.Context, id string) error {
	return s.store.Write(ctx, func(q *pg.Q) error { return discardInvitation(ctx, q, id, s.clock.Now()) })
}

// arrived records that a mailed invitation was accepted: the address is the person's, and the actor who named it may be the account.
func (op operation) arrived(ctx context.Context, p models.Person, i models.PersonInvitation) error {
	row, err := addressOf(ctx, op.q, p.ID)
	switch {
	case errors.Is(err, pg.ErrNotFound) || err == nil && row.ChangedAt.After(i.CreatedAt):
		return op.shown(ctx, p, i.CreatedBy)
	case err != nil:
		return err
	}
	if err := confirmAddress(ctx, op.q, row, op.at); err != nil || row.NamedBy == nil {
		return err
	}
	return op.shown(ctx, p, *row.NamedBy)
}

// sameAddress returns, by person, the others with the same confirmed address who count as someone else.
func (s *Service) sameAddress(ctx context.Context, q *pg.Q, tenant string) (map[string][]models.Person, error) {
	all, err := s.addresses(ctx, q, tenant)
	if err != nil {
		return nil, err
	}
	having := map[string][]string{}
	for _, a := range all {
		if a.ConfirmedAt != nil {
			having[mailbox(a.text)] = append(having[mailbox(a.text)], a.PersonID)
		}
	}
	out := map[string][]models.Person{}
	for _, ids := range having {
		if len(ids) < 2 {
			continue
		}
		people, err := peopleByID(ctx, q, tenant, ids)
		if err != nil {
			return nil, err
		}
		for _, p := range people {
			out[p.ID] = slices.DeleteFunc(slices.Clone(people), func(o models.Person) bool { return o.CountsAs() == p.CountsAs() })
		}
	}
	return out, nil
}
