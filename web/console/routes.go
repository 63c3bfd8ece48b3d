package console

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/models"
)

// Right names the requirement of a route. Every route must name one; there is no default.
type Right string

// The rights. Open requires no session; SignedIn requires a session but no role. The others are permissions, the same that
// narrow API keys; models.Role lists those of each role.
const (
	Open           Right = "open"
	SignedIn       Right = "signed in"
	AnyRole        Right = "any role"
	SeeReviews           = Right(models.PermissionDecisionsRead)
	Review               = Right(models.PermissionReview)
	Explore              = Right(models.PermissionDecisionsRead)
	SeePolicies          = Right(models.PermissionConfigRead)
	Activate             = Right(models.PermissionPolicyActivate)
	SeeChanges           = Right(models.PermissionConfigRead)
	DecideChanges        = Right(models.PermissionPolicyActivate)
	SeeEvaluations       = Right(models.PermissionConfigRead)
	SeeLists             = Right(models.PermissionConfigRead)
	ChangeLists          = Right(models.PermissionPolicyActivate)
	AddFromCase          = Right(models.PermissionDecisionsRead + both + models.PermissionPolicyActivate)
	SeeWebhooks          = Right(models.PermissionConfigRead)
	ChangeWebhooks       = Right(models.PermissionWebhooks)
	WritePolicies        = Right(models.PermissionPolicyWrite)
	ChangeActions        = Right(models.PermissionPolicyActivate)
	RunEvaluations       = Right(models.PermissionEvaluations)
	SeeKeys              = Right(models.PermissionConfigRead)
	ChangeKeys           = Right(models.PermissionCredentials)
	SeePeople            = Right(models.PermissionConfigRead)
	ChangePeople         = Right(models.PermissionCredentials)
	SeeTeams             = AnyRole
	ChangeTeams          = Right(models.PermissionPolicyActivate)
	SeeSettings          = Right(models.PermissionConfigRead)
	ChangeSettings       = Right(models.PermissionConfig)
	SeeHealth            = Right(models.PermissionConfigRead)
	SeeAudit             = Right(models.PermissionAudit)
)

// both is between the permissions of a right that requires two.
const both = " and "

// Permits reports whether a person with these roles has the right.
func Permits(r Right, roles []models.Role) bool {
	for part := range strings.SplitSeq(string(r), both) {
		has := slices.ContainsFunc(roles, func(role models.Role) bool {
			return r == AnyRole || role.Permissions().Has(models.Permission(part))
		})
		if !has {
			return false
		}
	}
	return true
}

func permits(r Right, g staff.Grant) bool { return Permits(r, g.Roles) }

// Route is one entry of the console's route table.
type Route struct {
	Method string
	Path   string
	Name   string // for logs and metrics
	Right  Right
}

// line is a route with its handler. A fresh route requires a recent use of the passkey. An unattended route is requested by
// the page's script and does not extend the session.
// A received route is called by another server.
type line struct {
	Route
	fresh, unattended bool
	received          bool
	old               bool // lists of records: may be read from a standby
	handler           func(*visit) error
}

const (
	get  = fiber.MethodGet
	post = fiber.MethodPost
)

