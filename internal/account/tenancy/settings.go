package tenancy

import (
	"context"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Settings are what a relying party may change of its environment. Nil keeps what is set. The RP ID is not among them: passkeys
// are bound to it, and a change would strand every one of them.
type Settings struct {
	RPName              *string  `json:"rp_name"`
	Origins             []string `json:"origins"`
	ChallengeTTLSeconds *int     `json:"challenge_ttl_seconds"` // 30..900, of challenges opened from now on
	HoldTTLSeconds      *int     `json:"hold_ttl_seconds"`      // 60..2592000, of holds opened from now on
	BarSelfReview       *bool    `json:"bar_self_review"`       // also of holds that wait already
	// EnrollmentGrantRequired refuses enrollment frames of client tokens that do not name the purpose, from now on.
	EnrollmentGrantRequired *bool `json:"enrollment_grant_required"`
}

// Environment answers the environment of the scope.
func (s *Service) Environment(ctx context.Context, scope store.Scope) (models.Environment, error) {
	return s.store.Environments().Get(ctx, scope)
}

// Change changes the settings and answers the environment as it is then. An origin must be of the RP ID, https, and in live
// not of this machine.
func (s *Service) Change(ctx context.Context, scope store.Scope, in Settings, actor, requestID string) (models.Environment, error) {
	var env models.Environment
	err := s.store.Write(ctx, func(q *store.Q) error {
		var err error
		if env, err = q.Environments().Get(ctx, scope); err != nil {
			return err
		}
		if err := in.apply(&env); err != nil {
			return err
		}
		if err := q.Environments().SetSettings(ctx, env); err != nil {
			return err
		}
		return events.Append(ctx, q, events.Entry{
			Scope: scope, At: s.clock.Now(), Actor: actor, RequestID: requestID, Data: events.EnvironmentSettingsChangedData{
				RPName: env.RPName, Origins: env.RPOrigins, ChallengeTTLSeconds: env.ChallengeTTLSeconds, HoldTTLSeconds: env.HoldTTLSeconds,
				EnrollmentGrantRequired: env.EnrollmentGrantRequired, BarSelfReview: env.BarSelfReview,
			},
		})
	})
	if err == nil {
		s.changed(scope.Environment)
	}
	return env, err
}

func (in Settings) apply(env *models.Environment) error {
	for _, change := range []struct{ given, to *int }{
		{in.ChallengeTTLSeconds, &env.ChallengeTTLSeconds}, {in.HoldTTLSeconds, &env.HoldTTLSeconds},
	} {
		if change.given != nil {
			*change.to = *change.given
		}
	}
	if in.EnrollmentGrantRequired != nil {
		env.EnrollmentGrantRequired = *in.EnrollmentGrantRequired
	}
	if in.BarSelfReview != nil {
		env.BarSelfReview = *in.BarSelfReview
	}
	if in.RPName != nil {
		if err := displaytext.Check("rp_name", *in.RPName); err != nil {
			return err
		}
		env.RPName = *in.RPName
	}
	if in.Origins == nil {
		return nil
	}
	rules := Spec{RPID: env.RPID, AllowLocal: env.Kind == models.Sandbox}
	for i, origin := range in.Origins {
		if err := rules.checkOrigin(origin); err != nil {
			return problem.Invalid([]any{"body", "origins", i}, err.Error(), "value_error")
		}
	}
	if env.PageOrigin != nil && !slices.Contains(in.Origins, *env.PageOrigin) {
		return problem.Invalid([]any{"body", "origins"}, fmt.Sprintf("The hosted pages are at %s, which must stay among the origins.", *env.PageOrigin), "value_error")
	}
	env.RPOrigins = in.Origins
	return nil
}
