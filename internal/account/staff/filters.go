package staff

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	// MaxFilters is the number of filters that a person can save, in all environments together.
	MaxFilters = 20
	// maxFilterName is the length of a filter's name, in characters.
	maxFilterName = 60
)

// Filters returns the filters that a person saved for a list, by name.
func (s *Service) Filters(ctx context.Context, scope pg.Scope, person, list string) ([]models.SavedFilter, error) {
	return listSavedFilters(ctx, s.store.Q, scope, person, list)
}

// SaveFilter saves a filter of a list under a name. query is a query string that the caller has checked.
func (s *Service) SaveFilter(ctx context.Context, scope pg.Scope, by By, list, name, query string) error {
	name, err := filterName(name)
	if err != nil {
		return err
	}
	return s.changeFilters(ctx, scope, by, func(op operation) (events.Data, error) {
		n, err := countSavedFilters(ctx, op.q, by.Person)
		if err != nil {
			return nil, err
		}
		if n >= MaxFilters {
			return nil, problem.Newf(problem.Conflict, "You have %d saved filters, the most that a person can have. Delete one first.", n)
		}
		f := models.SavedFilter{
			ID: ids.New(ids.SavedFilter), TenantID: scope.Tenant, EnvironmentID: scope.Environment, PersonID: by.Person, List: list, Name: name, Query: query, CreatedAt: op.at,
		}
		created, err := createSavedFilter(ctx, op.q, f)
		if err == nil && !created {
			err = nameTaken()
		}
		return events.FilterSavedData{Filter: f.ID, List: list}, err
	})
}

// RenameFilter renames a saved filter of the person.
func (s *Service) RenameFilter(ctx context.Context, scope pg.Scope, by By, id, name string) (list string, err error) {
	if name, err = filterName(name); err != nil {
		return "", err
	}
	err = s.changeFilters(ctx, scope, by, func(op operation) (events.Data, error) {
		var taken bool
		if list, taken, err = renameSavedFilter(ctx, op.q, scope, by.Person, id, name); err == nil && taken {
			err = nameTaken()
		}
		return events.FilterRenamedData{Filter: id, List: list}, err
	})
	return list, err
}

// DeleteFilter deletes a saved filter of the person.
func (s *Service) DeleteFilter(ctx context.Context, scope pg.Scope, by By, id string) (list string, err error) {
	err = s.changeFilters(ctx, scope, by, func(op operation) (events.Data, error) {
		list, err = deleteSavedFilter(ctx, op.q, scope, by.Person, id)
		return events.FilterDeletedData{Filter: id, List: list}, err
	})
	return list, err
}

// changeFilters makes a change of a person's filters and records it. It locks the person, so that the limit holds among concurrent
// requests.
func (s *Service) changeFilters(ctx context.Context, scope pg.Scope, by By, change func(op operation) (events.Data, error)) error {
	err := s.store.Write(ctx, func(q *pg.Q) error {
		if _, err := s.lockActive(ctx, q, scope.Tenant, by.Person); err != nil {
			return err
		}
		op := operation{q: q, actor: "person:" + by.Person, requestID: by.RequestID, at: s.clock.Now()}
		data, err := change(op)
		if err != nil {
			return err
		}
		return op.appendTo(ctx, scope, data)
	})
	if errors.Is(err, pg.ErrNotFound) {
		return problem.NewNotFound()
	}
	return err
}

func filterName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if n := utf8.RuneCountInString(name); n == 0 || n > maxFilterName || strings.ContainsFunc(name, unicode.IsControl) {
		return "", problem.Newf(problem.BadRequest, "name must have 1 to %d characters and no control characters. Choose a short name for the filter.", maxFilterName)
	}
	return name, nil
}

func nameTaken() error {
	return problem.New(problem.Conflict, "name is used by another filter that you saved for this list. Choose a different one.")
}
