package lists

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Create adds a list without entries, which decides nothing and needs no second approver. A name in use is a conflict.
func (s *Service) Create(ctx context.Context, scope pg.Scope, by By, d Draft) (models.List, error) {
	d.Description = strings.TrimSpace(d.Description)
	if err := d.check(); err != nil {
		return models.List{}, err
	}
	row := models.List{
		ID: ids.New(ids.List), TenantID: scope.Tenant, EnvironmentID: scope.Environment, Name: d.Name, Kind: d.Kind, Personal: d.Personal,
		Description: d.Description, Version: 1, EntriesSum: make([]byte, sha256.Size), CreatedAt: s.clock.Now(), CreatedBy: by.Actor,
	}
	if d.Personal {
		var err error
		if row.Secret, err = s.vault.newSecret(row.ID); err != nil {
			return row, err
		}
	}
	err := s.store.Write(ctx, func(q *pg.Q) error {
		if _, err := tenancy.LockEnvironment(ctx, q, scope); err != nil {
			return err
		}
		n, err := countLists(ctx, q, scope)
		if err != nil {
			return err
		}
		if n >= MaxLists {
			return problem.Newf(problem.Conflict, "The environment has %d lists, and at most %d are possible. Delete one that no policy reads.", n, MaxLists)
		}
		err = insertList(ctx, q, row)
		if pg.Violates(err, "lists_environment_id_name_key") {
			return problem.Newf(problem.Conflict, "The environment has a list with the name %q. Choose a different name, or change that list.", d.Name)
		}
		if err != nil {
			return err
		}
		op := Operation{Q: q, Scope: scope, By: by, At: row.CreatedAt}
		return op.append(ctx, events.ListCreatedData{List: row.ID, Name: row.Name, Kind: string(row.Kind), Personal: row.Personal})
	})
	return row, err
}

// Change changes the entries of a list. A change that leaves the list as it is records nothing. It is refused with
// tenancy.ErrSecondApprover as the cause if the environment requires a second approver.
func (s *Service) Change(ctx context.Context, scope pg.Scope, by By, id string, e Edit) (models.List, error) {
	prepared, err := s.Prepare(ctx, s.store.Q, scope, id, e)
	if err != nil {
		return models.List{}, err
	}
	err = s.store.Write(ctx, func(q *pg.Q) error {
		changed, err := s.Operation(q, scope, by, s.clock.Now()).Change(ctx, id, prepared)
		if err != nil || !changed {
			return err
		}
		return tenancy.RefuseAlone(ctx, q, scope)
	})
	if err != nil {
		return models.List{}, err
	}
	return s.Get(ctx, scope, id)
}

// Delete deletes a list with its entries. It is refused while a policy in force reads the list, and like Change if a second approver is
// required.
func (s *Service) Delete(ctx context.Context, scope pg.Scope, by By, id string) error {
	return s.store.Write(ctx, func(q *pg.Q) error {
		if err := s.Operation(q, scope, by, s.clock.Now()).Delete(ctx, id); err != nil {
			return err
		}
		return tenancy.RefuseAlone(ctx, q, scope)
	})
}

// Prepared is an Edit in the form in which it is stored. It has no value of a personal list.
type Prepared struct {
	Add    []PreparedEntry `json:"add,omitempty"`
	Remove []string        `json:"remove,omitempty"` // keys
}

