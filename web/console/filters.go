package console

import (
	"net/url"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// savedFilter is a filter that the user saved for the list of the page.
type savedFilter struct {
	ID, Name, URL  string
	Rename, Delete string // URLs of the forms
	Current        bool   // the filter of the page
}

// savedFilters are the user's filters of a list, with the form that saves the page's filter.
type savedFilters struct {
	Rows  []savedFilter
	Save  string // URL of the form
	List  string
	Query string // filter of the page, as it would be saved; empty for the usual filter
	Left  bool   // the page's filter has a text of a search, which is not saved
}

// savable are the filters of each list that can be saved, with the values that each may have; none for an action's key. The text of
// a search is not saved, because it may name a subject: what is stored of a subject must be exported and erased.
var savable = map[string]map[string][]string{
	"reviews":   {"status": viewWords, "action": nil, "risk": riskWords, "sort": {byDue, byOpened, byAmount}, "mine": {"1"}},
	"decisions": {"action": nil, "decision": decisionWords, "mode": modeWords, "review": reviewWords},
}

// actionKey is the form of an action's key.
var actionKey = regexp.MustCompile(`^[a-z0-9][a-z0-9_.:-]{0,127}$`)

// savableQuery returns a filter that can be saved as a query string. An error names the first field that is not known or has an unknown value.
func savableQuery(list string, filter url.Values) (string, error) {
	known, ok := savable[list]
	if !ok {
		return "", problem.New(problem.BadRequest, "list must be reviews or decisions.")
	}
	for name, values := range filter {
		allowed, ok := known[name]
		if !ok || len(values) != 1 {
			return "", problem.New(problem.BadRequest, "query may contain each filter of the list once, without the text of a search. Save the filter from its list.")
		}
		if allowed == nil && !actionKey.MatchString(values[0]) || allowed != nil && !slices.Contains(allowed, values[0]) {
			return "", problem.Newf(problem.BadRequest, "query has a value of %s that the list does not know. Save the filter from its list.", name)
		}
	}
	return filter.Encode(), nil
}

// saved returns the user's filters of a list. filter is the filter of the page.
func (c *console) saved(v *visit, list string, filter url.Values) (savedFilters, error) {
	out := savedFilters{Save: v.at("filters"), List: list}
	kept := url.Values{}
	for name, values := range filter {
		if _, known := savable[list][name]; known {
			kept[name] = values
		} else {
			out.Left = true
		}
	}
	if query, err := savableQuery(list, kept); err == nil {
		out.Query = query
	}
	rows, err := c.People.Filters(v.ctx, v.scope(), v.session.Person.ID, list)
	for _, f := range rows {
		at := v.at(list)
		out.Rows = append(out.Rows, savedFilter{
			ID: f.ID, Name: f.Name, URL: at + "?" + f.Query, Rename: v.at("filters", f.ID), Delete: v.at("filters", f.ID, "delete"), Current: f.Query == filter.Encode(),
		})
	}
	return out, err
}

// maxFilterQuery is the length of a filter's query string, in characters; the longest possible one is shorter.
const maxFilterQuery = 400

// saveFilter saves the filter of a list for the user.
func (c *console) saveFilter(v *visit) error {
	list, text := v.form("list"), v.form("query")
	if err := v.mayFilter(); err != nil {
		return err
	}
	filter, err := url.ParseQuery(text)
	if err != nil || utf8.RuneCountInString(text) > maxFilterQuery {
		return problem.New(problem.BadRequest, "query is not the filter of a list. Save the filter from its list.")
	}
	query, err := savableQuery(list, filter)
	if err != nil {
		return err
	}
	if err := c.People.SaveFilter(v.ctx, v.scope(), v.by(), list, v.form("name"), query); err != nil {
		return err
	}
	return v.Redirect(v.at(list)+"?"+query, fiber.StatusSeeOther)
}

func (c *console) renameFilter(v *visit) error {
	if err := v.mayFilter(); err != nil {
		return err
	}
	list, err := c.People.RenameFilter(v.ctx, v.scope(), v.by(), v.param("id"), v.form("name"))
	if err != nil {
		return err
	}
	return v.back(list)
}

func (c *console) deleteFilter(v *visit) error {
	if err := v.mayFilter(); err != nil {
		return err
	}
	list, err := c.People.DeleteFilter(v.ctx, v.scope(), v.by(), v.param("id"))
	if err != nil {
		return err
	}
	return v.back(list)
}

// mayFilter refuses users who cannot read the lists. The routes require any role: saving a filter changes nothing of the
// environment, so that auditors may.
func (v *visit) mayFilter() error {
	if !v.may(Explore) {
		return problem.Newf(problem.Forbidden, "Your roles in this environment do not include the permission %s.", Explore)
	}
	return nil
}
