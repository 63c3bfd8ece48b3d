package change

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

type (
	// listProposed is a change of entries. It has digests, and no values, of a personal list.
	listProposed struct {
		Name string `json:"name"`
		lists.Prepared
	}
	// listBase has what the approver relies on: of a change of entries those that it touches, of a deletion the version of the list.
	listBase struct {
		Name    string       `json:"name"`
		Version int          `json:"version,omitempty"`
		Entries []listsEntry `json:"entries,omitempty"`
	}
	// listsEntry is an entry as an approver sees it.
	listsEntry struct {
		Key       string     `json:"key"`
		Reason    string     `json:"reason"`
		ExpiresAt *time.Time `json:"expires_at,omitempty"`
	}
)

// ChangeList changes the entries of a list, or requests that.
func (s *Service) ChangeList(ctx context.Context, scope pg.Scope, by By, id string, e lists.Edit) (Made[models.List], error) {
	l, err := s.lists.Change(ctx, scope, lists.By{Actor: by.Actor, RequestID: by.RequestID}, id, e)
	return made(l, err, func() (*View, error) {
		return s.proposeBy(ctx, scope, by, func(q *pg.Q) (proposal, error) {
			l, err := found(lists.Get(ctx, q, scope, id))
			if err != nil {
				return proposal{}, err
			}
			prepared, err := s.lists.Prepare(ctx, q, scope, id, e)
			if err != nil {
				return proposal{}, err
			}
			proposed := listProposed{l.Name, prepared}
			base, err := proposed.base(ctx, q, scope, id)
			if err != nil {
				return proposal{}, err
			}
			differences, err := proposed.differences(base)
			return proposal{kind: models.ChangeListEntries, target: id, proposed: proposed, base: base, differences: differences}, err
		})
	})
}

// DeleteList deletes a list, or requests that.
func (s *Service) DeleteList(ctx context.Context, scope pg.Scope, by By, id string) (Made[struct{}], error) {
	err := s.lists.Delete(ctx, scope, lists.By{Actor: by.Actor, RequestID: by.RequestID}, id)
	return made(struct{}{}, err, func() (*View, error) {
		return s.proposeBy(ctx, scope, by, func(q *pg.Q) (proposal, error) {
			l, err := found(lists.Get(ctx, q, scope, id))
			if err != nil {
				return proposal{}, err
			}
			base := listBase{Name: l.Name, Version: l.Version}
			differences, err := fieldDifferences(map[string]any{"name": l.Name, "kind": l.Kind, "entries": l.Entries}, struct{}{})
			return proposal{kind: models.ChangeListDelete, target: id, proposed: struct{}{}, base: base, differences: differences}, err
		})
	})
}

// base returns the entries that the change touches as they are now.
func (p listProposed) base(ctx context.Context, q *pg.Q, scope pg.Scope, id string) (listBase, error) {
	keys := slices.Clone(p.Remove)
	for _, e := range p.Add {
		keys = append(keys, e.Key)
	}
	rows, err := lists.EntriesByKey(ctx, q, scope, id, keys)
	out := listBase{Name: p.Name}
	for _, e := range rows {
		out.Entries = append(out.Entries, listsEntry{e.Key, e.Reason, e.ExpiresAt})
	}
	return out, err
}

// differences returns one difference for each entry that is added, changed or removed, named by its key.
func (p listProposed) differences(base listBase) ([]Difference, error) {
	before, after := map[string]listsEntry{}, map[string]listsEntry{}
	for _, e := range base.Entries {
		before[e.Key] = e
		if !slices.Contains(p.Remove, e.Key) {
			after[e.Key] = e
		}
	}
	for _, e := range p.Add {
		after[e.Key] = listsEntry{e.Key, e.Reason, e.ExpiresAt}
	}
	return fieldDifferences(before, after)
}

// listOf returns the name of the list that a change request is about.
func listOf(c models.Change) (string, error) {
	var base listBase
	err := json.Unmarshal(c.Base, &base)
	return base.Name, err
}