// PreparedEntry is a new entry with its key.
type PreparedEntry struct {
	Key       string     `json:"key"`
	Value     *string    `json:"value,omitempty"`
	Reason    string     `json:"reason"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// Prepare checks an edit and brings it into the form in which it is stored.
func (s *Service) Prepare(ctx context.Context, q *pg.Q, scope pg.Scope, id string, e Edit) (Prepared, error) {
	var out Prepared
	if len(e.Add) > MaxEdit || len(e.Remove) > MaxEdit {
		return out, problem.Newf(problem.Unprocessable, "One change adds at most %d entries and removes at most %d. Make several changes.", MaxEdit, MaxEdit)
	}
	l, err := Get(ctx, q, scope, id)
	if err != nil {
		return out, notFound(err)
	}
	now := s.clock.Now()
	for i, n := range e.Add {
		if field, why := n.Fault(l.Kind, now); why != "" {
			return out, problem.Invalid([]any{"body", "add", i, field}, why, "value_error")
		}
		keys, err := s.vault.wholeKeys(l, n.Value)
		if err != nil {
			return out, err
		}
		out.Remove = append(out.Remove, keys[1:]...) // replaced as well
		entry := PreparedEntry{Key: keys[0], Reason: strings.TrimSpace(n.Reason), ExpiresAt: n.ExpiresAt}
		if !l.Personal {
			entry.Value = &n.Value
		}
		if slices.ContainsFunc(out.Add, func(p PreparedEntry) bool { return p.Key == entry.Key }) {
			return out, problem.Invalid([]any{"body", "add", i, "value"}, "value is added twice; case and white space make no difference", "value_error")
		}
		out.Add = append(out.Add, entry)
	}
	removed, err := s.removed(ctx, q, l, e.Remove)
	out.Remove = append(out.Remove, removed...)
	slices.Sort(out.Remove)
	out.Remove = slices.Compact(out.Remove)
	return out, err
}

// removed returns the keys of the entries to remove. An id that the list does not have is left out.
func (s *Service) removed(ctx context.Context, q *pg.Q, l models.List, list []Removed) ([]string, error) {
	var entries, out []string
	for i, r := range list {
		if (r.ID == "") == (r.Value == "") {
			return nil, problem.Invalid([]any{"body", "remove", i}, "give the id or the value of the entry to remove, and not both", "value_error")
		}
		if r.ID != "" {
			entries = append(entries, r.ID)
			continue
		}
		keys, err := s.vault.wholeKeys(l, r.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, keys...)
	}
	if len(entries) > 0 {
		more, err := keysOf(ctx, q, l, entries)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// Operation makes one change in the caller's transaction. It does not check whether a second approver is required: package change uses
// it for changes that one has approved.
type Operation struct {
	Q     *pg.Q
	Scope pg.Scope
	By    By
	At    time.Time
	vault Vault
}

// Operation returns an operation.
func (s *Service) Operation(q *pg.Q, scope pg.Scope, by By, at time.Time) Operation {
	return Operation{Q: q, Scope: scope, By: by, At: at, vault: s.vault}
}

// Change changes entries and reports whether anything changed. Expired entries are deleted with it.
func (op Operation) Change(ctx context.Context, id string, e Prepared) (bool, error) {
	l, err := Lock(ctx, op.Q, op.Scope, id)
	if err != nil {
		return false, notFound(err)
	}
	removed, err := removeEntries(ctx, op.Q, l, e.Remove, op.At)
	if err != nil {
		return false, err
	}
	added, replaced, err := op.add(ctx, l, e.Add)
	if err != nil || len(removed)+len(added) == 0 {
		return false, err
	}
	secret, err := op.vault.renewed(l)
	if err != nil {
		return false, err
	}
	l.Version++
	if l, err = keepEdit(ctx, op.Q, l, edited{added, append(replaced, removed...)}, secret); err != nil {
		return false, err
	}
	if l.Entries > MaxEntries {
		return false, problem.Newf(problem.Conflict, "The list %q would have %d entries, and at most %d are possible. Remove entries first, or begin a second list.",
			l.Name, l.Entries, MaxEntries)
	}
	return true, op.changed(ctx, l, added, removed)
}

// changed records which entries of a list a change added and removed.
func (op Operation) changed(ctx context.Context, l models.List, added, removed []models.ListEntry) error {
	return op.append(ctx, events.ListChangedData{List: l.ID, Name: l.Name, Version: l.Version, Added: idsOf(added), Removed: idsOf(removed)})
}

func idsOf(entries []models.ListEntry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.ID)
	}
	return out
}

// add writes entries. It returns those that are new or have another reason or expiry, and of the latter what they were.
func (op Operation) add(ctx context.Context, l models.List, entries []PreparedEntry) (added, replaced []models.ListEntry, err error) {
	if len(entries) == 0 {
		return nil, nil, nil
	}
	keys := make([]string, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	before, err := EntriesByKey(ctx, op.Q, op.Scope, l.ID, keys)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		row := models.ListEntry{
			ID: ids.New(ids.ListEntry), TenantID: l.TenantID, EnvironmentID: l.EnvironmentID, ListID: l.ID, Key: e.Key, Value: e.Value,
			Reason: e.Reason, ExpiresAt: e.ExpiresAt, AddedAt: op.At, AddedBy: op.By.Actor, Salt: newSalt(),
		}
		if i := slices.IndexFunc(before, func(b models.ListEntry) bool { return b.Key == e.Key }); i >= 0 {
			row.ID = before[i].ID
			if before[i].Reason == e.Reason && sameTime(before[i].ExpiresAt, e.ExpiresAt) {
				continue
			}
			replaced = append(replaced, before[i])
		}
		added = append(added, row)
	}
	if len(added) == 0 {
		return nil, nil, nil
	}
	return added, replaced, putEntries(ctx, op.Q, added)
}

func newSalt() []byte {
	out := make([]byte, 16)
	_, _ = rand.Read(out)
	return out
}

// sameTime compares times as they are stored, in microseconds.
func sameTime(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.UnixMicro() == b.UnixMicro()
}

// Delete is Service.Delete.
func (op Operation) Delete(ctx context.Context, id string) error {
	l, err := Lock(ctx, op.Q, op.Scope, id)
	if err != nil {
		return notFound(err)
	}
	// The policy versions are locked against this by the share lock that an activation takes on the row of the list.
	actions, err := UsesOf(ctx, op.Q, op.Scope, l.Name)
	if err != nil {
		return err
	}
	if len(actions) > 0 {
		return problem.Newf(problem.Conflict, "The list %q is read by the policy in force of %s. Activate a policy version that does not read it before you delete it.",
			l.Name, strings.Join(actions, ", "))
	}
	if err := deleteList(ctx, op.Q, l); err != nil {
		return err
	}
	return op.append(ctx, events.ListDeletedData{List: l.ID, Name: l.Name, Version: l.Version, Entries: l.Entries})
}

// append adds an event to the log in the transaction of the change.
func (op Operation) append(ctx context.Context, data events.Data) error {
	return events.Append(ctx, op.Q, events.Entry{
		Scope: op.Scope, At: op.At, Actor: op.By.Actor, RequestID: op.By.RequestID, WorkflowID: op.By.WorkflowID, Data: data,
	})
}

// Require returns the lists with the names, and locks them until the transaction ends, so that none is deleted meanwhile. missing are the
// names that the environment does not have.
func Require(ctx context.Context, q *pg.Q, scope pg.Scope, names []string) (missing []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	rows, err := shareByName(ctx, q, scope, names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(rows, func(l models.List) bool { return l.Name == name }) {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

// ByName returns the lists with the names, by name.
func ByName(ctx context.Context, q *pg.Q, scope pg.Scope, names []string) (map[string]models.List, error) {
	if len(names) == 0 {
		return nil, nil
	}
	rows, err := byName(ctx, q, scope, names)
	out := make(map[string]models.List, len(rows))
	for _, l := range rows {
		out[l.Name] = l
	}
	return out, err
}

// Keys returns the keys under which the entry with the id of a subject may be stored, in each of the lists by its id. Two letters are a country, and an id in a
// list of texts only.
func (v Vault) Keys(all []models.List, subject string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, l := range all {
		if l.Kind != models.ListText && fault(models.ListCountry, subject) == "" {
			continue
		}
		keys, err := v.wholeKeys(l, subject)
		if err != nil {
			return nil, err
		}
		if len(keys) > 0 {
			out[l.ID] = keys
		}
	}
	return out, nil
}

// Forgotten stands for the reason of an entry that named an erased subject.
const Forgotten = "The reason named a user whose data was erased."

// mention is the pattern, for Postgres and for Go, of texts that name a subject by its id.
func mention(subject string) string {
	return "(^|[^[:alnum:]])" + regexp.QuoteMeta(subject) + "($|[^[:alnum:]])"
}

// Mentions reports whether a text names a subject by its id: as a part of a word, a short id would be in every text.
func Mentions(text, subject string) bool {
	return strings.Contains(text, subject) && regexp.MustCompile(mention(subject)).MatchString(text)
}

// Forget removes the entries with the id of an erased subject from every list of the environment and returns how many there were, and
// their keys by list, and the reasons of other entries that name it. It adds no event with the id.
func Forget(ctx context.Context, q *pg.Q, v Vault, scope pg.Scope, subject string, at time.Time) (int64, map[string][]string, error) {
	all, err := lockAll(ctx, q, scope)
	if err != nil {
		return 0, nil, err
	}
	keys, err := v.Keys(all, subject)
	if err != nil {
		return 0, nil, err
	}
	if err := forgetReasons(ctx, q, scope, subject); err != nil {
		return 0, nil, err
	}
	var n int64
	for _, l := range all {
		named, has := keys[l.ID]
		if !has {
			continue
		}
		removed, err := removeEntries(ctx, q, l, named, at)
		if err != nil {
			return n, keys, err
		}
		if len(removed) == 0 {
			continue
		}
		l.Version++
		if _, err := keepEdit(ctx, q, l, edited{removed: removed}, nil); err != nil {
			return n, keys, err
		}
		n += int64(len(removed))
	}
	return n, keys, nil
}

// DropExpired removes a batch of the entries that expired before a time, in every environment, and reports whether there may be more. It makes no
// new version of a list: none of them was in force.
func DropExpired(ctx context.Context, st *pg.Store, before time.Time, by By, at time.Time) (n int, more bool, err error) {
	found, err := withExpired(ctx, st.Q, before, MaxLists)
	if err != nil {
		return 0, false, err
	}
	more = len(found) == MaxLists
	for _, l := range pg.Unaltered(ctx, st.Q, found) {
		op := Operation{Scope: pg.Scope{Tenant: l.TenantID, Environment: l.EnvironmentID}, By: by, At: at}
		var removed []models.ListEntry
		err := st.Write(ctx, func(q *pg.Q) error {
			op.Q = q
			l, err := Lock(ctx, q, op.Scope, l.ID)
			if err != nil {
				return err
			}
			if removed, err = removeEntries(ctx, q, l, nil, before); err != nil || len(removed) == 0 {
				return err
			}
			if l, err = keepEdit(ctx, q, l, edited{removed: removed}, nil); err != nil {
				return err
			}
			return op.changed(ctx, l, nil, removed)
		})
		if err != nil && !errors.Is(err, pg.ErrNotFound) {
			return n, true, err
		}
		n += len(removed)
		more = more || len(removed) == 2*MaxEdit
	}
	return n, more, nil
}

// Reseal seals the secrets of all personal lists by the active master key, so that a previous one can be retired.
func Reseal(ctx context.Context, q *pg.Q, v Vault) error {
	all, err := lockPersonal(ctx, q)
	if err != nil {
		return err
	}
	for _, l := range all {
		secret, err := v.renewed(l)
		if err != nil {
			return err
		}
		if secret == nil {
			continue
		}
		if err := setSecret(ctx, q, l, secret); err != nil {
			return err
		}
	}
	return nil
}
