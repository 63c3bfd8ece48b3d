package api

import (
	"context"

	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/internal/account/directory"
	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/afterreview"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/authz/standing"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/delivery/destination"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/alias"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/internal/subject/legacy"
	"github.com/countersign-dev/countersign/internal/subject/passkey"
	"github.com/countersign-dev/countersign/internal/subject/recovery"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/subject/signal"
	"github.com/countersign-dev/countersign/internal/subject/template"
	"github.com/countersign-dev/countersign/internal/transport/sse"
)

// Services are the services that the handlers of the resources call.
type Services struct {
	Actions        *action.Service
	Tenancy        *tenancy.Service
	Legacy         *legacy.Service
	Sessions       *session.Service
	Enrollments    *enrollment.Service
	Templates      *template.Service
	Authorizations *authorization.Service
	Challenges     *challenge.Service
	Holds          *hold.Service
	AfterReviews   *afterreview.Service
	Standing       *standing.Service
	StandingLinks  *standing.Links
	Changes        *change.Service
	Teams          *team.Service
	Directories    *directory.Service
	Lists          *lists.Service
	Evaluations    *evaluation.Service
	Proofs         *signing.Service
	Subjects       *subject.Service
	Aliases        *alias.Service
	Signals        *signal.Service
	Passkeys       *passkey.Service
	Recoveries     *recovery.Service
	Endpoints      *webhook.Endpoints
	Destinations   *destination.Service
	Hub            *stream.Hub
	AuditSigner    audit.Signer
	Workflows      Workflows
	Model          func() *scoring.Model                       // the current scoring model, for /meta
	Ready          func(ctx context.Context) map[string]string // state of each capability that can be unavailable, for /meta
}

// Workflows starts and updates workflow runs (workflows.Client).
type Workflows interface {
	challenge.Workflow
	hold.Workflow
	change.Workflow
	evaluation.Workflow
	enrollment.Workflow
}

// handlers has the handlers of every resource.
type handlers struct {
	meta           *metaHandlers
	credentials    *credentialHandlers
	signing        *signingKeyHandlers
	environment    *environmentHandlers
	actions        *actionHandlers
	simulations    *simulationHandlers
	authorizations *authorizationHandlers
	access         *accessHandlers
	proofs         *proofHandlers
	challenges     *challengeHandlers
	standing       *standingHandlers
	reviews        *reviewHandlers
	changes        *changeHandlers
	teams          *teamHandlers
	lists          *listHandlers
	evaluations    *evaluationHandlers
	subjects       *subjectHandlers
	sessions       *sessionHandlers
	legacy         *legacyHandlers
	templates      *templateHandlers
	enrollments    *enrollmentHandlers
	passkeys       *passkeyHandlers
	recoveries     *recoveryHandlers
	webhooks       *webhookHandlers
	destinations   *destinationHandlers
	activity       *activityHandlers
	audit          *auditHandlers
	stream         *streamHandlers
}

func newHandlers(config Config, d Deps, chain *middleware.Chain) *handlers {
	v := d.Services
	return &handlers{
		meta:           &metaHandlers{version: config.Version, ready: v.Ready, model: v.Model, maxFrame: chain.MaxFrameBytes()},
		credentials:    &credentialHandlers{Identity: d.Identity, Store: d.Store, Proofs: v.Proofs},
		signing:        &signingKeyHandlers{Proofs: v.Proofs},
		environment:    &environmentHandlers{Tenancy: v.Tenancy, Changes: v.Changes},
		actions:        &actionHandlers{Actions: v.Actions, Changes: v.Changes},
		changes:        &changeHandlers{Changes: v.Changes, Decider: change.NewDecider(v.Changes, v.Workflows)},
		teams:          &teamHandlers{Teams: v.Teams, Changes: v.Changes},
		lists:          &listHandlers{Lists: v.Lists, Changes: v.Changes},
		simulations:    &simulationHandlers{Actions: v.Actions, Authorizations: v.Authorizations},
		authorizations: &authorizationHandlers{Authorizations: v.Authorizations, Clock: d.Clock, metrics: d.Metrics},
		access: &accessHandlers{
			Actions: v.Actions, Authorizations: v.Authorizations, Challenges: v.Challenges, Clock: d.Clock, Log: d.Log,
			BaseURL: config.BaseURL, contract: chain.Contract(), metrics: d.Metrics, takeQuota: chain.TakeQuota,
		},
		proofs:       &proofHandlers{Proofs: v.Proofs},
		challenges:   &challengeHandlers{Challenges: v.Challenges, Resolver: challenge.NewResolver(v.Challenges, v.Workflows)},
		standing:     &standingHandlers{Authorizations: v.Authorizations, Standing: v.Standing, Links: v.StandingLinks, Clock: d.Clock},
		reviews:      &reviewHandlers{Holds: v.Holds, After: v.AfterReviews, Reviewer: hold.NewReviewer(v.Holds, v.Workflows)},
		evaluations:  &evaluationHandlers{Evaluations: v.Evaluations, Closer: evaluation.NewCloser(v.Evaluations, v.Workflows)},
		legacy:       &legacyHandlers{Legacy: v.Legacy, Sessions: v.Sessions, figures: d.Metrics},
		sessions:     &sessionHandlers{Sessions: v.Sessions, metrics: d.Metrics},
		templates:    &templateHandlers{Templates: v.Templates},
		enrollments:  &enrollmentHandlers{Enrollments: v.Enrollments, Completer: enrollment.NewCompleter(v.Enrollments, v.Workflows)},
		subjects:     &subjectHandlers{Subjects: v.Subjects, Changes: v.Changes, Aliases: v.Aliases},
		passkeys:     &passkeyHandlers{Passkeys: v.Passkeys},
		recoveries:   &recoveryHandlers{Recoveries: v.Recoveries},
		webhooks:     &webhookHandlers{Endpoints: v.Endpoints, Changes: v.Changes},
		activity:     &activityHandlers{Store: d.Store},
		audit:        &auditHandlers{Store: d.Store, Clock: d.Clock, Signer: v.AuditSigner},
		stream:       &streamHandlers{Streams: &sse.Server{Hub: v.Hub, Identity: d.Identity}, Clock: d.Clock, Tally: d.Tally},
		destinations: &destinationHandlers{Destinations: v.Destinations, Changes: v.Changes},
	}
}
