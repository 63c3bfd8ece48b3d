// Package tenancy creates tenants with their sandbox and live environments, and changes the settings of environments.
//
// It issues no credential; package identity does. Only the command line creates tenants: no request of the API can.
package tenancy

import (
	"cmp"
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/webname"
	"github.com/countersign-dev/countersign/models"
)

// SigningKeys creates the signing keys of a new environment. signing.Service implements it; the interface keeps this room
// free of authz.
type SigningKeys interface {
	// Establish creates the keys in the caller's transaction.
	Establish(ctx context.Context, q *pg.Q, scope pg.Scope, actor string) error
}

// Service creates tenants and changes the settings of their environments.
type Service struct {
	store   *pg.Store
	keys    SigningKeys
	clock   clock.Clock
	changed func(environment string)
}

// New returns the service. It calls changed with an environment's id after a change of its settings is committed, so that
// this process drops what it caches of the environment without waiting for the database's notification; nil is no call.
func New(st *pg.Store, keys SigningKeys, c clock.Clock, changed func(environment string)) *Service {
	if changed == nil {
		changed = func(string) {}
	}
	return &Service{store: st, keys: keys, clock: c, changed: changed}
}

// Spec is the specification of a new tenant.
type Spec struct {
	Name    string   // 1..120 characters; also the initial rp_name of both environments
	RPID    string   // the WebAuthn relying party id, a host name such as bank.example
	Origins []string // origins that subjects use passkeys from: scheme and host, the host being the RP ID or below it
	// AllowLocal permits local origins, such as http://localhost:8080, in the live environment too. For development.
	AllowLocal bool
	// RequireEnrollmentGrant makes the live environment accept enroll frames only from client tokens that name the purpose.
	RequireEnrollmentGrant bool
	// AllowSelfReview lets requesters review their own holds in the live environment, unless a policy bars it. The sandbox
	// always does, so that one key can try the whole flow.
	AllowSelfReview bool
	// RequireSecondApprover makes policy activations, changes of an action's mode and changes of settings of the live
	// environment wait for a second principal.
	RequireSecondApprover bool
	// Background says whether the live environment learns from the people who enroll; empty is prior. The sandbox learns from its
	// own.
	Background models.BackgroundChoice
}

// Made is a new tenant with its environments.
type Made struct {
	Tenant        models.Tenant
	Sandbox, Live models.Environment
}

// Create creates the tenant, its environments and their signing keys in one transaction. The actor is recorded in the audit
// log of both environments. Errors about the specification are plain sentences for the command line.
func (s *Service) Create(ctx context.Context, in Spec, actor string) (Made, error) {
	in, err := in.canonical()
	if err != nil {
		return Made{}, err
	}
	if err := in.validate(); err != nil {
		return Made{}, err
	}
	now := s.clock.Now()
	out := Made{Tenant: models.Tenant{ID: ids.New(ids.Tenant), Name: in.Name, CreatedAt: now}}
	environment := func(kind models.EnvironmentKind) models.Environment {
		env := models.Environment{
			ID: ids.New(ids.Environment), TenantID: out.Tenant.ID, Kind: kind, RPID: in.RPID, CreatedAt: now, Settings: models.DefaultSettings(kind),
		}
		env.RPName, env.RPOrigins = in.Name, in.Origins
		return env
	}
	out.Sandbox, out.Live = environment(models.Sandbox), environment(models.Live)
	out.Live.EnrollmentGrantRequired, out.Live.BarSelfReview = in.RequireEnrollmentGrant, !in.AllowSelfReview
	out.Live.SecondApproverRequired = in.RequireSecondApprover
	out.Live.Background = cmp.Or(in.Background, out.Live.Background)
	err = s.store.Write(ctx, func(q *pg.Q) error {
		if err := CreateTenant(ctx, q, out.Tenant); err != nil {
			return err
		}
		if err := give(ctx, q, out.Tenant.ID, []string{in.RPID}); err != nil {
			return err
		}
		for _, env := range []models.Environment{out.Sandbox, out.Live} {
			if err := s.createEnvironment(ctx, q, env, actor); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// createEnvironment creates one environment with its signing keys. Each environment has its own audit log, which begins with the creation
// of the tenant.
func (s *Service) createEnvironment(ctx context.Context, q *pg.Q, env models.Environment, actor string) error {
	if err := CreateEnvironment(ctx, q, env); err != nil {
		return err
	}
	scope := pg.Scope{Tenant: env.TenantID, Environment: env.ID}
	for _, data := range []events.Data{events.TenantCreatedData{}, events.EnvironmentCreatedData{}} {
		if err := events.Append(ctx, q, events.Entry{Scope: scope, At: env.CreatedAt, Actor: actor, Data: data}); err != nil {
			return err
		}
	}
	return s.keys.Establish(ctx, q, scope, actor)
}

// canonical returns the specification with its RP ID and origins in their canonical form.
func (in Spec) canonical() (Spec, error) {
	var err error
	if in.RPID, err = webname.RPID(in.RPID); err != nil {
		return in, fmt.Errorf("the RP ID %w", err)
	}
	origins := make([]string, len(in.Origins))
	for i, text := range in.Origins {
		if origins[i], err = passkeyOrigin(text); err != nil {
			return in, err
		}
	}
	in.Origins = origins
	return in, nil
}

// validate returns an error that names the first invalid field.
func (in Spec) validate() error {
	if n := utf8.RuneCountInString(in.Name); n < 1 || n > 120 {
		return fmt.Errorf("the name of a tenant must have 1 to 120 characters, not %d", n)
	}
	if fault := displaytext.Fault(in.Name); fault != "" {
		return fmt.Errorf("the name of a tenant must not contain control characters or line breaks; found %s", fault)
	}
	if len(in.Origins) == 0 {
		return fmt.Errorf("at least one origin is required, such as https://%s", in.RPID)
	}
	rules := rpOrigins{rpID: in.RPID, allowLocal: in.AllowLocal}
	for _, origin := range in.Origins {
		if err := rules.check(origin); err != nil {
			return err
		}
	}
	return nil
}
