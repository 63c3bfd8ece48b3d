package tenancy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Settings is a change of the settings that a relying party's admins control. A nil field is left unchanged. The RP ID is not
// a setting: passkeys are bound to it, and a change would invalidate all of them.
type Settings struct {
	RPName              *string  `json:"rp_name"`               // shown to subjects
	Origins             []string `json:"origins"`               // origins that subjects use passkeys from
	ChallengeTTLSeconds *int     `json:"challenge_ttl_seconds"` // 30..900, for challenges opened from now on
	HoldTTLSeconds      *int     `json:"hold_ttl_seconds"`      // 60..2592000, for holds opened from now on
	BarSelfReview       *bool    `json:"bar_self_review"`       // applies to pending holds too
	// EnrollmentGrantRequired rejects enroll frames of client tokens that do not name the purpose, from now on.
	EnrollmentGrantRequired *bool `json:"enrollment_grant_required"`
	// Brand is the look of the hosted pages, from the next page on.
	Brand *Brand `json:"brand"`
	// Passkeys are the rules of passkeys beside the RP ID and the origins, for ceremonies from now on.
	Passkeys *Passkeys `json:"passkeys"`
	// SecondApproverRequired makes policy activations, changes of an action's mode and changes of these settings wait for a
	// second principal (package change). Once it is on, switching it off waits too.
	SecondApproverRequired *bool `json:"second_approver_required"`
	ChangeTTLSeconds       *int  `json:"change_ttl_seconds"` // 300..2592000, for changes requested from now on
	FederatedKeyDays       *int  `json:"federated_key_days"` // 0..3650, for the keys that exist as well; 0 is never
	// Background says whether the environment learns from the people who enroll: prior, own or shared. With prior, what was
	// learned is deleted.
	Background *models.BackgroundChoice `json:"background"`
	// ReviewNotes stores the notes of reviews from now on. Notes that are stored stay until their retention.
	ReviewNotes *bool `json:"review_notes"`
	// CaseLink is the URL of a decision in the customer's case system (checkCaseLink); empty for none.
	CaseLink *string `json:"case_link"`
	Pages
}

// Pages is a change of the settings of an environment's hosted pages. A nil field is left unchanged.
type Pages struct {
	// Origin is the origin of links to the pages. It must be one of the environment's origins for passkeys, and its host must
	// reach the service. Empty is the service's base URL.
	Origin *string `json:"page_origin"`
	// ReturnOrigins are origins that the pages may redirect to, besides those for passkeys.
	ReturnOrigins []string `json:"return_origins"`
	// FrameAncestors are origins that may embed the pages in a frame. Browsers run no passkey ceremony in such a frame.
	FrameAncestors []string `json:"frame_ancestors"`
}

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

// assign sets a setting if the change gives it.
func assign[T any](to, given *T) {
	if given != nil {
		*to = *given
	}
}

func (in Settings) apply(env *models.Environment) error {
	in, err := in.canonical()
	if err != nil {
		return err
	}
	assign(&env.ChallengeTTLSeconds, in.ChallengeTTLSeconds)
	assign(&env.HoldTTLSeconds, in.HoldTTLSeconds)
	assign(&env.EnrollmentGrantRequired, in.EnrollmentGrantRequired)
	assign(&env.BarSelfReview, in.BarSelfReview)
	assign(&env.SecondApproverRequired, in.SecondApproverRequired)
	assign(&env.ChangeTTLSeconds, in.ChangeTTLSeconds)
	assign(&env.FederatedKeyDays, in.FederatedKeyDays)
	if in.Background != nil {
		if err := checkBackground(*in.Background); err != nil {
			return err
		}
		env.Background = *in.Background
	}
	assign(&env.ReviewNotes, in.ReviewNotes)
	if in.CaseLink != nil {
		if err := checkCaseLink(*in.CaseLink); err != nil {
			return err
		}
		env.CaseLink = *in.CaseLink
	}
	if in.RPName != nil {
		if err := displaytext.Check("rp_name", *in.RPName); err != nil {
			return err
		}
		env.RPName = *in.RPName
	}
	if in.Brand != nil {
		if err := in.Brand.apply(&env.Brand); err != nil {
			return err
		}
	}
	if err := in.applyPasskeys(env); err != nil {
		return err
	}
	if err := in.Pages.apply(env); err != nil {
		return err
	}
	if env.PageOrigin != nil && !slices.Contains(env.RPOrigins, *env.PageOrigin) {
		return problem.Invalid([]any{"body", "origins"}, fmt.Sprintf("The hosted pages are at %s, which must stay among the origins.", *env.PageOrigin), "value_error")
	}
	return nil
}

func (in Settings) save(ctx context.Context, q *pg.Q, env models.Environment) error {
	if in.Brand != nil {
		if err := setBrand(ctx, q, env); err != nil {
			return err
		}
	}
	if in.Passkeys != nil {
		if err := setPasskeyRules(ctx, q, env); err != nil {
			return err
		}
	}
	if err := setSettings(ctx, q, env); err != nil {
		return err
	}
	if in.FederatedKeyDays != nil {
		if err := LapseCredentials(ctx, q, env.TenantID, LapseOf{Environment: env.ID}); err != nil {
			return err
		}
	}
	return setPages(ctx, q, env)
}

func (in Settings) recorded(env models.Environment) events.Data {
	logo := ""
	if len(env.Brand.Logo) > 0 {
		sum := sha256.Sum256(env.Brand.Logo)
		logo = hex.EncodeToString(sum[:])
	}
	return events.EnvironmentSettingsChangedData{
		RPIDs: env.Passkeys.RPIDs, RelatedOrigins: env.Passkeys.RelatedOrigins, Attestation: recordedAttestation(env.Passkeys), AAGUIDs: env.Passkeys.AAGUIDs,
		BrandName: env.Brand.Name, BrandAccent: env.Brand.Accent, BrandLanguage: env.Brand.Language, BrandLogo: logo,
		RPName: env.RPName, Origins: env.RPOrigins, ChallengeTTLSeconds: env.ChallengeTTLSeconds, HoldTTLSeconds: env.HoldTTLSeconds,
		EnrollmentGrantRequired: env.EnrollmentGrantRequired, BarSelfReview: env.BarSelfReview,
		PageOrigin: env.PageOrigin, ReturnOrigins: env.ReturnOrigins, FrameAncestors: env.FrameAncestors,
		SecondApproverRequired: env.SecondApproverRequired, ChangeTTLSeconds: env.ChangeTTLSeconds, Background: string(env.Background),
		ReviewNotes: env.ReviewNotes, CaseLink: env.CaseLink, FederatedKeyDays: env.FederatedKeyDays,
	}
}

func (in Pages) apply(env *models.Environment) error {
	if in.Origin != nil {
		if *in.Origin != "" && (!slices.Contains(env.RPOrigins, *in.Origin) || isApp(*in.Origin)) {
			return problem.Invalid([]any{"body", "page_origin"}, fmt.Sprintf(
				"the origin of the pages %q is not one of %s; passkeys could not be used there", *in.Origin, strings.Join(env.RPOrigins, ", ")), "value_error")
		}
		env.PageOrigin = in.Origin
		if *in.Origin == "" {
			env.PageOrigin = nil
		}
	}
	if in.ReturnOrigins != nil {
		env.ReturnOrigins = in.ReturnOrigins
	}
	if in.FrameAncestors != nil {
		env.FrameAncestors = in.FrameAncestors
	}
	return nil
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
