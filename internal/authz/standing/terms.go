package standing

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/models"
)

// Terms are the values of a standing approval that are stored sealed.
type Terms struct {
	Resource string `json:"resource,omitempty"` // the id of the one resource; empty for a pattern
	Prefix   string `json:"prefix,omitempty"`
	Any      bool   `json:"any,omitempty"`
	Agent    string `json:"agent,omitempty"` // empty for any
}

// Cover reports whether they allow a request by an agent on the resource with an id.
func (t Terms) Cover(resource, agent string) bool {
	on := policy.StandingResource{Any: t.Any, Prefix: t.Prefix}
	return on.Covers(t.Resource, resource) && (t.Agent == "" || t.Agent == agent)
}

func (t Terms) pattern() string {
	switch {
	case t.Any:
		return "any"
	case t.Prefix != "":
		return "prefix"
	}
	return "same"
}

// sealPurpose names the key that seals terms.
const sealPurpose = "standing-approval"

// Vault seals and opens terms. A sealed form opens only for the standing approval that it was sealed for.
type Vault struct{ keys *keyring.Keyring }

// NewVault returns a vault over the installation's keys.
func NewVault(keys *keyring.Keyring) Vault { return Vault{keys} }

// Seal seals the terms of the standing approval with an id.
func (v Vault) Seal(id string, t Terms) ([]byte, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return v.keys.Seal(sealPurpose, raw, []byte(id))
}

// Open returns the terms of a standing approval.
func (v Vault) Open(r models.StandingApproval) (t Terms, err error) {
	raw, err := v.keys.Open(sealPurpose, r.Terms, []byte(r.ID))
	if err != nil {
		return t, fmt.Errorf("terms of %s: %w", r.ID, err)
	}
	return t, json.Unmarshal(raw, &t)
}

// Allowance is everything that the person who approves reads, in one sentence.
type Allowance struct {
	Action       string `json:"action"` // its name
	ResourceType string `json:"resource_type"`
	Terms
	Audience string `json:"audience"`
	MaxUses  int    `json:"max_uses"`
	Amount   string `json:"amount,omitempty"`
	Currency string `json:"currency,omitempty"`
	EndsAt   string `json:"ends_at"`
}

// AllowanceOf returns what a standing approval of an action with this name allows.
func AllowanceOf(r models.StandingApproval, action string, t Terms) Allowance {
	a := Allowance{Action: action, ResourceType: r.ResourceType, Terms: t, Audience: r.Audience, MaxUses: r.MaxUses, Currency: r.Currency, EndsAt: apitime.Time(r.EndsAt)}
	if r.MaxAmount != nil {
		a.Amount = *r.MaxAmount
	}
	return a
}

// Language is a language of the sentence.
type Language string

// The languages.
const (
	English Language = "en"
	German  Language = "de"
)

// LanguageOf returns the language of a tag such as de, or English if the sentence is not written in it.
func LanguageOf(tag string) Language {
	if _, ok := words[Language(tag)]; ok {
		return Language(tag)
	}
	return English
}

// words are the parts of the sentence in a language, with what each says in braces.
var words = map[Language]struct{ same, prefix, any, uses, once, amount, agent, anyone, time string }{
	English: {
		same: ` on the %s “%s”`, prefix: ` on any %s whose id begins with “%s”`, any: ` on any %s`, uses: `up to %d times`, once: `once`, amount: `, for at most %s in total`,
		agent: `, when the agent “%s” asks`, anyone: ``, time: "2 January 2006, 15:04 UTC",
	},
	German: {
		same: ` für %s „%s“`, prefix: ` für jedes Objekt der Art %s, dessen Kennung mit „%s“ beginnt,`, any: ` für jedes Objekt der Art %s`, uses: `bis zu %d-mal`, once: `einmal`,
		amount: `, für insgesamt höchstens %s`, agent: `, wenn der Agent „%s“ anfragt`, anyone: ``, time: "02.01.2006, 15:04 UTC",
	},
}

// Sentence says in one sentence what is allowed.
func (a Allowance) Sentence(l Language) string {
	w := words[l]
	var on string
	switch {
	case a.Any:
		on = fmt.Sprintf(w.any, a.ResourceType)
	case a.Prefix != "":
		on = fmt.Sprintf(w.prefix, a.ResourceType, displaytext.Readable(a.Prefix))
	default:
		on = fmt.Sprintf(w.same, a.ResourceType, displaytext.Readable(a.Resource))
	}
	times := w.once
	if a.MaxUses > 1 {
		times = fmt.Sprintf(w.uses, a.MaxUses)
	}
	limits := w.anyone
	if a.Agent != "" {
		limits = fmt.Sprintf(w.agent, displaytext.Readable(a.Agent))
	}
	if a.Amount != "" {
		sum := a.Amount
		if a.Currency != "" {
			sum += " " + a.Currency
		}
		limits = fmt.Sprintf(w.amount, sum) + limits
	}
	until := a.EndsAt
	if t, err := time.Parse(time.RFC3339, a.EndsAt); err == nil {
		until = t.UTC().Format(w.time)
	}
	if l == German {
		return fmt.Sprintf("„%s“%s ist für %s bis %s %s erlaubt%s, ohne erneute Bestätigung.", a.Action, on, a.Audience, until, times, limits)
	}
	return fmt.Sprintf("“%s”%s is allowed for %s until %s, %s%s, without asking again.", a.Action, on, a.Audience, until, times, limits)
}

// Detail is the line that the person who approves is shown and signs.
func (a Allowance) Detail() (display.Detail, error) {
	form, err := canonical.JSON(a)
	return display.Detail{
		Label: "Standing approval", Labels: map[string]string{"de": "Dauerfreigabe"}, Value: a.Sentence(English), Format: display.Standing, Canonical: string(form), Title: true,
	}, err
}

// AllowanceIn returns what a shown line says is allowed; false for another line.
func AllowanceIn(d display.Detail) (a Allowance, ok bool) {
	if d.Format != display.Standing || json.Unmarshal([]byte(d.Canonical), &a) != nil {
		return a, false
	}
	return a, strings.TrimSpace(a.EndsAt) != ""
}
