package console

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

type endpointRow struct {
	models.WebhookEndpoint
	Address string // URL of the endpoint's page in the console
	Status  tag
	Failing *stamp
	Created stamp
	Waiting int64
	Oldest  *stamp
}

func (c *console) endpointRow(v *visit, e models.WebhookEndpoint, waiting map[string]consolequery.EndpointBacklog) endpointRow {
	now := stamps{c.Clock.Now()}
	row := endpointRow{WebhookEndpoint: e, Address: v.at("webhooks", e.ID), Status: tagOf(e.Status), Failing: now.maybe(e.FailingSince), Created: now.at(e.CreatedAt)}
	if e.Status == webhook.Enabled && e.FailingSince != nil {
		row.Status = tag{"failing", "bad"}
	}
	if w, ok := waiting[e.ID]; ok {
		row.Waiting, row.Oldest = w.Waiting, now.maybe(&w.Oldest)
	}
	return row
}

func (c *console) webhooks(v *visit) error {
	rows, _, err := c.Endpoints.List(v.ctx, v.principal(), pg.Page{Limit: listPage})
	if err != nil {
		return err
	}
	waiting, err := c.Reader.EndpointBacklogs(v.ctx, v.scope())
	if err != nil {
		return err
	}
	view := struct {
		Rows   []endpointRow
		New    string // URL; empty without the right
		Export exportLinks
	}{Export: v.exports(nil, "webhooks")}
	if v.may(ChangeWebhooks) {
		view.New = v.at("webhooks", "new")
	}
	for _, e := range rows {
		view.Rows = append(view.Rows, c.endpointRow(v, e, waiting))
	}
	return v.page(fiber.StatusOK, "webhooks.html", "Webhooks", "webhooks", view)
}

type attemptRow struct {
	webhook.AttemptRow
	When    stamp
	Result  tag
	NextTry *stamp
}

type endpointView struct {
	Endpoint endpointRow
	Attempts []attemptRow
	Next     string
	Filters  []item
	Change   bool
	Edit     string // URL
	Asks     []ask
	Notice   *notice
	Export   exportLinks
}

func (c *console) webhook(v *visit) error { return c.showWebhook(v, nil) }

func (c *console) showWebhook(v *visit, n *notice) error {
	e, err := c.Endpoints.Get(v.ctx, v.principal(), v.param("id"))
	if err != nil {
		return err
	}
	waiting, err := c.Reader.EndpointBacklogs(v.ctx, v.scope())
	if err != nil {
		return err
	}
	status := v.query("status")
	view := endpointView{Endpoint: c.endpointRow(v, e, waiting), Change: v.may(ChangeWebhooks), Notice: n, Edit: v.at("webhooks", e.ID, "edit"), Asks: v.endpointAsks(e),
		Export: v.exports(nonEmpty(map[string]string{"status": status}), "webhooks", e.ID)}
	if n == nil && v.query("done") == "saved" {
		view.Notice = &notice{"good", "The endpoint is saved."}
	}
	if replayed := v.query("replayed"); n == nil && replayed != "" {
		if count, err := strconv.Atoi(replayed); err == nil {
			view.Notice = &notice{"good", itoa(count) + " deliveries were scheduled again."}
		}
	}
	for _, s := range append([]string{""}, attemptStatuses...) {
		label, at := s, v.at("webhooks", e.ID)+"?status="+s
		if s == "" {
			label, at = "all", v.at("webhooks", e.ID)
		}
		view.Filters = append(view.Filters, item{Label: label, URL: at, Current: s == status})
	}
	rows, next, err := c.Endpoints.Attempts(v.ctx, v.principal(), e.ID, webhook.AttemptFilter{Status: status}, pg.Page{Limit: 50, After: v.query("cursor")})
	if err != nil {
		return cursorFault(err)
	}
	now := stamps{c.Clock.Now()}
	for _, a := range rows {
		view.Attempts = append(view.Attempts, attemptRow{AttemptRow: a, When: now.at(a.At), Result: tagOf(a.Status), NextTry: now.maybe(a.NextAttemptAt)})
	}
	if next != "" {
		view.Next = v.at("webhooks", e.ID) + "?status=" + status + "&cursor=" + next
	}
	return v.page(fiber.StatusOK, "webhook.html", "Webhook endpoint", "webhooks", view)
}

func (c *console) testWebhook(v *visit) error {
	done, err := c.Endpoints.Test(v.ctx, v.principal(), v.param("id"))
	if err != nil {
		return err
	}
	n := &notice{"good", "The endpoint returned " + itoa(done.StatusCode) + " to the test after " + itoa(int(done.Latency/time.Millisecond)) + " ms."}
	if !done.Succeeded {
		n = &notice{"bad", "The test failed: " + plain(done.Error) + "."}
	}
	return c.showWebhook(v, n)
}

func (c *console) replayWebhook(v *visit) error {
	status := v.form("status")
	if status != "failed" && status != "all" && status != "succeeded" {
		return problem.New(problem.BadRequest, "status must be failed, succeeded or all.")
	}
	r := webhook.Replay{Status: status}
	var fault string
	if r.Since, r.Until, fault = window(v.form("since"), v.form("until")); fault != "" {
		return problem.New(problem.BadRequest, fault)
	}
	n, err := c.Endpoints.Replay(v.ctx, v.principal(), v.param("id"), r)
	if err != nil {
		return err
	}
	return v.Redirect(v.at("webhooks", v.param("id"))+"?replayed="+strconv.FormatInt(n, 10), fiber.StatusSeeOther)
}

func (c *console) enableWebhook(v *visit) error {
	if _, err := c.Endpoints.Enable(v.ctx, v.principal(), v.param("id")); err != nil {
		return err
	}
	return v.back("webhooks", v.param("id"))
}

func (c *console) disableWebhook(v *visit) error {
	status := webhook.Disabled
	if _, err := c.Endpoints.Update(v.ctx, v.principal(), v.param("id"), change.Endpoint{Status: &status}); err != nil {
		return err
	}
	return v.back("webhooks", v.param("id"))
}
