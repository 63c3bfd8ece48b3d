package tenancy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Settings is a change of settings by their names in the API: those of models.DeclaredSettings, brand (Brand), passkeys (Passkeys) and
// holidays_file. One that is absent is left unchanged. The RP ID is not a setting: passkeys are bound to it, and a change would invalidate all of them.
type Settings map[string]any

// quota is a change of the environment's quotas.
type quota struct{ set func(env *models.Environment) }

// change is a group of settings that are changed, stored and recorded together.
type change interface {
	// apply validates the change and makes it in env.
	apply(env *models.Environment) error
	// save stores the group's settings of env.
	save(ctx context.Context, q *pg.Q, env models.Environment) error
	// recorded returns the settings of the group after the change, for the audit log.
	recorded(env models.Environment) events.Data
}

// Environment returns the environment of the scope with its settings.
func (s *Service) Environment(ctx context.Context, scope pg.Scope) (models.Environment, error) {
	return BrandedEnvironment(ctx, s.store.Q, scope)
}

// UpdateSettings changes settings and returns the environment after the change. An origin must be https and at the RP ID or
// below it; a live environment must not have a local one. An invalid value is a validation problem that names the field. It
// is refused with ErrSecondApprover as the cause if the environment requires a second approver and a value would change.
func (s *Service) UpdateSettings(ctx context.Context, scope pg.Scope, in Settings, actor, requestID string) (models.Environment, error) {
	return s.update(ctx, byOne{in}, events.Entry{Scope: scope, Actor: actor, RequestID: requestID})
}

// UpdateRateLimitCeiling sets the highest quota, in requests an hour, that the environment's admins may give a key; nil is the
// default of the environment's kind. Only the operator may call it. Processes that have the environment's keys cached apply the
// ceiling within seconds.
func (s *Service) UpdateRateLimitCeiling(ctx context.Context, scope pg.Scope, ceiling *int, actor string) (models.Environment, error) {
	return s.update(ctx, quota{func(env *models.Environment) { env.RateLimitCeiling = ceiling }}, events.Entry{Scope: scope, Actor: actor})
}

// UpdateRateLimit sets the quota of the environment's server and admin keys together, in requests an hour; nil is the limit of the
// largest of them. Only the operator may call it.
func (s *Service) UpdateRateLimit(ctx context.Context, scope pg.Scope, limit *int, actor string) (models.Environment, error) {
	return s.update(ctx, quota{func(env *models.Environment) { env.RateLimit = limit }}, events.Entry{Scope: scope, Actor: actor})
}

// update makes a change in one transaction and records environment.updated. By has the scope, the actor and the request id.
func (s *Service) update(ctx context.Context, c change, by events.Entry) (models.Environment, error) {
	var env models.Environment
	by.At = s.clock.Now()
	err := s.store.Write(ctx, func(q *pg.Q) error {
		var err error
		env, err = updateIn(ctx, q, c, by)
		return err
	})
	if err == nil {
		s.changed(by.Scope.Environment)
	}
	return env, err
}

// updateIn makes a change in the caller's transaction.
func updateIn(ctx context.Context, q *pg.Q, c change, by events.Entry) (models.Environment, error) {
	env, err := LockEnvironment(ctx, q, by.Scope)
	if err != nil {
		return env, err
	}
	learned := env.Background
	if err := c.apply(&env); err != nil {
		return env, err
	}
	if err := c.save(ctx, q, env); err != nil {
		return env, err
	}
	by.Data = c.recorded(env)
	if err := events.Append(ctx, q, by); err != nil {
		return env, err
	}
	if env.Background == models.BackgroundPrior && learned != env.Background {
		return env, forgetLearned(ctx, q, by)
	}
	return env, nil
}

// assign sets a value if the change gives it.
func assign[T any](to, given *T) {
	if given != nil {
		*to = *given
	}
}

func (in Settings) has(name string) bool {
	_, given := in[name]
	return given
}

// part returns the value of a setting that has several values; nil if it is not given.
func part[T any](in Settings, name string) (*T, error) {
	if !in.has(name) {
		return nil, nil
	}
	raw, err := json.Marshal(in[name])
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, json.Unmarshal(raw, out)
}

func (in Settings) apply(env *models.Environment) error {
	_, err := in.applied(env)
	return err
}

// applied makes the change in env and returns it in its canonical form.
func (in Settings) applied(env *models.Environment) (Settings, error) {
	in, err := in.withHolidays()
	if err != nil {
		return nil, err
	}
	out := maps.Clone(in)
	for name := range in {
		if _, declared := models.SettingNamed(name); !declared && name != "brand" && name != "passkeys" {
			return nil, problem.Invalid([]any{"body", name}, "There is no setting "+name+".", "extra_forbidden")
		}
	}
	for _, s := range models.DeclaredSettings {
		if !in.has(s.Name) {
			continue
		}
		if err := set(s, &env.Settings, in[s.Name]); err != nil {
			return nil, err
		}
	}
	if err := in.checkTexts(env); err != nil {
		return nil, err
	}
	brand, err := part[Brand](in, "brand")
	if err == nil && brand != nil {
		out["brand"], err = brand, brand.apply(&env.Brand)
	}
	if err != nil {
		return nil, err
	}
	rules, err := part[Passkeys](in, "passkeys")
	if err == nil && rules != nil {
		out["passkeys"], err = rules, rules.canonical()
	}
	if err == nil {
		err = in.applyPasskeys(rules, env)
	}
	if err == nil {
		err = in.checkPages(env)
	}
	if err == nil {
		err = in.checkCalendar(env)
	}
	maps.Copy(out, in.declared(env))
	return out, err
}

