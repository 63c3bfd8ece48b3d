package filters

import (
	"net/url"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/web/console/shell"
)

// savedFilter is a filter that the user saved for the list of the page.
type savedFilter struct {
	ID, Name, URL  string
	Rename, Delete string // URLs of the forms
	Current        bool   // the filter of the page
}

// Saved are the user's filters of a list, with the form that saves the page's filter.
type Saved struct {
	Rows  []savedFilter
	Save  string // URL of the form
	List  string
	Query string // filter of the page, as it would be saved; empty for the usual filter
	Left  bool   // the page's filter has a text of a search, which is not saved
}

// actionKey is the form of an action's key.
var actionKey = regexp.MustCompile(`^[a-z0-9][a-z0-9_.:-]{0,127}$`)

// savableQuery returns a filter that can be saved as a query string. An error names the first field that is not known or has an unknown value.
func (c *Pages) savableQuery(list string, filter url.Values) (string, error) {
	known, ok := c.Known[list]
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

// Of returns the user's filters of a list. filter is the filter of the page.
func (c *Pages) Of(v *shell.Visit, list string, filter url.Values) (Saved, error) {
	out := Saved{Save: v.At("filters"), List: list}
	kept := url.Values{}
	for name, values := range filter {
		if _, known := c.Known[list][name]; known {
			kept[name] = values
		} else {
			out.Left = true
		}
	}
	if query, err := c.savableQuery(list, kept); err == nil {
		out.Query = query
	}
	rows, err := c.People.Filters(v.Context, v.Scope(), v.Session.Person.ID, list)
	for _, f := range rows {
		at := v.At(list)
		out.Rows = append(out.Rows, savedFilter{
			ID: f.ID, Name: f.Name, URL: at + "?" + f.Query, Rename: v.At("filters", f.ID), Delete: v.At("filters", f.ID, "delete"), Current: f.Query == filter.Encode(),
		})
	}
	return out, err
}

// maxFilterQuery is the length of a filter's query string, in characters; the longest possible one is shorter.
const maxFilterQuery = 400

// saveFilter saves the filter of a list for the user.
func (c *Pages) saveFilter(v *shell.Visit) error {
	list, text := v.Form("list"), v.Form("query")
	if err := mayFilter(v); err != nil {
		return err
	}
	filter, err := url.ParseQuery(text)
	if err != nil || utf8.RuneCountInString(text) > maxFilterQuery {
		return problem.New(problem.BadRequest, "query is not the filter of a list. Save the filter from its list.")
	}
	query, err := c.savableQuery(list, filter)
	if err != nil {
		return err
	}
	if err := c.People.SaveFilter(v.Context, v.Scope(), v.By(), list, v.Form("name"), query); err != nil {
		return err
	}
	return v.Redirect(v.At(list)+"?"+query, fiber.StatusSeeOther)
}

func (c *Pages) renameFilter(v *shell.Visit) error {
	if err := mayFilter(v); err != nil {
		return err
	}
	list, err := c.People.RenameFilter(v.Context, v.Scope(), v.By(), v.Param("id"), v.Form("name"))
	if err != nil {
		return err
	}
	return v.Back(list)
}

func (c *Pages) deleteFilter(v *shell.Visit) error {
	if err := mayFilter(v); err != nil {
		return err
	}
	list, err := c.People.DeleteFilter(v.Context, v.Scope(), v.By(), v.Param("id"))
	if err != nil {
		return err
	}
	return v.Back(list)
}

// mayFilter refuses users who cannot read the lists. The routes require any role: saving a filter changes nothing of the
// environment, so that auditors may.
func mayFilter(v *shell.Visit) error {
	if !v.May(shell.ReadDecisions) {
		return problem.Newf(problem.Forbidden, "Your roles in this environment do not include the permission %s.", shell.ReadDecisions)
	}
	return nil
}