// table returns all routes of the console. A test calls each with every role, with none, and from a different tenant.
func (c *console) table() []line {
	see := func(path, name string, r Right, h func(*visit) error) line {
		return line{Route: Route{get, Prefix + path, "console_" + name, r}, handler: h}
	}
	records := func(path, name string, r Right, h func(*visit) error) line {
		l := see(path, name, r, h)
		l.old = true
		return l
	}
	change := func(path, name string, r Right, fresh bool, h func(*visit) error) line {
		return line{Route: Route{post, Prefix + path, "console_" + name, r}, fresh: fresh, handler: h}
	}
	return []line{
		see("", "home", SignedIn, c.home),
		see("/", "home", SignedIn, c.home),
		see("/sign-in", "sign_in", Open, c.signInPage),
		change("/sign-in/options", "sign_in_options", Open, false, c.signInOptions),
		change("/sign-in", "sign_in_complete", Open, false, c.signIn),
		change("/sign-out", "sign_out", Open, false, c.signOut),
		see("/sign-in/:tenant/:provider", "provider_start", Open, c.providerStart),
		see("/sign-in/:tenant/:provider/callback", "provider_callback", Open, c.providerCallback),
		{Route: Route{post, Prefix + "/sign-in/:tenant/:provider/logout", "console_provider_logout", Open}, received: true, handler: c.providerLogout},
		change("/first-passkey", "first_passkey", SignedIn, false, c.firstPasskey),
		see("/invitation", "invitation", Open, c.invitationPage),
		change("/invitation/look", "invitation_look", Open, false, c.look),
		change("/invitation/options", "invitation_options", Open, false, c.invitationOptions),
		change("/invitation", "invitation_complete", Open, false, c.join),

		see("/:environment", "start", AnyRole, c.start),
		change("/:environment/confirm/options", "confirm_options", AnyRole, false, c.confirmOptions),
		change("/:environment/confirm", "confirm", AnyRole, false, c.confirm),
		{Route: Route{get, Prefix + "/:environment/stream", "console_stream", SeeReviews}, unattended: true, handler: c.stream},

		see("/:environment/search", "search", AnyRole, c.find),
		change("/:environment/filters", "filter_save", AnyRole, false, c.saveFilter),
		change("/:environment/filters/:id", "filter_rename", AnyRole, false, c.renameFilter),
		change("/:environment/filters/:id/delete", "filter_delete", AnyRole, false, c.deleteFilter),

		see("/:environment/reviews", "reviews", SeeReviews, c.desk),
		change("/:environment/reviews/selected", "reviews_selected", Review, false, c.selected),
		change("/:environment/reviews/settle", "reviews_settle", Review, true, c.settle),
		change("/:environment/reviews/undo", "reviews_undo", Review, false, c.undo),
		see("/:environment/reviews/:id", "review", SeeReviews, c.reviewPage),
		change("/:environment/reviews/:id", "review_resolve", Review, true, c.resolve),
		change("/:environment/reviews/:id/undo", "review_undo", Review, false, c.undo),
		change("/:environment/reviews/:id/assign", "review_assign", Review, false, c.assign),
		{Route: Route{post, Prefix + "/:environment/reviews/:id/leave", "console_review_leave", Review}, unattended: true, handler: c.leave},

		records("/:environment/decisions", "decisions", Explore, c.decisions),
		see("/:environment/decisions/:id", "decision", Explore, c.decision),
		records("/:environment/subjects/:subject", "subject", Explore, c.subject),

		see("/:environment/export/reviews", "export_reviews", SeeReviews, c.export(c.reviewsExport)),
		records("/:environment/export/decisions", "export_decisions", Explore, c.export(c.decisionsExport)),
		see("/:environment/export/policies", "export_policies", SeePolicies, c.export(c.policiesExport)),
		see("/:environment/export/lists", "export_lists", SeeLists, c.export(c.listsExport)),
		see("/:environment/export/lists/:id", "export_entries", SeeLists, c.export(c.entriesExport)),
		see("/:environment/export/changes", "export_changes", SeeChanges, c.export(c.changesExport)),
		records("/:environment/export/evaluations", "export_evaluations", SeeEvaluations, c.export(c.evaluationsExport)),
		see("/:environment/export/webhooks", "export_webhooks", SeeWebhooks, c.export(c.webhooksExport)),
		records("/:environment/export/webhooks/:id", "export_attempts", SeeWebhooks, c.export(c.attemptsExport)),
		see("/:environment/export/keys", "export_keys", SeeKeys, c.export(c.keysExport)),
		see("/:environment/export/people", "export_people", SeePeople, c.export(c.peopleExport)),
		see("/:environment/export/audit", "export_audit", SeeAudit, c.export(c.auditExport)),

		see("/:environment/policies", "policies", SeePolicies, c.policies),
		see("/:environment/policies/new", "action_new", WritePolicies, c.newAction),
		change("/:environment/policies/new", "action_create", WritePolicies, false, c.createAction),
		see("/:environment/policies/:action", "policy", SeePolicies, c.policy),
		see("/:environment/policies/:action/edit", "action_edit", ChangeActions, c.editAction),
		change("/:environment/policies/:action/edit", "action_update", ChangeActions, true, c.updateAction),
		change("/:environment/policies/:action/archive", "action_archive", ChangeActions, true, c.archiveAction),
		see("/:environment/policies/:action/draft", "draft", WritePolicies, c.draft),
		change("/:environment/policies/:action/draft", "draft_create", WritePolicies, false, c.createDraft),
		see("/:environment/policies/:action/draft-text", "draft_text", WritePolicies, c.draftText),
		change("/:environment/policies/:action/draft-text", "draft_text_create", WritePolicies, false, c.createDraftText),
		change("/:environment/policies/:action/rule", "rule_write", WritePolicies, false, c.writeRule),
		change("/:environment/policies/:action/matches", "rule_matches", WritePolicies, false, c.ruleMatches),
		see("/:environment/policies/:action/:version", "policy_version", SeePolicies, c.policyVersion),
		change("/:environment/policies/:action/:version/activate", "policy_activate", Activate, true, c.activate),
		change("/:environment/policies/:action/:version/roll-back", "policy_roll_back", Activate, true, c.rollBack),

		see("/:environment/lists", "lists", SeeLists, c.lists),
		see("/:environment/lists/new", "list_new", ChangeLists, c.newList),
		change("/:environment/lists/new", "list_create", ChangeLists, true, c.createList),
		see("/:environment/lists/add", "list_add_from", AddFromCase, c.newFromDecision),
		change("/:environment/lists/add", "list_added_from", AddFromCase, true, c.addFromDecision),
		see("/:environment/lists/:id", "list", SeeLists, c.list),
		see("/:environment/lists/:id/add", "list_entry_new", ChangeLists, c.newEntry),
		change("/:environment/lists/:id/add", "list_entry_add", ChangeLists, true, c.addEntry),
		change("/:environment/lists/:id/entries/:entry/remove", "list_entry_remove", ChangeLists, true, c.removeEntry),
		change("/:environment/lists/:id/delete", "list_delete", ChangeLists, true, c.deleteList),

		see("/:environment/changes", "changes", SeeChanges, c.changes),
		see("/:environment/changes/:id", "change", SeeChanges, c.changePage),
		change("/:environment/changes/:id", "change_decide", DecideChanges, true, c.decideChange),
		change("/:environment/changes/:id/reason", "change_explain", DecideChanges, false, c.explainChange),

		records("/:environment/evaluations", "evaluations", SeeEvaluations, c.evaluations),
		see("/:environment/evaluations/new", "evaluation_new", RunEvaluations, c.newEvaluation),
		change("/:environment/evaluations/new", "evaluation_create", RunEvaluations, false, c.createEvaluation),
		records("/:environment/evaluations/:id", "evaluation", SeeEvaluations, c.evaluation),
		change("/:environment/evaluations/:id/close", "evaluation_close", RunEvaluations, false, c.closeEvaluation),

		see("/:environment/notifications", "notifications", AnyRole, c.notifications),
		change("/:environment/notifications", "notices_choose", Review, false, c.chooseNotices),
		see("/:environment/notifications/address", "notice_address", Review, c.noticeAddress),
		change("/:environment/notifications/address", "notice_address_set", Review, false, c.setNoticeAddress),
		see("/:environment/notifications/times", "notice_times", Review, c.noticeTiming),
		change("/:environment/notifications/times", "notice_times_set", Review, false, c.setNoticeTiming),
		see("/:environment/notifications/code", "notice_code", Review, c.noticeCode),
		change("/:environment/notifications/code", "notice_code_confirm", Review, false, c.confirmNoticeAddress),
		see("/:environment/notifications/chats/new", "chat_new", ChangeWebhooks, c.newChat),
		change("/:environment/notifications/chats/new", "chat_create", ChangeWebhooks, true, c.createChat),
		change("/:environment/notifications/chats/:id/test", "chat_test", ChangeWebhooks, false, c.testChat),
		change("/:environment/notifications/chats/:id/remove", "chat_remove", ChangeWebhooks, true, c.removeChat),

		see("/:environment/webhooks", "webhooks", SeeWebhooks, c.webhooks),
		see("/:environment/webhooks/new", "webhook_new", ChangeWebhooks, c.newWebhook),
		change("/:environment/webhooks/new", "webhook_create", ChangeWebhooks, true, c.createWebhook),
		see("/:environment/webhooks/:id", "webhook", SeeWebhooks, c.webhook),
		see("/:environment/webhooks/:id/edit", "webhook_edit", ChangeWebhooks, c.editWebhook),
		change("/:environment/webhooks/:id/edit", "webhook_update", ChangeWebhooks, true, c.updateWebhook),
		change("/:environment/webhooks/:id/rotate", "webhook_rotate", ChangeWebhooks, true, c.rotateWebhook),
		change("/:environment/webhooks/:id/delete", "webhook_delete", ChangeWebhooks, true, c.deleteWebhook),
		change("/:environment/webhooks/:id/test", "webhook_test", ChangeWebhooks, false, c.testWebhook),
		change("/:environment/webhooks/:id/replay", "webhook_replay", ChangeWebhooks, false, c.replayWebhook),
		change("/:environment/webhooks/:id/enable", "webhook_enable", ChangeWebhooks, false, c.enableWebhook),
		change("/:environment/webhooks/:id/disable", "webhook_disable", ChangeWebhooks, true, c.disableWebhook),

		see("/:environment/keys", "keys", SeeKeys, c.keys),
		see("/:environment/keys/new", "key_new", ChangeKeys, c.newKey),
		change("/:environment/keys/new", "key_issue", ChangeKeys, true, c.issueKey),
		change("/:environment/keys/:id/rotate", "key_rotate", ChangeKeys, true, c.rotateKey),
		change("/:environment/keys/:id/revoke", "key_revoke", ChangeKeys, true, c.revokeKey),

		see("/:environment/people", "people", SeePeople, c.people),
		see("/:environment/people/new", "person_new", ChangePeople, c.newPerson),
		change("/:environment/people/new", "person_invite", ChangePeople, true, c.invitePerson),
		see("/:environment/people/:id", "person", ChangePeople, c.person),
		change("/:environment/people/:id", "person_roles", ChangePeople, true, c.changePerson),
		change("/:environment/people/:id/invite", "person_invite_again", ChangePeople, true, c.invitePersonAgain),
		change("/:environment/people/:id/confirm", "person_confirm", ChangePeople, true, c.confirmPerson),
		see("/:environment/people/:id/link", "person_link_form", ChangePeople, c.linkPersonForm),
		change("/:environment/people/:id/link", "person_link", ChangePeople, true, c.linkPerson),
		change("/:environment/people/:id/remove", "person_remove", ChangePeople, true, c.removePerson),

		see("/:environment/teams", "teams", SeeTeams, c.teams),
		see("/:environment/teams/new", "team_new", ChangeTeams, c.newTeam),
		change("/:environment/teams/new", "team_create", ChangeTeams, true, c.createTeam),
		see("/:environment/teams/:id", "team", ChangeTeams, c.editTeam),
		change("/:environment/teams/:id", "team_update", ChangeTeams, true, c.updateTeam),
		change("/:environment/teams/:id/delete", "team_delete", ChangeTeams, true, c.deleteTeam),
		see("/:environment/deputies/new", "deputy_new", Review, c.newDeputy),
		change("/:environment/deputies/new", "deputy_name", Review, true, c.nameDeputy),
		change("/:environment/deputies/:id/withdraw", "deputy_withdraw", Review, true, c.withdrawDeputy),

		see("/:environment/settings", "settings", SeeSettings, c.settings),
		change("/:environment/settings", "settings_update", ChangeSettings, true, c.updateSettings),
		see("/:environment/health", "health", SeeHealth, c.health),
		see("/:environment/audit", "audit", SeeAudit, c.audit),
		see("/:environment/audit/verify", "audit_verify", SeeAudit, c.verifyAudit),
	}
}

// Routes returns the route table, for tests.
func Routes() []Route {
	lines := (&console{}).table()
	out := make([]Route, len(lines))
	for i, l := range lines {
		out[i] = l.Route
	}
	return out
}

func (c *console) register() {
	for _, l := range c.table() {
		add := c.router.Get
		switch {
		case l.received:
			add = c.router.Receive
		case l.Method == post:
			add = c.router.Post
		}
		add(l.Path, l.Name, c.guard(l))
	}
}
