package console

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
)

func (v *visit) listForm() form {
	return form{
		Operation: "createList", Section: "lists", Heading: "New list", To: v.at("lists", "new"), Submit: "Create the list", Confirmed: true,
		Back:  item{Label: "Lists", URL: v.at("lists")},
		Intro: "The list has no entries at first. Its name, its kind and whether it is personal cannot be changed.",
		Fields: []field{
			{Name: "name", Label: "Name", Kind: oneLine, Required: true, Hint: "Rules name it. A lower-case letter, then lower-case letters, digits and underscores, such as trusted_payees."},
			{Name: "kind", Label: "Entries", Kind: choice, Value: string(models.ListText), Required: true, Options: []option{
				{string(models.ListText), "text: whole values"}, {string(models.ListCountry), "country: two letters"}, {string(models.ListIBANPrefix), "iban_prefix: beginnings of IBANs"},
			}},
			{Name: "personal", Label: "The values are about people", Kind: yesNo,
				Hint: "They are stored as digests, which no one can read, export or move to a different environment. The entries must be text."},
			{Name: "description", Label: "Description", Kind: oneLine, Hint: "What the list is for; at most 256 characters."},
		},
	}
}

func (c *console) newList(v *visit) error { return v.showForm(fiber.StatusOK, v.listForm()) }

func (c *console) createList(v *visit) error {
	return submitted(v, v.listForm(), func(in lists.Draft) error {
		by := v.changer()
		l, err := c.Lists.Create(v.ctx, v.scope(), lists.By{Actor: by.Actor, RequestID: by.RequestID}, in)
		return v.changed(nil, err, v.at("lists", l.ID)+"?done=created")
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

func (v *visit) entryForm() form {
	return form{
		Section: "lists", Submit: "Add it", Confirmed: true, Second: v.grant.Environment.SecondApproverRequired,
		Fields: []field{
			{Name: "add.value", Label: "Value", Kind: oneLine, Required: true, Hint: "Case and white space make no difference."},
			{Name: "add.reason", Label: "Reason", Kind: oneLine, Required: true, Hint: "Why the value is in the list: 1 to 256 characters."},
			{Name: "add.expires_at", Label: "Expires (UTC)", Kind: moment, Hint: "Empty for never."},
		},
	}
}

// addTo adds the entry of a form to a list.
func (c *console) addTo(v *visit, id string, in entryBody) error {
	e := lists.NewEntry{Value: in.Add.Value, Reason: in.Add.Reason, ExpiresAt: in.Add.ExpiresAt}
	made, err := c.Changes.ChangeList(v.ctx, v.scope(), v.changer(), id, lists.Edit{Add: []lists.NewEntry{e}})
	return v.listChanged(made, err, id, "added")
}

// newEntryForm is the form of a new entry of the list that the path names.
func (c *console) newEntryForm(v *visit) (form, error) {
	l, err := c.Lists.Get(v.ctx, v.scope(), v.param("id"))
	f := v.entryForm()
	f.Heading, f.To, f.Back = "Add to "+l.Name, v.at("lists", l.ID, "add"), item{Label: l.Name, URL: v.at("lists", l.ID)}
	f.Intro = "A value that the list has gets the reason and the expiry."
	if l.Personal {
		f.Intro += " The list is personal: it stores a digest of the value."
	}
	return f, err
}

func (c *console) newEntry(v *visit) error {
	f, err := c.newEntryForm(v)
	if err != nil {
		return err
	}
	return v.showForm(fiber.StatusOK, f)
}

func (c *console) addEntry(v *visit) error {
	f, err := c.newEntryForm(v)
	if err != nil {
		return err
	}
	return submitted(v, f, func(in entryBody) error { return c.addTo(v, v.param("id"), in) })
}

func (c *console) removeEntry(v *visit) error {
	if err := v.sure(); err != nil {
		return err
	}
	id := v.param("id")
	made, err := c.Changes.ChangeList(v.ctx, v.scope(), v.changer(), id, lists.Edit{Remove: []lists.Removed{{ID: v.param("entry")}}})
	return v.listChanged(made, err, id, "removed")
}

// subjectDetail names the subject of a decision among what can be added to a list.
const subjectDetail = "subject"

// addingForm is the form of an entry with the value of a decision: of one of its details, or its subject.
func (c *console) addingForm(v *visit) (form, error) {
	decision, detail := v.query("decision"), v.query("detail")
	seen, err := c.caseOf(v, decision)
	if err != nil {
		return form{}, err
	}
	options, err := c.listOptions(v)
	f := v.entryForm()
	f.Heading, f.To = "Add to a list", v.at("lists", "add")+"?"+url.Values{"decision": {decision}, "detail": {detail}}.Encode()
	f.Back, f.Other = item{Label: seen.Title(), URL: v.at("decisions", decision)}, item{Label: "New list", URL: v.at("lists", "new")}
	f.Intro = "A personal list stores a digest of the value."
	if len(options) == 0 {
		f.Intro = "The environment has no list yet. Create one first."
	}
	f.Fields = append([]field{{Name: "list", Label: "List", Kind: choice, Options: options, Required: true}}, f.Fields...)
	value, reason := &f.Fields[1], &f.Fields[2]
	value.Value, value.Hint = seen.valueOf(detail)
	reason.Value = "Decision " + decision
	return f, err
}

// valueOf returns the value of a detail of a decision as the request had it, with a hint that names its source, or says why there is none.
func (view caseView) valueOf(detail string) (value, hint string) {
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
func (c *console) listOptions(v *visit) ([]option, error) {
	rows, _, err := c.Lists.List(v.ctx, v.scope(), pg.Page{Limit: lists.MaxLists})
	slices.SortFunc(rows, func(a, b models.List) int { return cmp.Compare(a.Name, b.Name) })
	out := make([]option, len(rows))
	for i, l := range rows {
		out[i] = option{l.ID, strings.TrimSuffix(l.Name+": "+l.Description, ": ")}
		if l.Personal {
			out[i].Label += " (personal)"
		}
	}
	return out, err
}

func (c *console) newFromDecision(v *visit) error {
	f, err := c.addingForm(v)
	if err != nil {
		return err
	}
	return v.showForm(fiber.StatusOK, f)
}

func (c *console) addFromDecision(v *visit) error {
	f, err := c.addingForm(v)
	if err != nil {
		return err
	}
	return submitted(v, f, func(in entryBody) error { return c.addTo(v, in.List, in) })
}
