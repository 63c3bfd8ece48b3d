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
	now, err := settings.Current(*env)
	if err != nil {
		return err
	}
	if env.SecondApproverRequired && !reflect.DeepEqual(settings, now) {
		return refusedAlone()
	}
	return settings.apply(env)
}

// Check returns the settings as they would be stored, or a problem if the environment may not have one of them.
func (in Settings) Check(env models.Environment) (Settings, error) { return in.applied(&env) }

// Current returns the environment's values of the settings that in gives.
func (in Settings) Current(env models.Environment) (Settings, error) {
	out := in.declared(&env)
	rules, err := part[Passkeys](in, "passkeys")
	if err != nil {
		return nil, err
	}
	if rules != nil {
		out["passkeys"] = rules.current(env.Passkeys)
	}
	brand, err := part[Brand](in, "brand")
	if err != nil {
		return nil, err
	}
	if brand != nil {
		out["brand"] = &Brand{
			Name: current(brand.Name, env.Brand.Name), Accent: current(brand.Accent, env.Brand.Accent),
			Logo: current(brand.Logo, base64.StdEncoding.EncodeToString(env.Brand.Logo)), Language: current(brand.Language, env.Brand.Language),
		}
	}
	return out, nil
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
