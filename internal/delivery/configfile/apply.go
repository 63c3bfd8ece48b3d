package configfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// ErrWaits reports that everything was made but changes that wait for a second approver.
var ErrWaits = errors.New("changes wait for a second approver; apply the file again once they are approved")

// maker makes changes and reports each.
type maker struct {
	api     *countersign.Client
	out     io.Writer
	secrets io.Writer
	reason  string
	waits   bool
	waiting []string // ids of the change requests
	missing []string // keys of the teams whose creation waits
}

// Apply makes the planned changes in their order and reports each to out. It ends with the first failure: the changes before it
// are made, and applying the file again makes the rest. Secrets receives the signing secrets of new webhook endpoints.
func (p *Plan) Apply(ctx context.Context, out, secrets io.Writer) error {
	m := &maker{api: p.api, out: out, secrets: secrets, reason: p.Reason}
	for _, c := range p.Changes {
		if err := c.make(ctx, m); err != nil {
			return fmt.Errorf("%s: %w", c.Entry, err)
		}
	}
	if m.waits {
		return cmp.Or(p.explain(ctx, m.waiting), ErrWaits)
	}
	return nil
}

// explain gives the change requests the reason of the plan. Those that another principal requested before keep theirs.
func (p *Plan) explain(ctx context.Context, waiting []string) error {
	if p.Reason == "" {
		return nil
	}
	for _, id := range waiting {
		_, err := p.api.ExplainChange(ctx, id, countersign.ChangeReason{Reason: p.Reason})
		var refused *countersign.Error
		if err != nil && (!errors.As(err, &refused) || refused.Code != "forbidden") {
			return fmt.Errorf("the reason of %s: %w", id, err)
		}
	}
	return nil
}

// done reports a change that was made, or that waits for a second approver, which is no failure.
func (m *maker) done(entry, what string, err error) error {
	var waiting *countersign.ApprovalRequiredError
	switch {
	case errors.As(err, &waiting):
		m.waits, m.waiting = true, append(m.waiting, waiting.Change.ID)
		_, _ = fmt.Fprintf(m.out, "%s: waits for a second approver: %s, until %s\n", entry, waiting.Change.ID, waiting.Change.ExpiresAt.UTC().Format(time.RFC3339))
		return nil
	case err != nil:
		return err
	}
	_, _ = fmt.Fprintf(m.out, "%s: %s\n", entry, what)
	return nil
}

// action makes a change of an action: its policy before its mode, so that no mode takes effect with the wrong policy. The mode is
// not requested while the policy waits: the approval of one would supersede the request for the other.
func (m *maker) action(ctx context.Context, entry string, c actionChange) error {
	if c.texts {
		_, err := m.api.UpdateAction(ctx, c.id, countersign.ActionUpdate{Name: c.after.Name, Consequence: c.after.Consequence, Labels: c.after.Labels})
		if err := m.done(entry, "name and consequence changed", err); err != nil {
			return err
		}
	}
	if c.policy && named(c.after.Requirements, m.missing) {
		m.waits = true
		_, _ = fmt.Fprintf(m.out, "%s: its policy waits for a team that it requires\n", entry)
		return nil
	}
	if c.policy {
		version, err := c.draft(ctx, m.api, m.reason)
		if err != nil {
			return err
		}
		_, err = m.api.ActivatePolicyVersion(ctx, c.id, version)
		waited := errors.As(err, new(*countersign.ApprovalRequiredError))
		if err := m.done(entry, fmt.Sprintf("policy version %d is active", version), err); err != nil {
			return err
		}
		if waited {
			return nil
		}
	}
	if c.after.Mode == "" || c.after.Mode == c.mode {
		return nil
	}
	_, err := m.api.UpdateAction(ctx, c.id, countersign.ActionUpdate{Mode: c.after.Mode})
	return m.done(entry, "mode "+c.after.Mode, err)
}

func (m *maker) addEndpoint(ctx context.Context, entry string, w countersign.WebhookEndpointUpdate) error {
	body, err := convert[countersign.WebhookEndpointCreate](w)
	if err != nil {
		return err
	}
	made, err := m.api.CreateWebhookEndpoint(ctx, body)
	if err != nil {
		return m.done(entry, "", err)
	}
	if _, err := fmt.Fprintf(m.secrets, "%s %s\n", w.URL, made.Secret); err != nil {
		return fmt.Errorf("the endpoint is created, and its signing secret was not written: %w; rotate it", err)
	}
	if err := m.done(entry, "created; its signing secret is in the file of --secrets", nil); err != nil || w.Status == "" || w.Status == made.Status {
		return err
	}
	_, err = m.api.UpdateWebhookEndpoint(ctx, made.ID, countersign.WebhookEndpointUpdate{Status: w.Status})
	return m.done(entry, w.Status, err)
}