// isList reports whether a change request is about a list.
func isList(k models.ChangeKind) bool {
	return k == models.ChangeListEntries || k == models.ChangeListDelete
}

// listBase is inForce of a change of a list. It cannot be made if the list was deleted, or if it is read and is to be deleted.
func (t targets) listBase(ctx context.Context, c models.Change) (any, bool, error) {
	scope := scopeOf(c)
	l, err := t.list(ctx, t.Q, scope, c.Target)
	if errors.Is(err, pg.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	// No policy that reads the list can be activated until this transaction ends, because the row is locked.
	if c.Kind == models.ChangeListDelete {
		uses, err := lists.UsesOf(ctx, t.Q, scope, l.Name)
		return listBase{Name: l.Name, Version: l.Version}, len(uses) == 0, err
	}
	var in listProposed
	if err := json.Unmarshal(c.Proposed, &in); err != nil {
		return nil, false, err
	}
	base, err := in.base(ctx, t.Q, scope, c.Target)
	return base, err == nil, err
}

// Forget removes entries from the change requests about lists of an environment; keys has that of each list. What is left of a pending
// request can be approved.
func Forget(ctx context.Context, q *pg.Q, scope pg.Scope, keys map[string][]string) error {
	for list, ofList := range keys {
		for _, key := range ofList {
			if err := forgetKey(ctx, q, scope, list, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetKey removes an entry from the change requests about a list.
func forgetKey(ctx context.Context, q *pg.Q, scope pg.Scope, list, key string) error {
	rows, err := lockNaming(ctx, q, scope, list, key)
	if err != nil {
		return err
	}
	return rewriteLists(ctx, q, rows, func(proposed *listProposed, base *listBase) {
		proposed.Add = slices.DeleteFunc(proposed.Add, func(e lists.PreparedEntry) bool { return e.Key == key })
		proposed.Remove = slices.DeleteFunc(proposed.Remove, func(k string) bool { return k == key })
		base.Entries = slices.DeleteFunc(base.Entries, func(e listsEntry) bool { return e.Key == key })
	})
}

// ForgetReasons replaces the reasons of entries that name an erased subject in the change requests about lists of an environment.
func ForgetReasons(ctx context.Context, q *pg.Q, scope pg.Scope, subject string) error {
	rows, err := lockMentioning(ctx, q, scope, subject)
	if err != nil {
		return err
	}
	return rewriteLists(ctx, q, rows, func(proposed *listProposed, _ *listBase) {
		for i, e := range proposed.Add {
			if lists.Mentions(e.Reason, subject) {
				proposed.Add[i].Reason = lists.Forgotten
			}
		}
	})
}

// rewriteLists edits what locked change requests about lists propose, and what it is compared with.
func rewriteLists(ctx context.Context, q *pg.Q, rows []models.Change, edit func(*listProposed, *listBase)) error {
	for _, c := range rows {
		var proposed listProposed
		var base listBase
		if err := errors.Join(json.Unmarshal(c.Proposed, &proposed), json.Unmarshal(c.Base, &base)); err != nil {
			return err
		}
		edit(&proposed, &base)
		differences, err := proposed.differences(base)
		if err != nil {
			return err
		}
		if c, err = document(c, proposal{proposed: proposed, base: base, differences: differences}); err != nil {
			return err
		}
		if err := rewrite(ctx, q, c); err != nil {
			return err
		}
	}
	return nil
}

// applyList makes a change of a list in the caller's transaction.
func (s *Service) applyList(ctx context.Context, q *pg.Q, c models.Change, by action.Author) error {
	op := s.lists.Operation(q, by.Scope, lists.By{Actor: by.Actor, RequestID: by.RequestID, WorkflowID: by.WorkflowID}, by.At)
	if c.Kind == models.ChangeListDelete {
		return op.Delete(ctx, c.Target)
	}
	var in listProposed
	if err := json.Unmarshal(c.Proposed, &in); err != nil {
		return err
	}
	_, err := op.Change(ctx, c.Target, in.Prepared)
	return err
}
