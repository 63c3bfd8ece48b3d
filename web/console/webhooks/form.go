package webhooks

import (
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

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

func endpointForm(v *shell.Visit, e models.WebhookEndpoint) forms.Form {
	return forms.Form{
		Section: "webhooks", Submit: "Create the endpoint", Confirmed: true, Operation: "createWebhookEndpoint",
		Heading: "New webhook endpoint", To: v.At("webhooks", "new"), Back: show.Item{Label: "Webhooks", URL: v.At("webhooks")},
		Intro: "The service posts signed events to the URL. The signing secret is shown once, on the next page.",
		Fields: []forms.Field{
			{Name: "url", Label: "URL", Kind: forms.OneLine, Value: e.URL, Required: true, Hint: "https, and reachable from the internet."},
			{Name: "events", Label: "Events", Kind: forms.Lines, Rows: 4, Value: strings.Join(e.Events, "\n"), Sent: true,
				Hint: "One type on each line, such as hold.* or authorization.decided; none for all."},
			{Name: "description", Label: "Description", Kind: forms.OneLine, Value: e.Description, Sent: true, Hint: "Shown in the console only."},
			{Name: "include_details", Label: "Events of holds contain the displayed details, which may be personal data", Kind: forms.YesNo, Value: strconv.FormatBool(e.IncludeDetails)},
		},
	}
}

func (c *Pages) newWebhook(v *shell.Visit) error {
	return forms.Show(v, fiber.StatusOK, endpointForm(v, models.WebhookEndpoint{}))
}

func (c *Pages) createWebhook(v *shell.Visit) error {
	return forms.Submitted(v, endpointForm(v, models.WebhookEndpoint{}), func(in endpointBody) error {
		made, err := c.Changes.CreateEndpoint(v.Context, v.Principal(), in.settings())
		switch {
		case err != nil:
			return err
		case made.Requested != nil:
			return v.Back("changes", made.Requested.ID)
		}
		return showEndpointSecret(v, made.Applied.WebhookEndpoint, "The endpoint is created", made.Applied.Secret)
	})
}

func showEndpointSecret(v *shell.Visit, e models.WebhookEndpoint, heading, secret string) error {
	return forms.ShowSecret(v, "webhooks", forms.Secret{
		Heading: heading, Label: "Signing secret", Text: secret, Onward: show.Item{Label: "Open the endpoint", URL: v.At("webhooks", e.ID)},
		Warning: "The secret is shown this once. Store it where your receiver verifies signatures.",
	})
}

// editEndpointForm is the form of an existing endpoint.
func editEndpointForm(v *shell.Visit, e models.WebhookEndpoint) forms.Form {
	f := endpointForm(v, e)
	f.Operation, f.Heading, f.Intro, f.Submit = "updateWebhookEndpoint", "Edit the webhook endpoint", "", "Save"
	f.Omits = []string{"status"} // has buttons of its own
	f.To, f.Back = v.At("webhooks", e.ID, "edit"), show.Item{Label: e.URL, URL: v.At("webhooks", e.ID)}
	return f
}

func (c *Pages) editWebhook(v *shell.Visit) error {
	e, err := c.Endpoints.Get(v.Context, v.Principal(), v.Param("id"))
	if err != nil {
		return err
	}
	return forms.Show(v, fiber.StatusOK, editEndpointForm(v, e))
}

func (c *Pages) updateWebhook(v *shell.Visit) error {
	e, err := c.Endpoints.Get(v.Context, v.Principal(), v.Param("id"))
	if err != nil {
		return err
	}
	return forms.Submitted(v, editEndpointForm(v, e), func(in endpointBody) error {
		made, err := c.Changes.UpdateEndpoint(v.Context, v.Principal(), e.ID, in.settings())
		switch {
		case err != nil:
			return err
		case made.Requested != nil:
			return v.Back("changes", made.Requested.ID)
		}
		return v.Redirect(v.At("webhooks", e.ID)+"?done=saved", fiber.StatusSeeOther)
	})
}

func (c *Pages) rotateWebhook(v *shell.Visit) error {
	if err := v.Sure(); err != nil {
		return err
	}
	overlap, err := forms.Overlap(v)
	if err != nil {
		return err
	}
	e, secret, err := c.Endpoints.Rotate(v.Context, v.Principal(), v.Param("id"), overlap)
	if err != nil {
		return err
	}
	return showEndpointSecret(v, e, "The secret is rotated", secret)
}

func (c *Pages) deleteWebhook(v *shell.Visit) error {
	if err := v.Sure(); err != nil {
		return err
	}
	if err := c.Endpoints.Delete(v.Context, v.Principal(), v.Param("id")); err != nil {
		return err
	}
	return v.Back("webhooks")
}

// endpointAsks are the changes of an endpoint that are asked about first.
func endpointAsks(v *shell.Visit, e models.WebhookEndpoint) []forms.Ask {
	return []forms.Ask{
		{ID: "rotate", Label: "Rotate the secret", To: v.At("webhooks", e.ID, "rotate"), Verb: "rotate it", Overlap: true,
			Text: "The endpoint gets a new signing secret, which is shown once. Until the overlap ends, requests carry a signature with each of the two."},
		{ID: "delete", Label: "Delete", To: v.At("webhooks", e.ID, "delete"), Verb: "delete it", Danger: true,
			Text: "Its pending deliveries are discarded and its attempts are no longer shown. This cannot be undone."},
	}
}
