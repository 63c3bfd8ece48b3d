package console

import (
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// ask is a change that is made after one more question.
type ask struct {
	ID, Label, To, Text, Verb string
	Danger                    bool
	Overlap                   bool     // asks how long the previous secret stays valid
	Give                      []option // keys that may be given those that rest on a revoked one; empty asks for none
}

// secretView shows a secret once.
type secretView struct {
	Heading, Label, Warning, Secret string
	Until                           *stamp // end of its validity; nil for none
	Onward                          item
}

// showSecret renders a page with a secret. The page is not stored by the browser: a reload does not show it again.
func (v *visit) showSecret(section string, view secretView) error {
	v.Set(fiber.HeaderCacheControl, "no-store")
	return v.page(fiber.StatusOK, "secret.html", view.Heading, section, view)
}

// endpointBody is the body of createWebhookEndpoint and updateWebhookEndpoint.
type endpointBody struct {
	URL         string   `json:"url"`
	Events      []string `json:"events"`
	Description string   `json:"description"`
	Details     bool     `json:"include_details"`
}

func (b endpointBody) settings() change.Endpoint {
	return change.Endpoint{URL: &b.URL, Events: &b.Events, Description: &b.Description, IncludeDetails: &b.Details}
}

func (v *visit) endpointForm(e models.WebhookEndpoint) form {
	return form{
		Section: "webhooks", Submit: "Create the endpoint", Confirmed: true, Operation: "createWebhookEndpoint",
		Heading: "New webhook endpoint", To: v.at("webhooks", "new"), Back: item{Label: "Webhooks", URL: v.at("webhooks")},
		Intro: "The service posts signed events to the URL. The signing secret is shown once, on the next page.",
		Fields: []field{
			{Name: "url", Label: "URL", Kind: oneLine, Value: e.URL, Required: true, Hint: "https, and reachable from the internet."},
			{Name: "events", Label: "Events", Kind: lines, Rows: 4, Value: strings.Join(e.Events, "\n"), Sent: true,
				Hint: "One type on each line, such as hold.* or authorization.decided; none for all."},
			{Name: "description", Label: "Description", Kind: oneLine, Value: e.Description, Sent: true, Hint: "Shown in the console only."},
			{Name: "include_details", Label: "Events of holds contain the displayed details, which may be personal data", Kind: yesNo, Value: strconv.FormatBool(e.IncludeDetails)},
		},
	}
}

func (c *console) newWebhook(v *visit) error {
	return v.showForm(fiber.StatusOK, v.endpointForm(models.WebhookEndpoint{}))
}

func (c *console) createWebhook(v *visit) error {
	return submitted(v, v.endpointForm(models.WebhookEndpoint{}), func(in endpointBody) error {
		made, err := c.Changes.CreateEndpoint(v.ctx, v.principal(), in.settings())
		switch {
		case err != nil:
			return err
		case made.Requested != nil:
			return v.back("changes", made.Requested.ID)
		}
		return v.showEndpointSecret(made.Applied.WebhookEndpoint, "The endpoint is created", made.Applied.Secret)
	})
}

func (v *visit) showEndpointSecret(e models.WebhookEndpoint, heading, secret string) error {
	return v.showSecret("webhooks", secretView{
		Heading: heading, Label: "Signing secret", Secret: secret, Onward: item{Label: "Open the endpoint", URL: v.at("webhooks", e.ID)},
		Warning: "The secret is shown this once. Store it where your receiver verifies signatures.",
	})
}

// editEndpointForm is the form of an existing endpoint.
func (v *visit) editEndpointForm(e models.WebhookEndpoint) form {
	f := v.endpointForm(e)
	f.Operation, f.Heading, f.Intro, f.Submit = "updateWebhookEndpoint", "Edit the webhook endpoint", "", "Save"
	f.To, f.Back = v.at("webhooks", e.ID, "edit"), item{Label: e.URL, URL: v.at("webhooks", e.ID)}
	return f
}

func (c *console) editWebhook(v *visit) error {
	e, err := c.Endpoints.Get(v.ctx, v.principal(), v.param("id"))
	if err != nil {
		return err
	}
	return v.showForm(fiber.StatusOK, v.editEndpointForm(e))
}

func (c *console) updateWebhook(v *visit) error {
	e, err := c.Endpoints.Get(v.ctx, v.principal(), v.param("id"))
	if err != nil {
		return err
	}
	return submitted(v, v.editEndpointForm(e), func(in endpointBody) error {
		made, err := c.Changes.UpdateEndpoint(v.ctx, v.principal(), e.ID, in.settings())
		switch {
		case err != nil:
			return err
		case made.Requested != nil:
			return v.back("changes", made.Requested.ID)
		}
		return v.Redirect(v.at("webhooks", e.ID)+"?done=saved", fiber.StatusSeeOther)
	})
}

// mostOverlap is the longest overlap that the contract allows, in hours.
const mostOverlap = 168

// overlap returns how long the previous secret or key stays valid after a rotation.
func (v *visit) overlap() (time.Duration, error) {
	n, err := strconv.Atoi(strings.TrimSpace(v.form("overlap_hours")))
	if err != nil || n < 0 || n > mostOverlap {
		return 0, problem.Newf(problem.BadRequest, "overlap_hours must be a whole number from 0 to %d.", mostOverlap)
	}
	return time.Duration(n) * time.Hour, nil
}

func (c *console) rotateWebhook(v *visit) error {
	if err := v.sure(); err != nil {
		return err
	}
	overlap, err := v.overlap()
	if err != nil {
		return err
	}
	e, secret, err := c.Endpoints.Rotate(v.ctx, v.principal(), v.param("id"), overlap)
	if err != nil {
		return err
	}
	return v.showEndpointSecret(e, "The secret is rotated", secret)
}

func (c *console) deleteWebhook(v *visit) error {
	if err := v.sure(); err != nil {
		return err
	}
	if err := c.Endpoints.Delete(v.ctx, v.principal(), v.param("id")); err != nil {
		return err
	}
	return v.back("webhooks")
}

// endpointAsks are the changes of an endpoint that are asked about first.
func (v *visit) endpointAsks(e models.WebhookEndpoint) []ask {
	return []ask{
		{ID: "rotate", Label: "Rotate the secret", To: v.at("webhooks", e.ID, "rotate"), Verb: "rotate it", Overlap: true,
			Text: "The endpoint gets a new signing secret, which is shown once. Until the overlap ends, requests carry a signature with each of the two."},
		{ID: "delete", Label: "Delete", To: v.at("webhooks", e.ID, "delete"), Verb: "delete it", Danger: true,
			Text: "Its pending deliveries are discarded and its attempts are no longer shown. This cannot be undone."},
	}
}
