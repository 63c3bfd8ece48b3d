package tenancy

import (
	"context"
	"encoding/base64"
	"errors"
	"reflect"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// ErrSecondApprover is the cause of the refusal of a change that one principal may not make alone. Package change turns it into
// a change request.
var ErrSecondApprover = errors.New("tenancy: the environment requires a second approver")

// RefuseAlone refuses a change by one principal if the environment requires a second approver.
func RefuseAlone(ctx context.Context, q *pg.Q, scope pg.Scope) error {
	env, err := GetEnvironment(ctx, q, scope)
	if err != nil || !env.SecondApproverRequired {
		return err
	}
	return refusedAlone()
}

func refusedAlone() error {
	return &problem.Error{
		Code: problem.Conflict, Cause: ErrSecondApprover,
		Detail: "The environment requires a second approver (second_approver_required). Request the change in the API or the console.",
	}
}

// byOne are settings that one principal changes.
type byOne struct{ Settings }

func (in byOne) apply(env *models.Environment) error {
	settings, err := in.Check(*env)
	if err != nil {
		return err
	}
	if env.SecondApproverRequired && !reflect.DeepEqual(settings, settings.Current(*env)) {
		return refusedAlone()
	}
	return settings.apply(env)
}

// Check returns the settings as they would be stored, or a problem if the environment may not have one of them.
func (in Settings) Check(env models.Environment) (Settings, error) {
	in, err := in.canonical()
	if err != nil {
		return in, err
	}
	return in, in.apply(&env)
}

// Empty reports whether in gives no setting.
func (in Settings) Empty() bool { return reflect.DeepEqual(in, Settings{}) }

// Current returns the environment's values of the settings that in gives.
func (in Settings) Current(env models.Environment) Settings {
	out := Settings{
		RPName: current(in.RPName, env.RPName), ChallengeTTLSeconds: current(in.ChallengeTTLSeconds, env.ChallengeTTLSeconds),
		HoldTTLSeconds: current(in.HoldTTLSeconds, env.HoldTTLSeconds), BarSelfReview: current(in.BarSelfReview, env.BarSelfReview),
		EnrollmentGrantRequired: current(in.EnrollmentGrantRequired, env.EnrollmentGrantRequired),
		SecondApproverRequired:  current(in.SecondApproverRequired, env.SecondApproverRequired),
		ChangeTTLSeconds:        current(in.ChangeTTLSeconds, env.ChangeTTLSeconds),
		FederatedKeyDays:        current(in.FederatedKeyDays, env.FederatedKeyDays),
		Background:              current(in.Background, env.Background),
		ReviewNotes:             current(in.ReviewNotes, env.ReviewNotes),
		CaseLink:                current(in.CaseLink, env.CaseLink),
	}
	if in.Origins != nil {
		out.Origins = env.RPOrigins
	}
	if in.Pages.Origin != nil {
		out.Pages.Origin = new(string)
		assign(out.Pages.Origin, env.PageOrigin)
	}
	if in.ReturnOrigins != nil {
		out.ReturnOrigins = append([]string{}, env.ReturnOrigins...)
	}
	if in.FrameAncestors != nil {
		out.FrameAncestors = append([]string{}, env.FrameAncestors...)
	}
	if in.Passkeys != nil {
		out.Passkeys = in.Passkeys.current(env.Passkeys)
	}
	if in.Brand != nil {
		out.Brand = &Brand{
			Name: current(in.Brand.Name, env.Brand.Name), Accent: current(in.Brand.Accent, env.Brand.Accent),
			Logo: current(in.Brand.Logo, base64.StdEncoding.EncodeToString(env.Brand.Logo)), Language: current(in.Brand.Language, env.Brand.Language),
		}
	}
	return out
}

// current returns the value in force of a setting that is given; nil for one that is not.
func current[T any](given *T, value T) *T {
	if given == nil {
		return nil
	}
	return &value
}

// UpdateSettingsIn changes settings that a second principal has approved, in the caller's transaction. By has the scope, the
// time and the actor. The caller calls Changed after the commit.
func UpdateSettingsIn(ctx context.Context, q *pg.Q, in Settings, by events.Entry) (models.Environment, error) {
	return updateIn(ctx, q, in, by)
}

// Changed drops what this process caches of an environment.
func (s *Service) Changed(environment string) { s.changed(environment) }
