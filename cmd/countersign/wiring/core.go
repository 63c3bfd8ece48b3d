// Package wiring builds the service from its parts, for the binary and for the black-box tests. It is the only package
// that imports every service. It must not contain a rule of any of them.
package wiring

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/trace"

	"github.com/countersign-dev/countersign/internal/account/directory"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/delivery/destination"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/alias"
	"github.com/countersign-dev/countersign/internal/subject/signal"
)

// Settings are the settings that every part needs.
type Settings struct {
	Log         *slog.Logger
	Clock       clock.Clock // nil: Machine, corrected by the database's
	Machine     clock.Clock // the clock of this machine; nil: the system's
	DatabaseURL string
	DirectURL   string // of the server, if DatabaseURL leads to a connection pooler; else empty
	StandbyURL  string // of a standby that lists of records are read from; empty for none
	// StandbyMaxAge is how old such a list may be; 0 is the store's default.
	StandbyMaxAge time.Duration
	BaseURL       string // public URL without a slash at the end; part of every proof's issuer
	Keys          *keyring.Keyring
	RootKey       string               // name of the root key that has unwrapped Keys; empty if they were not wrapped
	Actor         string               // who uses it, for the audit log, such as "cli:key list"; needed with RootKey
	Signers       []keys.Signer        // backends of signing keys; the first creates keys. nil: software
	MaxConns      int32                // database connections; 0 is the store's default
	Tracing       trace.TracerProvider // nil: off
	// Statements sees every statement and its parameters, in place of the spans of Tracing; nil: none. For tests.
	Statements pgx.QueryTracer
	// Providers restricts the addresses of identity providers of the console.
	Providers webhook.Policy
	// Destinations restricts the addresses of destinations of the log.
	Destinations webhook.Policy
}

// Core is the part of the service that every command with a database uses.
type Core struct {
	Settings
	Store    *pg.Store
	Identity *identity.Service
	Signing  *signing.Service
	Tenancy  *tenancy.Service
	People   *staff.Service
	Teams    *team.Service
	Lists    *lists.Service
	SSO      *sso.Service
	// Directories provision staff by SCIM.
	Directories *directory.Service
	// Signals receive security events about subjects.
	Signals *signal.Service
	// LogDestinations are where the log is pushed to.
	LogDestinations *destination.Service

	following *clock.Following // Clock if it follows the database's; nil otherwise
}

// Open connects to the database. The schema is not looked at: the caller migrates or checks.
func Open(ctx context.Context, s Settings) (*Core, error) {
	st, err := pg.Open(ctx, s.DatabaseURL, pg.Options{MaxConns: s.MaxConns, DirectURL: s.DirectURL, Tracer: s.statementTracer(), Standby: s.standby(), Keys: s.Keys,
		Record: events.RecordChanged})
	if err != nil {
		return nil, err
	}
	var following *clock.Following
	if s.Clock == nil {
		if s.Machine == nil {
			s.Machine = clock.System()
		}
		following = clock.Follow(s.Machine)
		s.Clock = following
		if err := measure(ctx, following, st); err != nil {
			st.Close()
			return nil, err
		}
	}
	proofs := signing.New(st, s.Keys, s.Clock, s.BaseURL, s.Signers...)
	people := staff.New(st, s.Keys, s.Clock, s.BaseURL)
	directories := directory.New(directory.Deps{Store: st, Keys: s.Keys, Clock: s.Clock, People: people, BaseURL: s.BaseURL})
	signals := signal.New(signal.Deps{
		Store: st, Keys: s.Keys, Clock: s.Clock, Aliases: alias.New(st, s.Keys, s.Clock), BaseURL: s.BaseURL, Client: s.Providers.Client(), CheckURL: s.Providers.CheckURL,
		Subjects: subject.New(st, s.Keys, assurance.New(scoring.Default(), s.Keys), s.Clock),
	})
	return &Core{
		Settings: s, Store: st, Signing: proofs, following: following,
		Identity: identity.New(st, s.Keys, s.Clock),
		Tenancy:  tenancy.New(st, proofs, s.Clock, nil),
		Teams:    team.New(st, s.Clock),
		Lists:    lists.New(st, s.Clock, s.Keys),
		People:   people,
		SSO: sso.New(sso.Deps{
			Store: st, Keys: s.Keys, Clock: s.Clock, People: people, BaseURL: s.BaseURL, Directory: directories, Client: s.Providers.Client(),
			CheckURL: s.Providers.CheckURL,
		}),
		Directories: directories,
		Signals:     signals,
		LogDestinations: destination.New(destination.Deps{
			Store: st, Keys: s.Keys, Clock: s.Clock, Policy: s.Destinations, Log: s.Log, BaseURL: s.BaseURL,
		}),
	}, nil
}

func (s Settings) standby() pg.StandbyOptions {
	return pg.StandbyOptions{URL: s.StandbyURL, MaxAge: s.StandbyMaxAge, Changed: func(used bool, reason error) {
		if used {
			s.Log.Info("lists are read from the standby")
			return
		}
		s.Log.Warn("lists are read from the primary and not from the standby", "reason", reason)
	}}
}

// Close lets the database go.
func (c *Core) Close() {
	for _, s := range c.Signers {
		_ = s.Close()
	}
	c.Store.Close()
}
