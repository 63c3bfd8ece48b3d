package people

import (
	"context"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/keys"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// peopleExport is the staff with a role in the environment.
func (c *Pages) peopleExport(v *shell.Visit) (listexport.List, error) {
	scope := v.Scope()
	return listexport.List{
		Name:    "people",
		Columns: []string{"id", "name", "state", "roles", "passkeys", "created_at", "joined_at", "confirmed_at", "counts_as"},
		Source: exports.Paged(func(ctx context.Context, p pg.Page) ([]staff.Listed, string, error) {
			return c.People.List(ctx, scope.Tenant, p)
		}, func(p staff.Listed) []any {
			var roles []string
			for _, g := range p.Grants {
				if g.Environment.ID != scope.Environment {
					continue
				}
				for _, r := range g.Roles {
					roles = append(roles, string(r))
				}
			}
			if roles == nil {
				return nil
			}
			return []any{p.ID, p.Name, p.State, roles, p.Passkeys, p.CreatedAt, p.JoinedAt, p.ConfirmedAt, p.CountsAs()}
		}),
	}, nil
}

type personRow struct {
	staff.Listed
	URL    string // empty without the right, and for the user's own line
	Status show.Tag
	Roles  []models.Role // in this environment
	Joined *show.Stamp
	Own    bool
	// Unconfirmed is set for one who has joined by a link that others saw, and whom no second operator has confirmed.
	Unconfirmed bool
	// Same are accounts with the same e-mail address, for a user who may link them.
	Same []samePerson
	// Linked is set for an account that counts as a different account.
	Linked bool
}

// samePerson is an account that may be linked, with the URL of the form that does.
type samePerson struct{ Name, URL string }

type peopleView struct {
	shell.Paged
	SingleSignOn string // URL
	Rows         []personRow
	Notice       *show.Notice
	Second       bool // no one gives roles here alone
	// Unconfirmed is set if a row is.
	Unconfirmed bool
	Export      exports.Links
}

// people lists the staff with a role in the environment. The service lists those of the tenant, so that a page may be short.
func (c *Pages) people(v *shell.Visit) error {
	rows, paged, err := shell.List(v, "people", shell.ManageCredentials, func(p pg.Page) ([]staff.Listed, string, error) {
		return c.People.List(v.Context, v.Grant.Environment.TenantID, p)
	})
	if err != nil {
		return err
	}
	view := peopleView{Paged: paged, SingleSignOn: v.At("single-sign-on"), Second: v.Grant.Environment.SecondApproverRequired, Export: exports.Of(v, nil, "people")}
	if v.Query("done") == "mailed" {
		view.Notice = &show.Notice{Tone: "good", Text: "The invitation is mailed. No one else sees its link."}
	}
	if view.Second {
		view.New = ""
	}
	for _, p := range rows {
		if row := c.personRow(v, p); len(row.Roles) > 0 {
			view.Rows = append(view.Rows, row)
			view.Unconfirmed = view.Unconfirmed || row.Unconfirmed
		}
	}
	return v.Page(fiber.StatusOK, "people.html", "People", "people", view)
}

func (c *Pages) personRow(v *shell.Visit, p staff.Listed) personRow {
	row := personRow{Listed: p, Status: show.TagOf(p.State), Joined: show.Stamps{Now: c.Clock.Now()}.Maybe(p.JoinedAt), Own: p.ID == v.Session.Person.ID}
	row.Unconfirmed, row.Linked = p.JoinedAt != nil && p.ConfirmedAt == nil && p.State != staff.StateRevoked, p.CountsAs() != "person:"+p.ID
	for _, g := range p.Grants {
		if g.Environment.ID == v.Grant.Environment.ID {
			row.Roles = g.Roles
		}
	}
	if v.May(shell.ManageCredentials) && !row.Own && p.State != staff.StateRevoked {
		row.URL = v.At("people", p.ID)
		for _, o := range p.Same {
			row.Same = append(row.Same, samePerson{o.Name, v.At("people", p.ID, "link")})
		}
	}
	return row
}

// roleOptions are the roles with what they allow.
var roleOptions = []forms.Option{
	{Value: string(models.RoleReviewer), Label: "reviewer: reads decisions, resolves holds"},
	{Value: string(models.RoleOperator), Label: "operator: makes and edits everything here"},
	{Value: string(models.RoleAuditor), Label: "auditor: reads everything"},
}

// personBody is the form of a person; the API has no operation for it.
type personBody struct {
	Name    string        `json:"name"`
	Roles   []models.Role `json:"roles"`
	Address string        `json:"address"`
}

func (c *Pages) invitationForm(v *shell.Visit) forms.Form {
	f := forms.Form{
		Section: "people", Heading: "Invite a person", To: v.At("people", "new"), Submit: "Invite", Confirmed: true, Back: show.Item{Label: "People", URL: v.At("people")},
		Intro: "The next page shows a link that works once, within 24 hours. Send it through a channel that only this person reads.",
		Fields: []forms.Field{
			{Name: "name", Label: "Name", Kind: forms.OneLine, Required: true, Hint: "1 to 120 characters, shown in the audit log."},
			{Name: "roles", Label: "Roles in this environment", Kind: forms.SomeOf, Options: roleOptions, Sent: true},
		},
	}
	if c.Notices.CanMail() {
		f.Fields = append(f.Fields, forms.Field{Name: "address", Label: "E-mail address", Kind: forms.OneLine,
			Hint: "The link is mailed there and shown to no one. Without an address the next page shows it."})
	}
	return f
}

func (c *Pages) newPerson(v *shell.Visit) error {
	return forms.Show(v, fiber.StatusOK, c.invitationForm(v))
}

func (c *Pages) invitePerson(v *shell.Visit) error {
	return forms.Submitted(v, c.invitationForm(v), func(in personBody) error {
		invited, err := c.People.InviteAs(v.Context, v.Scope(), staff.Invitee{Name: in.Name, Roles: in.Roles, Address: in.Address}, v.By())
		if err != nil {
			return err
		}
		return c.showInvitation(v, invited)
	})
}

func (c *Pages) showInvitation(v *shell.Visit, invited staff.Invited) error {
	if invited.URL == "" {
		return v.Redirect(v.At("people")+"?done=mailed", fiber.StatusSeeOther)
	}
	until := show.Stamp{Time: invited.ExpiresAt, Now: c.Clock.Now()}
	return forms.ShowSecret(v, "people", forms.Secret{
		Heading: invited.Person.Name + " is invited", Label: "Invitation", Text: invited.URL, Until: &until,
		Onward:  show.Item{Label: "People", URL: v.At("people")},
		Warning: "The link is shown this once. It registers a passkey with the roles that you chose: send it to this person only.",
	})
}

// named returns a person with a role in the environment; others are not found.
func (c *Pages) named(v *shell.Visit) (personRow, error) {
	page := pg.Page{Limit: shell.ListPage}
	for {
		rows, next, err := c.People.List(v.Context, v.Grant.Environment.TenantID, page)
		if err != nil {
			return personRow{}, err
		}
		i := slices.IndexFunc(rows, func(p staff.Listed) bool { return p.ID == v.Param("id") })
		if i >= 0 {
			if row := c.personRow(v, rows[i]); len(row.Roles) > 0 {
				return row, nil
			}
			return personRow{}, problem.NewNotFound()
		}
		if next == "" {
			return personRow{}, problem.NewNotFound()
		}
		page.After = next
	}
}

// personForm returns the person that the request names, and a form about them.
func (c *Pages) personForm(v *shell.Visit, of func(*shell.Visit, personRow) (forms.Form, error)) (personRow, forms.Form, error) {
	p, err := c.named(v)
	if err != nil {
		return p, forms.Form{}, err
	}
	f, err := of(v, p)
	return p, f, err
}

// showPersonForm shows a form about the person that the request names.
func (c *Pages) showPersonForm(v *shell.Visit, of func(*shell.Visit, personRow) (forms.Form, error)) error {
	_, f, err := c.personForm(v, of)
	if err != nil {
		return err
	}
	return forms.Show(v, fiber.StatusOK, f)
}

func (c *Pages) rolesForm(v *shell.Visit, p personRow) (forms.Form, error) {
	rooted, err := c.Credentials.Rooted(v.Context, v.Scope(), p.ID, nil)
	if err != nil {
		return forms.Form{}, err
	}
	intro, ends := "Withdrawing a role ends the person's sessions.", ""
	if len(rooted) > 0 {
		ends = " These API keys depend on the person and end too: " + keys.Names(rooted) + "."
		intro += " It also ends API keys that the remaining roles do not cover; without the role operator, all of these: " + keys.Names(rooted) + "."
	}
	roles := make([]string, len(p.Roles))
	for i, r := range p.Roles {
		roles[i] = string(r)
	}
	out := forms.Form{
		Section: "people", Heading: p.Name, To: v.At("people", p.ID), Submit: "Save the roles", Confirmed: true, Back: show.Item{Label: "People", URL: v.At("people")},
		Intro: intro, Locked: p.Own,
		Fields: []forms.Field{{Name: "roles", Label: "Roles in this environment", Kind: forms.SomeOf, Options: roleOptions, Chosen: roles, Sent: true}},
		Asks:   personAsks(v, p, ends),
		Other:  linkItem(v, p),
	}
	return out, nil
}

// linkItem leads to the form that links two confirmed accounts.
func linkItem(v *shell.Visit, p personRow) show.Item {
	if p.Own || p.ConfirmedAt == nil {
		return show.Item{}
	}
	return show.Item{Label: "Link an account", URL: v.At("people", p.ID, "link")}
}

// linkBody is the form that links two accounts.
type linkBody struct {
	Other string `json:"other"`
}

// linkForm offers the other confirmed accounts.
func (c *Pages) linkForm(v *shell.Visit, p personRow) (forms.Form, error) {
	candidates, err := c.People.LinkCandidates(v.Context, p.Person)
	var others []forms.Option
	same := func(o models.Person) bool {
		return slices.ContainsFunc(p.Listed.Same, func(s models.Person) bool { return s.ID == o.ID })
	}
	for _, o := range candidates {
		label := o.Name + " (" + show.Short(o.ID) + ")"
		if same(o) {
			label += ", has the same e-mail address"
		}
		others = append(others, forms.Option{Value: o.ID, Label: label})
	}
	return forms.Form{
		Section: "people", Heading: "Link an account with " + p.Name, To: v.At("people", p.ID, "link"), Submit: "Link the accounts", Confirmed: true,
		Back:   show.Item{Label: p.Name, URL: v.At("people", p.ID)},
		Intro:  "Both accounts belong to one person: what they approve counts once from now on, also in what is still open, and their keys have one owner. This cannot be undone.",
		Fields: []forms.Field{{Name: "other", Label: "Other account of the person", Kind: forms.Choice, Options: others, Required: true, Hint: "Confirmed accounts of the tenant."}},
	}, err
}

func (c *Pages) linkPersonForm(v *shell.Visit) error { return c.showPersonForm(v, c.linkForm) }

func (c *Pages) linkPerson(v *shell.Visit) error {
	p, f, err := c.personForm(v, c.linkForm)
	if err != nil {
		return err
	}
	return forms.Submitted(v, f, func(in linkBody) error {
		if err := c.People.LinkAs(v.Context, v.Scope(), p.ID, in.Other, v.By()); err != nil {
			return err
		}
		return v.Back("people")
	})
}

func (c *Pages) confirmPerson(v *shell.Visit) error {
	if err := v.Sure(); err != nil {
		return err
	}
	if err := c.People.ConfirmIdentityAs(v.Context, v.Scope(), v.Param("id"), v.By()); err != nil {
		return err
	}
	return v.Back("people")
}

// personAsks are the changes of a person; ends says which keys end with them.
func personAsks(v *shell.Visit, p personRow, ends string) []forms.Ask {
	if p.Own {
		return nil
	}
	remove := forms.Ask{ID: "remove", Label: "Remove", To: v.At("people", p.ID, "remove"), Verb: "remove them", Danger: true,
		Text: "All roles in this environment are withdrawn and the person's sessions end. A person without roles elsewhere loses access for ever." + ends}
	if p.Unconfirmed {
		return []forms.Ask{{ID: "confirm", Label: "Confirm", To: v.At("people", p.ID, "confirm"), Verb: "confirm them",
			Text: "You know the person, and the account is theirs. Their approvals count from now on if two people are required. You cannot confirm them if you, or someone who may be you, saw their invitation link or chose the address it was sent to."}, remove}
	}
	if p.JoinedAt != nil && p.ConfirmedByProvider() {
		return []forms.Ask{{ID: "confirm", Label: "Confirm", To: v.At("people", p.ID, "confirm"), Verb: "confirm them",
			Text: "You know the person, and they were not invited under another account; if they were, link the two instead. From now on their approvals count together with those of people who were invited. " +
				"Only an operator whom the same identity provider signs in can confirm them here."}, remove}
	}
	if p.Passkeys > 0 {
		return []forms.Ask{remove}
	}
	return []forms.Ask{{ID: "again", Label: "Invite again", To: v.At("people", p.ID, "invite"), Verb: "invite them again",
		Text: "Earlier invitations become invalid. A new link is mailed to the person if they were invited by mail, and shown once otherwise."}, remove}
}

func (c *Pages) person(v *shell.Visit) error { return c.showPersonForm(v, c.rolesForm) }

func (c *Pages) changePerson(v *shell.Visit) error {
	p, f, err := c.personForm(v, c.rolesForm)
	if err != nil {
		return err
	}
	return forms.Submitted(v, f, func(in personBody) error {
		if err := c.People.ChangeRolesAs(v.Context, v.Scope(), p.ID, in.Roles, v.By()); err != nil {
			return err
		}
		return v.Back("people")
	})
}

func (c *Pages) invitePersonAgain(v *shell.Visit) error {
	if err := v.Sure(); err != nil {
		return err
	}
	invited, err := c.People.InviteAgainAs(v.Context, v.Scope(), v.Param("id"), v.By())
	if err != nil {
		return err
	}
	return c.showInvitation(v, invited)
}

func (c *Pages) removePerson(v *shell.Visit) error {
	if err := v.Sure(); err != nil {
		return err
	}
	if err := c.People.RemoveAs(v.Context, v.Scope(), v.Param("id"), v.By()); err != nil {
		return err
	}
	return v.Back("people")
}
