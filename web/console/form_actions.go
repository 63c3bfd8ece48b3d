package console

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

func (v *visit) actionForm() form {
	return form{
		Operation: "createAction", Section: "policies", Heading: "New action", To: v.at("policies", "new"), Submit: "Create the action",
		Back:  item{Label: "Policies", URL: v.at("policies")},
		Intro: "An action starts in mode test and without a policy. Requests for it are refused until a policy version is active.",
		Fields: []field{
			{Name: "key", Label: "Key", Kind: oneLine, Required: true, Hint: "Dotted lower case, such as payments.transfer. It cannot be changed."},
			{Name: "name", Label: "Name", Kind: oneLine, Required: true, Hint: "Shown to users and reviewers."},
			{Name: "consequence", Label: "Consequence", Kind: longText, Required: true, Hint: "What happens if the wrong person performs the action. Shown in challenges."},
			{Name: "risk_class", Label: "Risk class", Kind: choice, Value: "high", Options: options("low", "elevated", "high", "critical")},
			{Name: "resource_type", Label: "Type of resource", Kind: oneLine, Value: "resource"},
			{Name: "allowed_audiences", Label: "Audiences that may receive proofs", Kind: lines, Required: true, Hint: "One on each line."},
			{Name: "allowed_callers", Label: "Keys that may ask for decisions", Kind: lines, Hint: "Credential ids, one on each line; empty for every server key."},
			{Name: "proof_ttl_seconds", Label: "How long a proof is valid", Kind: duration, Value: "5 min", Hint: "30 s to 15 min."},
			{Name: "context_schema", Label: "Schema of the context", Kind: jsonText, Rows: 10, Value: "{}", Hint: "JSON Schema 2020-12 of the context of requests."},
		},
	}
}

func (c *console) newAction(v *visit) error { return v.showForm(fiber.StatusOK, v.actionForm()) }

func (c *console) createAction(v *visit) error {
	return submitted(v, v.actionForm(), func(in action.Create) error {
		a, err := c.Actions.Create(v.ctx, v.principal(), in)
		if err != nil {
			return err
		}
		return v.Redirect(v.at("policies", a.ID, "draft"), fiber.StatusSeeOther)
	})
}

// modes are the modes of an action with their effect.
var modes = []option{
	{"test", "test: decisions have no effect, and proofs are for tests"},
	{"shadow", "shadow: decisions are recorded and nothing is blocked"},
	{"enforce", "enforce: decisions apply"},
}

func (v *visit) editActionForm(a models.Action) form {
	return form{
		Operation: "updateAction", Section: "policies", Heading: "Edit " + a.Key, To: v.at("policies", a.ID, "edit"), Submit: "Save",
		Back: item{Label: a.Key, URL: v.at("policies", a.ID)}, Confirmed: true, Second: v.grant.Environment.SecondApproverRequired,
		Intro: "The schema, the audiences and the callers belong to the policy: change them with a new draft.",
		Fields: []field{
			{Name: "name", Label: "Name", Kind: oneLine, Value: a.Name, Required: true},
			{Name: "consequence", Label: "Consequence", Kind: longText, Value: a.Consequence, Required: true},
			{Name: "mode", Label: "Mode", Kind: choice, Value: string(a.Mode), Options: modes, Required: true},
		},
	}
}

func (c *console) editAction(v *visit) error {
	a, err := c.Actions.Get(v.ctx, v.scope(), v.param("action"))
	if err != nil {
		return err
	}
	return v.showForm(fiber.StatusOK, v.editActionForm(a))
}

// actionBody is the body of updateAction.
type actionBody struct {
	Name        *string            `json:"name"`
	Consequence *string            `json:"consequence"`
	Mode        *models.ActionMode `json:"mode"`
}

func (c *console) updateAction(v *visit) error {
	a, err := c.Actions.Get(v.ctx, v.scope(), v.param("action"))
	if err != nil {
		return err
	}
	return submitted(v, v.editActionForm(a), func(in actionBody) error {
		made, err := c.Changes.UpdateAction(v.ctx, v.principal(), a.ID, action.Change(in))
		if err != nil {
			return err
		}
		if made.Requested != nil {
			return v.Redirect(v.at("changes", made.Requested.ID)+"?done=requested", fiber.StatusSeeOther)
		}
		return v.back("policies", a.ID)
	})
}

func (c *console) archiveAction(v *visit) error {
	if err := v.sure(); err != nil {
		return err
	}
	if err := c.Actions.Archive(v.ctx, v.principal(), v.param("action")); err != nil {
		return err
	}
	return v.back("policies")
}

func (v *visit) actionAsks(a models.Action) []ask {
	return []ask{{ID: "archive", Label: "Archive", To: v.at("policies", a.ID, "archive"), Verb: "archive it", Danger: true,
		Text: "Requests for the action are refused, and its key can be used again. Its decisions stay readable. This cannot be undone."}}
}

// draft shows the form of a new policy version, filled in from the version that the query names, else the active one, else the newest.
func (c *console) draft(v *visit) error { return c.showDraft(v, draftForm) }

// draftText shows the same as text.
func (c *console) draftText(v *visit) error { return c.showDraft(v, draftTextForm) }

func (c *console) showDraft(v *visit, show func(*visit, models.Action, models.PolicyVersion) (form, error)) error {
	f, _, err := c.draftOf(v, show)
	if err != nil {
		return err
	}
	return v.showForm(fiber.StatusOK, f)
}

func (c *console) draftOf(v *visit, show func(*visit, models.Action, models.PolicyVersion) (form, error)) (form, models.Action, error) {
	a, err := c.Actions.Get(v.ctx, v.scope(), v.param("action"))
	if err != nil {
		return form{}, a, err
	}
	from, err := c.origin(v, a)
	if err != nil {
		return form{}, a, err
	}
	f, err := show(v, a, from)
	return f, a, err
}

// origin returns the version that a draft starts from. An action without versions starts from its own settings.
func (c *console) origin(v *visit, a models.Action) (models.PolicyVersion, error) {
	versions, _, err := c.Actions.Versions(v.ctx, v.scope(), a.ID, pg.Page{Limit: listPage})
	if err != nil {
		return models.PolicyVersion{}, err
	}
	wanted := v.query("from")
	for _, p := range versions {
		if itoa(p.Version) == wanted || wanted == "" && p.Status == models.PolicyActive {
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

func (c *console) createDraft(v *visit) error { return c.makeDraft(v, draftForm) }

func (c *console) createDraftText(v *visit) error { return c.makeDraft(v, draftTextForm) }

// makeDraft creates the draft and shows its difference to the active version and its simulation.
func (c *console) makeDraft(v *visit, show func(*visit, models.Action, models.PolicyVersion) (form, error)) error {
	f, a, err := c.draftOf(v, show)
	if err != nil {
		return err
	}
	if v.form("more") != "" { // another empty rule, and nothing is made yet
		f.read(v)
		return v.showForm(fiber.StatusOK, f)
	}
	return submitted(v, f, func(in action.CreateVersion) error {
		in.KeepRead = v.form(keepRead) == "true"
		p, err := c.Actions.CreateVersion(v.ctx, v.principal(), a.ID, in)
		if err != nil {
			return err
		}
		return v.Redirect(v.at("policies", a.ID, itoa(p.Version))+"?last="+itoa(defaultLast), fiber.StatusSeeOther)
	})
}
