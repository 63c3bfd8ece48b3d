package policies

import (
	"cmp"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// labelsHint says what the texts in other languages are.
const labelsHint = `Name and consequence by language, such as {"de": {"name": "Zahlung", "consequence": "Geld verlässt das Konto."}}. A challenge shows the reader's language.`

func actionForm(v *shell.Visit) forms.Form {
	return forms.Form{
		Operation: "createAction", Section: "policies", Heading: "New action", To: v.At("policies", "new"), Submit: "Create the action",
		Back:  show.Item{Label: "Policies", URL: v.At("policies")},
		Intro: "An action starts in mode test and without a policy. Requests for it are refused until a policy version is active.",
		Fields: []forms.Field{
			{Name: "key", Label: "Key", Kind: forms.OneLine, Required: true, Hint: "Dotted lower case, such as payments.transfer. It cannot be changed."},
			{Name: "name", Label: "Name", Kind: forms.OneLine, Required: true, Hint: "Shown to users and reviewers."},
			{Name: "consequence", Label: "Consequence", Kind: forms.LongText, Required: true, Hint: "What happens if the wrong person performs the action. Shown in challenges."},
			{Name: "labels", Label: "Texts in other languages", Kind: forms.JsonText, Rows: 4, Value: "{}", Hint: labelsHint},
			{Name: "risk_class", Label: "Risk class", Kind: forms.Choice, Value: "high", Options: forms.Options("low", "elevated", "high", "critical")},
			{Name: "resource_type", Label: "Type of resource", Kind: forms.OneLine, Value: "resource"},
			{Name: "allowed_audiences", Label: "Audiences that may receive proofs", Kind: forms.Lines, Required: true, Hint: "One on each line."},
			{Name: "allowed_callers", Label: "Keys that may ask for decisions", Kind: forms.Lines, Hint: "Credential ids, one on each line; empty for every server key."},
			{Name: "proof_ttl_seconds", Label: "How long a proof is valid", Kind: forms.Duration, Value: "5 min", Hint: "30 s to 15 min."},
			{Name: "context_schema", Label: "Schema of the context", Kind: forms.JsonText, Rows: 10, Value: "{}", Hint: "JSON Schema 2020-12 of the context of requests."},
		},
	}
}

func (c *Pages) newAction(v *shell.Visit) error { return forms.Show(v, fiber.StatusOK, actionForm(v)) }

func (c *Pages) createAction(v *shell.Visit) error {
	return forms.Submitted(v, actionForm(v), func(in action.Create) error {
		a, err := c.Actions.Create(v.Context, v.Principal(), in)
		if err != nil {
			return err
		}
		return v.Redirect(v.At("policies", a.ID, "draft"), fiber.StatusSeeOther)
	})
}

// modes are the modes of an action with their effect.
var modes = []forms.Option{
	{Value: "test", Label: "test: decisions have no effect, and proofs are for tests"},
	{Value: "shadow", Label: "shadow: decisions are recorded and nothing is blocked"},
	{Value: "enforce", Label: "enforce: decisions apply"},
}

func editActionForm(v *shell.Visit, a models.Action) forms.Form {
	return forms.Form{
		Operation: "updateAction", Section: "policies", Heading: "Edit " + a.Key, To: v.At("policies", a.ID, "edit"), Submit: "Save",
		Back: show.Item{Label: a.Key, URL: v.At("policies", a.ID)}, Confirmed: true, Second: v.Grant.Environment.SecondApproverRequired,
		Intro: "The schema, the audiences and the callers belong to the policy: change them with a new draft.",
		Fields: []forms.Field{
			{Name: "name", Label: "Name", Kind: forms.OneLine, Value: a.Name, Required: true},
			{Name: "consequence", Label: "Consequence", Kind: forms.LongText, Value: a.Consequence, Required: true},
			{Name: "labels", Label: "Texts in other languages", Kind: forms.JsonText, Rows: 4, Value: cmp.Or(string(a.Labels), "{}"), Hint: labelsHint},
			{Name: "mode", Label: "Mode", Kind: forms.Choice, Value: string(a.Mode), Options: modes, Required: true},
		},
	}
}

func (c *Pages) editAction(v *shell.Visit) error {
	a, err := c.Actions.Get(v.Context, v.Scope(), v.Param("action"))
	if err != nil {
		return err
	}
	return forms.Show(v, fiber.StatusOK, editActionForm(v, a))
}

func (c *Pages) updateAction(v *shell.Visit) error {
	a, err := c.Actions.Get(v.Context, v.Scope(), v.Param("action"))
	if err != nil {
		return err
	}
	return forms.Submitted(v, editActionForm(v, a), func(in wire.ActionUpdate) error {
		fields := action.Change{Name: in.Name, Consequence: in.Consequence, Mode: (*models.ActionMode)(in.Mode), Labels: in.Labels}
		made, err := c.Changes.UpdateAction(v.Context, v.Principal(), a.ID, fields)
		if err != nil {
			return err
		}
		if made.Requested != nil {
			return v.Redirect(v.At("changes", made.Requested.ID)+"?done=requested", fiber.StatusSeeOther)
		}
		return v.Back("policies", a.ID)
	})
}

func (c *Pages) archiveAction(v *shell.Visit) error {
	if err := v.Sure(); err != nil {
		return err
	}
	if err := c.Actions.Archive(v.Context, v.Principal(), v.Param("action")); err != nil {
		return err
	}
	return v.Back("policies")
}

func actionAsks(v *shell.Visit, a models.Action) []forms.Ask {
	return []forms.Ask{{ID: "archive", Label: "Archive", To: v.At("policies", a.ID, "archive"), Verb: "archive it", Danger: true,
		Text: "Requests for the action are refused, and its key can be used again. Its decisions stay readable. This cannot be undone."}}
}

// draft shows the form of a new policy version, filled in from the version that the query names, else the active one, else the newest.
func (c *Pages) draft(v *shell.Visit) error { return c.showDraft(v, draftForm) }

// draftText shows the same as text.
func (c *Pages) draftText(v *shell.Visit) error { return c.showDraft(v, draftTextForm) }

func (c *Pages) showDraft(v *shell.Visit, show func(*shell.Visit, models.Action, models.PolicyVersion) (forms.Form, error)) error {
	f, _, err := c.draftOf(v, show)
	if err != nil {
		return err
	}
	return forms.Show(v, fiber.StatusOK, f)
}

func (c *Pages) draftOf(v *shell.Visit, show func(*shell.Visit, models.Action, models.PolicyVersion) (forms.Form, error)) (forms.Form, models.Action, error) {
	a, err := c.Actions.Get(v.Context, v.Scope(), v.Param("action"))
	if err != nil {
		return forms.Form{}, a, err
	}
	from, err := c.origin(v, a)
	if err != nil {
		return forms.Form{}, a, err
	}
	f, err := show(v, a, from)
	return f, a, err
}

// origin returns the version that a draft starts from. An action without versions starts from its own settings.
func (c *Pages) origin(v *shell.Visit, a models.Action) (models.PolicyVersion, error) {
	versions, _, err := c.Actions.Versions(v.Context, v.Scope(), a.ID, pg.Page{Limit: shell.ListPage})
	if err != nil {
		return models.PolicyVersion{}, err
	}
	wanted := v.Query("from")
	for _, p := range versions {
		if strconv.Itoa(p.Version) == wanted || wanted == "" && p.Status == models.PolicyActive {
			return p, nil
		}
	}
	if len(versions) > 0 {
		return versions[0], nil
	}
	return models.PolicyVersion{
		Requirements: models.JSON("{}"), ContextSchema: a.ContextSchema, AllowedAudiences: a.AllowedAudiences, AllowedCallers: a.AllowedCallers,
		ProofTTLSeconds: a.ProofTTLSeconds,
	}, nil
}

func (c *Pages) createDraft(v *shell.Visit) error { return c.makeDraft(v, draftForm) }

func (c *Pages) createDraftText(v *shell.Visit) error { return c.makeDraft(v, draftTextForm) }

// makeDraft creates the draft and shows its difference to the active version and its simulation.
func (c *Pages) makeDraft(v *shell.Visit, show func(*shell.Visit, models.Action, models.PolicyVersion) (forms.Form, error)) error {
	f, a, err := c.draftOf(v, show)
	if err != nil {
		return err
	}
	if v.Form("more") != "" { // another empty rule, and nothing is made yet
		f.Read(v)
		return forms.Show(v, fiber.StatusOK, f)
	}
	return forms.Submitted(v, f, func(in action.CreateVersion) error {
		in.KeepRead = v.Form(keepRead) == "true"
		p, err := c.Actions.CreateVersion(v.Context, v.Principal(), a.ID, in)
		if err != nil {
			return err
		}
		return v.Redirect(v.At("policies", a.ID, strconv.Itoa(p.Version))+"?last="+strconv.Itoa(defaultLast), fiber.StatusSeeOther)
	})
}
