package lists

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/decisions"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

func listForm(v *shell.Visit) forms.Form {
	return forms.Form{
		Operation: "createList", Section: "lists", Heading: "New list", To: v.At("lists", "new"), Submit: "Create the list", Confirmed: true,
		Back:  show.Item{Label: "Lists", URL: v.At("lists")},
		Intro: "The list has no entries at first. Its name, its kind and whether it is personal cannot be changed.",
		Fields: []forms.Field{
			{Name: "name", Label: "Name", Hint: "Rules name it. A lower-case letter, then lower-case letters, digits and underscores, such as trusted_payees."},
			{Name: "kind", Label: "Entries", Value: string(models.ListText), Options: []forms.Option{
				{Value: string(models.ListText), Label: "text: whole values"}, {Value: string(models.ListCountry), Label: "country: two letters"}, {Value: string(models.ListIBANPrefix), Label: "iban_prefix: beginnings of IBANs"},
			}},
			{Name: "personal", Label: "The values are about people",
				Hint: "They are stored as digests, which no one can read, export or move to a different environment. The entries must be text."},
			{Name: "description", Label: "Description", Hint: "What the list is for."},
		},
	}
}

func (c *Pages) newList(v *shell.Visit) error { return forms.Show(v, fiber.StatusOK, listForm(v)) }

func (c *Pages) createList(v *shell.Visit) error {
	return forms.Submitted(v, listForm(v), func(in lists.Draft) error {
		by := v.Changer()
		l, err := c.Lists.Create(v.Context, v.Scope(), lists.By{Actor: by.Actor, RequestID: by.RequestID}, in)
		return v.Changed(nil, err, v.At("lists", l.ID)+"?done=created")
	})
}

// entryBody is the form of one new entry. Its names are those at which changeListEntries finds fault.
type entryBody struct {
	List string `json:"list"`
	Add  struct {
		Value     string     `json:"value"`
		Reason    string     `json:"reason"`
		ExpiresAt *time.Time `json:"expires_at"`
	} `json:"add"`
}

func entryForm(v *shell.Visit) forms.Form {
	return forms.Form{
		Section: "lists", Submit: "Add it", Confirmed: true, Second: v.Grant.Environment.SecondApproverRequired,
		Fields: []forms.Field{
			{Name: "add.value", Label: "Value", Kind: forms.OneLine, Required: true, Hint: "Case and white space make no difference."},
			{Name: "add.reason", Label: "Reason", Kind: forms.OneLine, Required: true, Hint: "Why the value is in the list: 1 to 256 characters."},
			{Name: "add.expires_at", Label: "Expires (UTC)", Kind: forms.Moment, Hint: "Leave empty for no expiry."},
		},
	}
}

// addTo adds the entry of a form to a list.
func (c *Pages) addTo(v *shell.Visit, id string, in entryBody) error {
	e := lists.NewEntry{Value: in.Add.Value, Reason: in.Add.Reason, ExpiresAt: in.Add.ExpiresAt}
	made, err := c.Changes.ChangeList(v.Context, v.Scope(), v.Changer(), id, lists.Edit{Add: []lists.NewEntry{e}})
	return listChanged(v, made, err, id, "added")
}

// newEntryForm is the form of a new entry of the list that the path names.
func (c *Pages) newEntryForm(v *shell.Visit) (forms.Form, error) {
	l, err := c.Lists.Get(v.Context, v.Scope(), v.Param("id"))
	f := entryForm(v)
	f.Heading, f.To, f.Back = "Add to "+l.Name, v.At("lists", l.ID, "add"), show.Item{Label: l.Name, URL: v.At("lists", l.ID)}
	f.Intro = "If the list already has the value, its reason and expiry are replaced."
	if l.Personal {
		f.Intro += " The list is personal: it stores a digest of the value."
	}
	return f, err
}

func (c *Pages) newEntry(v *shell.Visit) error {
	f, err := c.newEntryForm(v)
	if err != nil {
		return err
	}
	return forms.Show(v, fiber.StatusOK, f)
}

