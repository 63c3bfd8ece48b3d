package wiring

import (
	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/account/tally"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/afterreview"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/reviewnote"
	"github.com/countersign-dev/countersign/internal/authz/standing"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/delivery/notify"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/alias"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/internal/subject/legacy"
	"github.com/countersign-dev/countersign/internal/subject/passkey"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/subject/research"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/subject/template"
)

// services are the services that handlers and activities call.
type services struct {
	limiter        *ratelimit.Limiter
	tally          *tally.Recorder
	actions        *action.Service
	assessor       *assurance.Assessor
	authorizations *authorization.Service
	passkeys       *passkey.Service
	challenges     *challenge.Service
	holds          *hold.Service
	afterReviews   *afterreview.Service
	standing       *standing.Service
	standingLinks  *standing.Links
	changes        *change.Service
	evaluations    *evaluation.Service
	research       *research.Service
	sessions       *session.Service
	legacy         *legacy.Service
	enrollments    *enrollment.Service
	templates      *template.Service
	activation     *backgrounds.Loader
	backgrounds    *backgrounds.Service
	subjects       *subject.Service
	recoveries     *recovery.Service
	aliases        *alias.Service
	sender         *webhook.Sender
	endpoints      *webhook.Endpoints
	notices        *notify.Service
	hub            *stream.Hub
}

func newServices(p *Process) services {
	s := services{
		limiter:     ratelimit.New(ratelimit.Shared{Store: p.Store}, p.Clock),
		tally:       tally.New(tally.Deps{Store: p.Store, Clock: p.Clock, Log: p.Log, Metrics: p.Ops.Registry, BaseURL: p.BaseURL}),
		actions:     action.New(p.Store, p.Clock),
		assessor:    assurance.New(scoring.Default(), p.Keys),
		passkeys:    passkey.New(p.Store, p.Keys, p.Clock),
		evaluations: evaluation.New(p.Store, p.Clock),
		sender:      webhook.NewSender(webhook.Policy{AllowLoopback: p.options.WebhookLoopback}),
		hub:         stream.NewHub(p.Store, p.Clock, p.Log, stream.Options{MaxEach: p.options.StreamsEach}),
	}
	s.authorizations = authorization.New(p.Store, p.Clock, s.actions, s.assessor, p.Signing, p.Keys)
	// A process that decides caches environments: its own changes of settings must apply at once.
	p.Tenancy = tenancy.New(p.Store, p.Signing, p.Clock, s.authorizations.ForgetEnvironment)
	s.aliases = alias.New(p.Store, p.Keys, p.Clock)
	s.recoveries = recovery.New(p.Store, p.Clock, backgrounds.NewCounter(s.assessor))
	s.research = research.New(p.Store, p.Keys, p.options.Research)
	s.sessions = session.New(p.Store, p.Clock, s.assessor, s.research)
	s.activation = backgrounds.NewLoader(p.Store, s.assessor, p.Log)
	s.templates = template.New(p.Store, p.Clock, s.assessor)
	s.backgrounds = backgrounds.New(backgrounds.Deps{Store: p.Store, Assessor: s.assessor, Load: s.activation.Load, Carry: s.templates.RetrainOutdated})
	s.enrollments = enrollment.New(p.Store, p.Clock, s.assessor)
	s.subjects = subject.New(p.Store, p.Keys, s.assessor, p.Clock)
	s.legacy = legacy.New(legacy.Deps{
		Store: p.Store, Clock: p.Clock, Keys: p.Keys, Assessor: s.assessor, Sessions: s.sessions, Subjects: s.subjects,
	})
	s.challenges = challenge.New(challenge.Deps{
		Store: p.Store, Clock: p.Clock, Keyring: p.Keys, Assertions: s.passkeys, Decide: s.authorizations.FollowUp,
		Signable: p.Signing.Signable, LinkBase: p.BaseURL + challenge.LinkPath,
	})
	s.holds = hold.New(hold.Deps{
		Store: p.Store, Clock: p.Clock, Decide: s.authorizations.FollowUp, Signable: p.Signing.Signable, Proofs: p.Signing,
		Vault: display.NewVault(p.Keys), Notes: reviewnote.NewVault(p.Keys),
	})
	s.standing = standing.New(p.Store, p.Clock, p.Keys)
	s.standingLinks = standing.NewLinks(s.standing, p.Keys, s.passkeys, p.BaseURL)
	s.afterReviews = afterreview.New(p.Store, p.Clock, reviewnote.NewVault(p.Keys))
	s.endpoints = webhook.NewEndpoints(s.webhooks(p))
	s.changes = change.New(change.Deps{
		Store: p.Store, Clock: p.Clock, Actions: s.actions, Tenancy: p.Tenancy, Teams: p.Teams, Lists: p.Lists, Simulate: s.authorizations, Endpoints: s.endpoints, Signals: p.Signals,
		Destinations: p.LogDestinations,
	})
	s.notices = notify.New(notify.Deps{
		Store: p.Store, Clock: p.Clock, Keyring: p.Keys, Holds: s.holds, People: p.People, Sender: s.sender, Mail: p.options.Mail, BaseURL: p.BaseURL, Log: p.Log,
	})
	return s
}

// webhooks are the dependencies of everything that delivers webhooks.
func (s services) webhooks(p *Process) webhook.Deps {
	return webhook.Deps{Store: p.Store, Clock: p.Clock, Keyring: p.Keys, Sender: s.sender, Waker: p.Flows, Log: p.Log, Tracing: p.Tracing}
}