// set sets a setting to a value and checks what its declaration says of it.
func set(s models.Setting, of *models.Settings, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	to := reflect.ValueOf(s.Value(of)).Elem()
	to.SetZero() // a list must not be written into the one that it replaces
	if err := json.Unmarshal(raw, to.Addr().Interface()); err != nil {
		return problem.Invalid([]any{"body", s.Name}, fmt.Sprintf("%s has a value of the wrong type.", s.Name), "value_error")
	}
	if s.Max > 0 && (to.Int() < int64(s.Min) || to.Int() > int64(s.Max)) {
		return problem.Invalid([]any{"body", s.Name}, fmt.Sprintf("%s is %d: it must be between %d and %d.", s.Name, to.Int(), s.Min, s.Max), "value_error")
	}
	if len(s.Choices) > 0 && !slices.ContainsFunc(s.Choices, func(c models.Choice) bool { return c.Value == to.String() }) {
		var choices []string
		for _, c := range s.Choices {
			choices = append(choices, c.Value)
		}
		last := len(choices) - 1
		rule := fmt.Sprintf("%s is %q: choose %s or %s.", s.Name, to, strings.Join(choices[:last], ", "), choices[last])
		return problem.Invalid([]any{"body", s.Name}, rule, "enum")
	}
	return nil
}

// declared returns the values in force of the declared settings that in gives.
func (in Settings) declared(env *models.Environment) Settings {
	out := Settings{}
	for _, s := range models.DeclaredSettings {
		if !in.has(s.Name) {
			continue
		}
		switch value := s.Value(&env.Settings).(type) {
		case **string:
			out[s.Name] = ""
			if *value != nil {
				out[s.Name] = **value
			}
		case *models.Strings:
			out[s.Name] = append([]string{}, *value...)
		default:
			out[s.Name] = reflect.ValueOf(value).Elem().Interface()
		}
	}
	return out
}

// checkTexts checks the texts and lists that in gives, and sets their canonical forms.
func (in Settings) checkTexts(env *models.Environment) error {
	for name, list := range map[string]*models.Strings{
		"origins": &env.RPOrigins, "return_origins": &env.ReturnOrigins, "frame_ancestors": &env.FrameAncestors, "working_hours": &env.WorkingHours, "holidays": &env.Holidays,
	} {
		if !in.has(name) {
			continue
		}
		parsed, err := parseAll(*list, forms[name], name)
		if err != nil {
			return err
		}
		*list = parsed
	}
	if in.has("case_link") {
		if err := checkCaseLink(env.CaseLink); err != nil {
			return err
		}
	}
	if in.has("rp_name") {
		return displaytext.Check("rp_name", env.RPName)
	}
	return nil
}

// checkPages checks the origin of the hosted pages, which is one of the environment's.
func (in Settings) checkPages(env *models.Environment) error {
	if !in.has("page_origin") || env.PageOrigin == nil || *env.PageOrigin == "" {
		if in.has("page_origin") {
			env.PageOrigin = nil
		}
		if env.PageOrigin != nil && !slices.Contains(env.RPOrigins, *env.PageOrigin) {
			return problem.Invalid([]any{"body", "origins"}, fmt.Sprintf("The hosted pages are at %s, which must stay among the origins.", *env.PageOrigin), "value_error")
		}
		return nil
	}
	origin, err := forms["page_origin"](*env.PageOrigin)
	if err != nil {
		return problem.Invalid([]any{"body", "page_origin"}, err.Error(), "value_error")
	}
	if env.PageOrigin = &origin; !slices.Contains(env.RPOrigins, origin) || isApp(origin) {
		return problem.Invalid([]any{"body", "page_origin"}, fmt.Sprintf(
			"the origin of the pages %q is not one of %s; passkeys could not be used there", origin, strings.Join(env.RPOrigins, ", ")), "value_error")
	}
	return nil
}

func (in Settings) save(ctx context.Context, q *pg.Q, env models.Environment) error {
	if in.has("brand") {
		if err := setBrand(ctx, q, env); err != nil {
			return err
		}
	}
	if in.has("passkeys") {
		if err := setPasskeyRules(ctx, q, env); err != nil {
			return err
		}
	}
	if err := setSettings(ctx, q, env); err != nil {
		return err
	}
	if in.has("federated_key_days") {
		return LapseCredentials(ctx, q, env.TenantID, LapseOf{Environment: env.ID})
	}
	return nil
}

func (in Settings) recorded(env models.Environment) events.Data {
	logo := ""
	if len(env.Brand.Logo) > 0 {
		sum := sha256.Sum256(env.Brand.Logo)
		logo = hex.EncodeToString(sum[:])
	}
	return events.EnvironmentSettingsChangedData{
		Settings: env.Settings,
		RPIDs:    env.Passkeys.RPIDs, RelatedOrigins: env.Passkeys.RelatedOrigins, Attestation: recordedAttestation(env.Passkeys), AAGUIDs: env.Passkeys.AAGUIDs,
		BrandName: env.Brand.Name, BrandAccent: env.Brand.Accent, BrandLanguage: env.Brand.Language, BrandLogo: logo,
	}
}

func (in quota) apply(env *models.Environment) error {
	in.set(env)
	return nil
}

func (in quota) save(ctx context.Context, q *pg.Q, env models.Environment) error {
	return setRateLimits(ctx, q, env)
}

func (in quota) recorded(env models.Environment) events.Data {
	return events.EnvironmentCeilingChangedData{RateLimitCeiling: env.RateLimitCeiling, RateLimit: env.RateLimit}
}