func (c *Pages) addEntry(v *shell.Visit) error {
	f, err := c.newEntryForm(v)
	if err != nil {
		return err
	}
	return forms.Submitted(v, f, func(in entryBody) error { return c.addTo(v, v.Param("id"), in) })
}

func (c *Pages) removeEntry(v *shell.Visit) error {
	if err := v.Sure(); err != nil {
		return err
	}
	id := v.Param("id")
	made, err := c.Changes.ChangeList(v.Context, v.Scope(), v.Changer(), id, lists.Edit{Remove: []lists.Removed{{ID: v.Param("entry")}}})
	return listChanged(v, made, err, id, "removed")
}

// subjectDetail names the subject of a decision among what can be added to a list.
const subjectDetail = "subject"

// addingForm is the form of an entry with the value of a decision: of one of its details, or its subject.
func (c *Pages) addingForm(v *shell.Visit) (forms.Form, error) {
	decision, detail := v.Query("decision"), v.Query("detail")
	seen, err := c.DecisionPages.CaseOf(v, decision)
	if err != nil {
		return forms.Form{}, err
	}
	options, err := c.listOptions(v)
	f := entryForm(v)
	f.Heading, f.To = "Add to a list", v.At("lists", "add")+"?"+url.Values{"decision": {decision}, "detail": {detail}}.Encode()
	f.Back, f.Other = show.Item{Label: seen.Title(), URL: v.At("decisions", decision)}, show.Item{Label: "New list", URL: v.At("lists", "new")}
	f.Intro = "A personal list stores a digest of the value."
	if len(options) == 0 {
		f.Intro = "The environment has no list yet. Create one first."
	}
	f.Fields = append([]forms.Field{{Name: "list", Label: "List", Kind: forms.Choice, Options: options, Required: true}}, f.Fields...)
	value, reason := &f.Fields[1], &f.Fields[2]
	value.Value, value.Hint = valueOf(seen, detail)
	reason.Value = "Decision " + decision
	return f, err
}

// valueOf returns the value of a detail of a decision as the request had it, with a hint that names its source, or says why there is none.
func valueOf(view decisions.CaseView, detail string) (value, hint string) {
	if detail == subjectDetail && view.Case.Trace.Subject != "" {
		return view.Case.Trace.Subject, "The subject of the decision."
	}
	i, err := strconv.Atoi(detail)
	shown := view.Case.Trace.Display
	if err != nil || shown == nil || i < 0 || i >= len(shown.Details) {
		return "", "The decision does not show the value any more, and the console has no other copy. Enter it."
	}
	d := shown.Details[i]
	if !d.Sent() {
		return "", "The decision shows " + d.Label + " as " + strconv.Quote(d.Value) + ", which is not the value of the request. The value is not stored. Enter it."
	}
	return d.Value, d.Label + ", as the decision shows it."
}

// listOptions are the lists of the environment, by name.
func (c *Pages) listOptions(v *shell.Visit) ([]forms.Option, error) {
	rows, _, err := c.Lists.List(v.Context, v.Scope(), pg.Page{Limit: lists.MaxLists})
	slices.SortFunc(rows, func(a, b models.List) int { return cmp.Compare(a.Name, b.Name) })
	out := make([]forms.Option, len(rows))
	for i, l := range rows {
		out[i] = forms.Option{Value: l.ID, Label: strings.TrimSuffix(l.Name+": "+l.Description, ": ")}
		if l.Personal {
			out[i].Label += " (personal)"
		}
	}
	return out, err
}

func (c *Pages) newFromDecision(v *shell.Visit) error {
	f, err := c.addingForm(v)
	if err != nil {
		return err
	}
	return forms.Show(v, fiber.StatusOK, f)
}

func (c *Pages) addFromDecision(v *shell.Visit) error {
	f, err := c.addingForm(v)
	if err != nil {
		return err
	}
	return forms.Submitted(v, f, func(in entryBody) error { return c.addTo(v, in.List, in) })
}
