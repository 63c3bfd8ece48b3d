package console

import (
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

type personRow struct {
	staff.Listed
	URL    string // empty without the right, and for the user's own line
	Status tag
	Roles  []models.Role // in this environment
	Joined *stamp
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
	Rows   []personRow
	Next   string
	Notice *notice
	New    string // URL; empty without the right
	Second bool   // no one gives roles here alone
	// Unconfirmed is set if a row is.
	Unconfirmed bool
	Export      exportLinks
}

// people lists the staff with a role in the environment. The service lists those of the tenant, so that a page may be short.
func (c *console) people(v *visit) error {
	rows, next, err := c.People.List(v.ctx, v.grant.Environment.TenantID, pg.Page{Limit: listPage, After: v.query("cursor")})
	if err != nil {
		return cursorFault(err)
	}
	view := peopleView{Second: v.grant.Environment.SecondApproverRequired, Export: v.exports(nil, "people")}
	if v.query("done") == "mailed" {
		view.Notice = &notice{"good", "The invitation is mailed. No one else sees its link."}
	}
	if v.may(ChangePeople) && !view.Second {
		view.New = v.at("people", "new")
	}
	for _, p := range rows {
		if row := c.personRow(v, p); len(row.Roles) > 0 {
			view.Rows = append(view.Rows, row)
			view.Unconfirmed = view.Unconfirmed || row.Unconfirmed
		}
	}
	if next != "" {
		view.Next = v.at("people") + "?cursor=" + next
	}
	return v.page(fiber.StatusOK, "people.html", "People", "people", view)
}

func (c *console) personRow(v *visit, p staff.Listed) personRow {
	row := personRow{Listed: p, Status: tagOf(p.State), Joined: stamps{c.Clock.Now()}.maybe(p.JoinedAt), Own: p.ID == v.session.Person.ID}
	row.Unconfirmed, row.Linked = p.JoinedAt != nil && p.ConfirmedAt == nil && p.State != staff.StateRevoked, p.CountsAs() != "person:"+p.ID
	for _, g := range p.Grants {
		if g.Environment.ID == v.grant.Environment.ID {
			row.Roles = g.Roles
		}
	}
	if v.may(ChangePeople) && !row.Own && p.State != staff.StateRevoked {
		row.URL = v.at("people", p.ID)
		for _, o := range p.Same {
			row.Same = append(row.Same, samePerson{o.Name, v.at("people", p.ID, "link")})
		}
	}
	return row
}

// roleOptions are the roles with what they allow.
var roleOptions = []option{
	{string(models.RoleReviewer), "reviewer: reads decisions, resolves holds"},
	{string(models.RoleOperator), "operator: makes and edits everything here"},
	{string(models.RoleAuditor), "auditor: reads everything"},
}

// personBody is the form of a person; the API has no operation for it.
type personBody struct {
	Name    string        `json:"name"`
	Roles   []models.Role `json:"roles"`
	Address string        `json:"address"`
}

func (c *console) invitationForm(v *visit) form {
	f := form{
		Section: "people", Heading: "Invite a person", To: v.at("people", "new"), Submit: "Invite", Confirmed: true, Back: item{Label: "People", URL: v.at("people")},
		Intro: "The next page shows a link that works once, within 24 hours. Send it through a channel that only this person reads.",
		Fields: []field{
			{Name: "name", Label: "Name", Kind: oneLine, Required: true, Hint: "1 to 120 characters, shown in the audit log."},
			{Name: "roles", Label: "Roles in this environment", Kind: someOf, Options: roleOptions, Sent: true},
		},
	}
	if c.Notices.CanMail() {
		f.Fields = append(f.Fields, field{Name: "address", Label: "E-mail address", Kind: oneLine,
			Hint: "The link is mailed there and shown to no one. Without an address the next page shows it."})
	}
	return f
}

func (c *console) newPerson(v *visit) error { return v.showForm(fiber.StatusOK, c.invitationForm(v)) }

// by is the user as one who manages staff.
func (v *visit) by() staff.By {
	return staff.By{Person: v.session.Person.ID, RequestID: request.ID(v.Ctx)}
}

func (c *console) invitePerson(v *visit) error {
	return submitted(v, c.invitationForm(v), func(in personBody) error {
		invited, err := c.People.InviteAs(v.ctx, v.scope(), staff.Invitee{Name: in.Name, Roles: in.Roles, Address: in.Address}, v.by())
		if err != nil {
			return err
		}
		return c.showInvitation(v, invited)
	})
}

func (c *console) showInvitation(v *visit, invited staff.Invited) error {
	if invited.URL == "" {
		return v.Redirect(v.at("people")+"?done=mailed", fiber.StatusSeeOther)
	}
	until := stamp{invited.ExpiresAt, c.Clock.Now()}
	return v.showSecret("people", secretView{
		Heading: invited.Person.Name + " is invited", Label: "Invitation", Secret: invited.URL, Until: &until,
		Onward:  item{Label: "People", URL: v.at("people")},
		Warning: "The link is shown this once. It registers a passkey with the roles that you chose: send it to this person only.",
	})
}

// named returns a person with a role in the environment; others are not found.
func (c *console) named(v *visit) (personRow, error) {
	page := pg.Page{Limit: listPage}
	for {
		rows, next, err := c.People.List(v.ctx, v.grant.Environment.TenantID, page)
		if err != nil {
			return personRow{}, err
		}
		i := slices.IndexFunc(rows, func(p staff.Listed) bool { return p.ID == v.param("id") })
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
func (c *console) personForm(v *visit, of func(*visit, personRow) (form, error)) (personRow, form, error) {
	p, err := c.named(v)
	if err != nil {
		return p, form{}, err
	}
	f, err := of(v, p)
	return p, f, err
}

// showPersonForm shows a form about the person that the request names.
func (c *console) showPersonForm(v *visit, of func(*visit, personRow) (form, error)) error {
	_, f, err := c.personForm(v, of)
	if err != nil {
		return err
	}
	return v.showForm(fiber.StatusOK, f)
}

func (c *console) rolesForm(v *visit, p personRow) (form, error) {
	keys, err := c.Credentials.Rooted(v.ctx, v.scope(), p.ID, nil)
	if err != nil {
		return form{}, err
	}
	intro, ends := "Withdrawing a role ends the person's sessions.", ""
	if len(keys) > 0 {
		ends = " These API keys depend on the person and end too: " + keyNames(keys) + "."
		intro += " It also ends API keys that the remaining roles do not cover; without the role operator, all of these: " + keyNames(keys) + "."
	}
	roles := make([]string, len(p.Roles))
	for i, r := range p.Roles {
		roles[i] = string(r)
	}
	out := form{
		Section: "people", Heading: p.Name, To: v.at("people", p.ID), Submit: "Save the roles", Confirmed: true, Back: item{Label: "People", URL: v.at("people")},
		Intro: intro, Locked: p.Own,
		Fields: []field{{Name: "roles", Label: "Roles in this environment", Kind: someOf, Options: roleOptions, Chosen: roles, Sent: true}},
		Asks:   v.personAsks(p, ends),
		Other:  v.linkItem(p),
	}
	return out, nil
}

// linkItem leads to the form that links two confirmed accounts.
func (v *visit) linkItem(p personRow) item {
	if p.Own || p.ConfirmedAt == nil {
		return item{}
	}
	return item{Label: "Link an account", URL: v.at("people", p.ID, "link")}
}

// linkBody is the form that links two accounts.
type linkBody struct {
	Other string `json:"other"`
}

// linkForm offers the other confirmed accounts.
func (c *console) linkForm(v *visit, p personRow) (form, error) {
	candidates, err := c.People.LinkCandidates(v.ctx, p.Person)
	var others []option
	same := func(o models.Person) bool {
		return slices.ContainsFunc(p.Listed.Same, func(s models.Person) bool { return s.ID == o.ID })
	}
	for _, o := range candidates {
		label := o.Name + " (" + short(o.ID) + ")"
		if same(o) {
			label += ", has the same e-mail address"
		}
		others = append(others, option{o.ID, label})
	}
	return form{
		Section: "people", Heading: "Link an account with " + p.Name, To: v.at("people", p.ID, "link"), Submit: "Link the accounts", Confirmed: true,
		Back:   item{Label: p.Name, URL: v.at("people", p.ID)},
		Intro:  "Both accounts belong to one person: what they approve counts once from now on, also in what is still open, and their keys have one owner. This cannot be undone.",
		Fields: []field{{Name: "other", Label: "Other account of the person", Kind: choice, Options: others, Required: true, Hint: "Confirmed accounts of the tenant."}},
	}, err
}

func (c *console) linkPersonForm(v *visit) error { return c.showPersonForm(v, c.linkForm) }

func (c *console) linkPerson(v *visit) error {
	p, f, err := c.personForm(v, c.linkForm)
	if err != nil {
		return err
	}
	return submitted(v, f, func(in linkBody) error {
		if err := c.People.LinkAs(v.ctx, v.scope(), p.ID, in.Other, v.by()); err != nil {
			return err
		}
		return v.back("people")
	})
}

func (c *console) confirmPerson(v *visit) error {
	if err := v.sure(); err != nil {
		return err
	}
	if err := c.People.ConfirmIdentityAs(v.ctx, v.scope(), v.param("id"), v.by()); err != nil {
		return err
	}
	return v.back("people")
}

// personAsks are the changes of a person; ends says which keys end with them.
func (v *visit) personAsks(p personRow, ends string) []ask {
	if p.Own {
		return nil
	}
	remove := ask{ID: "remove", Label: "Remove", To: v.at("people", p.ID, "remove"), Verb: "remove them", Danger: true,
		Text: "All roles in this environment are withdrawn and the person's sessions end. A person without roles elsewhere loses access for ever." + ends}
	if p.Unconfirmed {
		return []ask{{ID: "confirm", Label: "Confirm", To: v.at("people", p.ID, "confirm"), Verb: "confirm them",
			Text: "You know the person, and the account is theirs. Their approvals count from now on if two people are required. You cannot confirm them if you saw their invitation link or chose the address it was sent to."}, remove}
	}
	if p.Passkeys > 0 {
		return []ask{remove}
	}
	return []ask{{ID: "again", Label: "Invite again", To: v.at("people", p.ID, "invite"), Verb: "invite them again",
		Text: "Earlier invitations become invalid. A new link is mailed to the person if they were invited by mail, and shown once otherwise."}, remove}
}

func (c *console) person(v *visit) error { return c.showPersonForm(v, c.rolesForm) }

func (c *console) changePerson(v *visit) error {
	p, f, err := c.personForm(v, c.rolesForm)
	if err != nil {
		return err
	}
	return submitted(v, f, func(in personBody) error {
		if err := c.People.ChangeRolesAs(v.ctx, v.scope(), p.ID, in.Roles, v.by()); err != nil {
			return err
		}
		return v.back("people")
	})
}

func (c *console) invitePersonAgain(v *visit) error {
	if err := v.sure(); err != nil {
		return err
	}
	invited, err := c.People.InviteAgainAs(v.ctx, v.scope(), v.param("id"), v.by())
	if err != nil {
		return err
	}
	return c.showInvitation(v, invited)
}

func (c *console) removePerson(v *visit) error {
	if err := v.sure(); err != nil {
		return err
	}
	if err := c.People.RemoveAs(v.ctx, v.scope(), v.param("id"), v.by()); err != nil {
		return err
	}
	return v.back("people")
}
