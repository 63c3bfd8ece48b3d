package webhooks

import (
	"context"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/exports"
	"github.com/countersign-dev/countersign/web/console/forms"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

func (c *Pages) webhooksExport(v *shell.Visit) (listexport.List, error) {
	by := v.Principal()
	return listexport.List{
		Name:    "webhooks",
		Columns: []string{"id", "url", "description", "status", "events", "failing_since", "disabled_reason", "disabled_at", "created_at"},
		Source: exports.Paged(func(ctx context.Context, p pg.Page) ([]models.WebhookEndpoint, string, error) {
			return c.Endpoints.List(ctx, by, p)
		},
			func(e models.WebhookEndpoint) []any {
				return []any{e.ID, e.URL, e.Description, e.Status, []string(e.Events), e.FailingSince, e.DisabledReason, e.DisabledAt, e.CreatedAt}
			}),
	}, nil
}

// attemptStatuses filter the attempts of an endpoint.
var attemptStatuses = []string{"pending", "succeeded", "failed"}

func (c *Pages) attemptsExport(v *shell.Visit) (listexport.List, error) {
	by, id, status := v.Principal(), v.Param("id"), v.Query("status")
	if _, err := c.Endpoints.Get(v.Context, by, id); err != nil {
		return listexport.List{}, err
	}
	said := exports.Said{"endpoint=" + id}
	said.Value("status", status, attemptStatuses...)
	return listexport.List{
		Name: "attempts", Filters: said,
		Columns: []string{"id", "at", "event", "type", "attempt", "status", "attempted", "status_code", "latency_ms", "response_digest", "error", "next_attempt_at"},
		Source: exports.Paged(func(ctx context.Context, p pg.Page) ([]webhook.AttemptRow, string, error) {
			return c.Endpoints.Attempts(ctx, by, id, webhook.AttemptFilter{Status: status}, p)
		}, func(a webhook.AttemptRow) []any {
			return []any{a.ID, a.At, a.EventID, a.Type, a.Attempt, a.Status, a.Attempted, a.StatusCode, a.LatencyMS, a.ResponseDigest, a.Error, a.NextAttemptAt}
		}),
	}, nil
}

type endpointRow struct {
	models.WebhookEndpoint
	Address string // URL of the endpoint's page in the console
	Status  show.Tag
	Failing *show.Stamp
	Created show.Stamp
	Waiting int64
	Oldest  *show.Stamp
}

func (c *Pages) endpointRow(v *shell.Visit, e models.WebhookEndpoint, waiting map[string]consolequery.EndpointBacklog) endpointRow {
	now := show.Stamps{Now: c.Clock.Now()}
	row := endpointRow{WebhookEndpoint: e, Address: v.At("webhooks", e.ID), Status: show.TagOf(e.Status), Failing: now.Maybe(e.FailingSince), Created: now.At(e.CreatedAt)}
	if e.Status == webhook.Enabled && e.FailingSince != nil {
		row.Status = show.Tag{Text: "failing", Tone: "bad"}
	}
	if w, ok := waiting[e.ID]; ok {
		row.Waiting, row.Oldest = w.Waiting, now.Maybe(&w.Oldest)
	}
	return row
}

func (c *Pages) webhooks(v *shell.Visit) error {
	rows, paged, err := shell.List(v, "webhooks", shell.ManageWebhooks, func(p pg.Page) ([]models.WebhookEndpoint, string, error) {
		return c.Endpoints.List(v.Context, v.Principal(), p)
	})
	if err != nil {
		return err
	}
	waiting, err := c.Reader.EndpointBacklogs(v.Context, v.Scope())
	if err != nil {
		return err
	}
	view := struct {
		shell.Paged
		Rows   []endpointRow
		Export exports.Links
	}{Paged: paged, Export: exports.Of(v, nil, "webhooks")}
	for _, e := range rows {
		view.Rows = append(view.Rows, c.endpointRow(v, e, waiting))
	}
	return v.Page(fiber.StatusOK, "webhooks.html", "Webhooks", "webhooks", view)
}

type attemptRow struct {
	webhook.AttemptRow
	When    show.Stamp
	Result  show.Tag
	NextTry *show.Stamp
}

type endpointView struct {
	Endpoint endpointRow
	Attempts []attemptRow
	Next     string
	Filters  []show.Item
	Change   bool
	Edit     string // URL
	Asks     []forms.Ask
	Notice   *show.Notice
	Export   exports.Links
}

func (c *Pages) webhook(v *shell.Visit) error { return c.showWebhook(v, nil) }

func (c *Pages) showWebhook(v *shell.Visit, n *show.Notice) error {
	e, err := c.Endpoints.Get(v.Context, v.Principal(), v.Param("id"))
	if err != nil {
		return err
	}
	waiting, err := c.Reader.EndpointBacklogs(v.Context, v.Scope())
	if err != nil {
		return err
	}
	status := v.Query("status")
	view := endpointView{Endpoint: c.endpointRow(v, e, waiting), Change: v.May(shell.ManageWebhooks), Notice: n, Edit: v.At("webhooks", e.ID, "edit"), Asks: endpointAsks(v, e),
		Export: exports.Of(v, shell.NonEmpty(map[string]string{"status": status}), "webhooks", e.ID)}
	if n == nil && v.Query("done") == "saved" {
		view.Notice = &show.Notice{Tone: "good", Text: "The endpoint is saved."}
	}
	if replayed := v.Query("replayed"); n == nil && replayed != "" {
		if count, err := strconv.Atoi(replayed); err == nil {
			view.Notice = &show.Notice{Tone: "good", Text: strconv.Itoa(count) + " deliveries were scheduled again."}
		}
	}
	for _, s := range append([]string{""}, attemptStatuses...) {
		label, at := s, v.At("webhooks", e.ID)+"?status="+s
		if s == "" {
			label, at = "all", v.At("webhooks", e.ID)
		}
		view.Filters = append(view.Filters, show.Item{Label: label, URL: at, Current: s == status})
	}
	rows, next, err := c.Endpoints.Attempts(v.Context, v.Principal(), e.ID, webhook.AttemptFilter{Status: status}, pg.Page{Limit: 50, After: v.Query("cursor")})
	if err != nil {
		return shell.CursorFault(err)
	}
	now := show.Stamps{Now: c.Clock.Now()}
	for _, a := range rows {
		view.Attempts = append(view.Attempts, attemptRow{AttemptRow: a, When: now.At(a.At), Result: show.TagOf(a.Status), NextTry: now.Maybe(a.NextAttemptAt)})
	}
	if next != "" {
		view.Next = v.At("webhooks", e.ID) + "?status=" + status + "&cursor=" + next
	}
	return v.Page(fiber.StatusOK, "webhook.html", "Webhook endpoint", "webhooks", view)
}

func (c *Pages) testWebhook(v *shell.Visit) error {
	done, err := c.Endpoints.Test(v.Context, v.Principal(), v.Param("id"))
	if err != nil {
		return err
	}
	n := &show.Notice{Tone: "good", Text: "The endpoint returned " + strconv.Itoa(done.StatusCode) + " to the test after " + strconv.Itoa(int(done.Latency/time.Millisecond)) + " ms."}
	if !done.Succeeded {
		n = &show.Notice{Tone: "bad", Text: "The test failed: " + show.Plain(done.Error) + "."}
	}
	return c.showWebhook(v, n)
}

func (c *Pages) replayWebhook(v *shell.Visit) error {
	status := v.Form("status")
	if status != "failed" && status != "all" && status != "succeeded" {
		return problem.New(problem.BadRequest, "status must be failed, succeeded or all.")
	}
	r := webhook.Replay{Status: status}
	var fault string
	if r.Since, r.Until, fault = forms.Window(v.Form("since"), v.Form("until")); fault != "" {
		return problem.New(problem.BadRequest, fault)
	}
	n, err := c.Endpoints.Replay(v.Context, v.Principal(), v.Param("id"), r)
	if err != nil {
		return err
	}
	return v.Redirect(v.At("webhooks", v.Param("id"))+"?replayed="+strconv.FormatInt(n, 10), fiber.StatusSeeOther)
}

func (c *Pages) enableWebhook(v *shell.Visit) error {
	if _, err := c.Endpoints.Enable(v.Context, v.Principal(), v.Param("id")); err != nil {
		return err
	}
	return v.Back("webhooks", v.Param("id"))
}

func (c *Pages) disableWebhook(v *shell.Visit) error {
	status := webhook.Disabled
	if _, err := c.Endpoints.Update(v.Context, v.Principal(), v.Param("id"), change.Endpoint{Status: &status}); err != nil {
		return err
	}
	return v.Back("webhooks", v.Param("id"))
}
