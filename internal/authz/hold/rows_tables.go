package hold

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var holds = pg.Declare[models.Hold](pg.Table{
	Name: "holds", Key: []string{"authorization_id"}, Placed: pg.ByEnvironment,
	Refers: []string{"authorizations"},
	Of:     pg.OfEnvironment,
	Fixed: []string{
		"authorization_id", "tenant_id", "environment_id", "action_id", "subject_uid", "risk_class", "approvals_required", "teams_required",
		"self_review_barred", "opened_at", "remind_at", "due_at",
	},
	Added:  []string{"ends_at", "repeat_approvers", "requester_person", "glass_team", "glass_approvals", "glass_seconds", "working_hours"},
	Logged: []string{"status", "reminded_at", "resolved_at", "resolved_by", "child_authorization_id", "assigned_to", "assigned_at"},
	MAC: []string{
		"authorization_id", "tenant_id", "environment_id", "action_id", "subject_uid", "risk_class", "approvals_required", "teams_required",
		"self_review_barred", "opened_at", "due_at",
	},
	OwnEntries: true,
	Subject:    &pg.OfSubject{Ends: []pg.Incident{pg.Recovery, pg.Erasure, pg.AccountAtRisk}, Stays: "the follow-up decision of a revoked subject is deny", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "authorization_id action_id risk_class status approvals_required @opened_at @remind_at @reminded_at @due_at @resolved_at " +
			"resolved_by self_review_barred @ends_at repeat_approvers requester_person glass_team glass_approvals glass_seconds working_hours child_authorization_id assigned_to @assigned_at",
		Order: "opened_at, authorization_id",
	},
	Ends: &pg.Ends{States: []string{"case when r.status = 'pending' then r.authorization_id end"}, UselessAt: "coalesce(r.ends_at, r.due_at)"},
})

var _ = pg.Declare[models.HoldTeam](pg.Table{
	Name: "hold_teams", Key: []string{"authorization_id", "team", "step"}, Placed: pg.ByEnvironment,
	Refers:     []string{"holds"},
	Of:         pg.OfEnvironment,
	Fixed:      []string{"authorization_id", "tenant_id", "environment_id", "team", "approvals", "escalate_team", "escalate_at"},
	Added:      []string{"step", "escalate_after", "fallback_team", "candidate", "person", "fallback_reason"},
	Logged:     []string{"escalated_at"},
	OwnEntries: true,
	Subject:    &pg.OfSubject{Stays: "a record", Erased: pg.DeletedWithRow},
	Exported:   &pg.Export{Not: "the teams that the policy wants approvals of, which the explanation of the decision names"},
})

var _ = pg.Declare[models.HoldStep](pg.Table{
	Name: "hold_steps", Key: []string{"authorization_id", "step"}, Placed: pg.ByEnvironment,
	Refers:     []string{"holds"},
	Of:         pg.OfEnvironment,
	Fixed:      []string{"authorization_id", "tenant_id", "environment_id", "step", "name", "approvals", "within_seconds", "timeout_team"},
	Moves:      []string{"opened_at", "due_at"},
	Logged:     []string{"satisfied_at"},
	OwnEntries: true,
	Subject:    &pg.OfSubject{Stays: "a record", Erased: pg.DeletedWithRow},
	Exported: &pg.Export{
		Columns: "authorization_id step name approvals within_seconds timeout_team @opened_at @due_at @satisfied_at",
		From:    "hold_steps where environment_id = $2 and authorization_id in (select authorization_id from holds where environment_id = $2 and subject_uid = $1)",
		Order:   "authorization_id, step",
	},
})

var _ = pg.DeclareSQL(pg.Table{
	Name: "hold_viewers", Key: []string{"authorization_id", "viewer"}, Placed: pg.ByEnvironment,
	Refers:   []string{"holds"},
	Free:     pg.Reasons{"*": "work and state of hours"},
	Subject:  &pg.OfSubject{Stays: "names reviewers only", Erased: pg.DeletedWithRow},
	Exported: &pg.Export{Not: "reviewers who have a hold open, for an hour; nothing about the subject"},
})

var _ = pg.Declare[models.Review](pg.Table{
	Name: "reviews", Key: []string{"authorization_id", "reviewer", "step"}, Placed: pg.ByEnvironment,
	Refers:     []string{"holds"},
	Of:         "environment_id = @environment",
	Fixed:      []string{"authorization_id", "environment_id", "reviewer", "resolution", "note_digest", "at"},
	Moves:      []string{"principal"},
	Added:      []string{"step"},
	MAC:        []string{"authorization_id", "environment_id", "reviewer", "principal", "resolution", "at"},
	Free:       pg.Reasons{"receipt": "returned to repeats; the follow-up decision is a row of its own"},
	OwnEntries: true,
	Subject:    &pg.OfSubject{Stays: "counts only for a hold that is pending", Erased: pg.DeletedWithRow},
	Exported: &pg.Export{
		Columns: "authorization_id reviewer step principal resolution note_digest @at",
		From:    "reviews where environment_id = $2 and authorization_id in (select authorization_id from holds where environment_id = $2 and subject_uid = $1)",
		Order:   "at, authorization_id, reviewer, step",
	},
})

var _ = pg.Declare[models.GivenReview](pg.Table{
	Name: "given_reviews", Key: []string{"authorization_id", "reviewer"}, Placed: pg.ByEnvironment,
	Refers: []string{"holds"},
	Of:     pg.OfEnvironment,
	Moves:  []string{"authorization_id", "environment_id", "tenant_id", "reviewer", "resolution", "request_id", "given_at", "due_at"},
	Added:  []string{"step"},
	Free: pg.Reasons{
		"note":     "sealed with the hold and the reviewer",
		"remark":   "shown to the reviewer",
		"taken_at": "ends the undoing, and decides nothing of the review",
	},
	Unlogged: "waits for seconds: the review that it becomes is an entry",
	Sealed:   []pg.Sealed{{Column: "note", While: "note is not null"}},
	Subject:  &pg.OfSubject{Stays: "moves only a hold that is pending", Erased: pg.DeletedWithRow},
	Exported: &pg.Export{Not: "reviews that wait for seconds; what they become is exported"},
})

var _ = pg.Declare[models.ReviewNote](pg.Table{
	Name: "review_notes", Key: []string{"authorization_id", "reviewer", "note_digest"}, Placed: pg.ByEnvironment,
	Refers:  []string{"holds"},
	Free:    pg.Reasons{"*": "sealed by the master key with the id of the record"},
	Sealed:  []pg.Sealed{{Column: "note"}},
	Subject: &pg.OfSubject{Stays: "a record", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "authorization_id reviewer note_digest #note @written_at",
		Order:   "written_at, authorization_id, reviewer",
	},
	// The notes on a hold stay while it is pending, and while its break-glass waits for its review.
	Retained: &pg.Retention{Class: "notes", Where: `r.written_at < $1
			and not exists (select from holds h where h.authorization_id = r.authorization_id and h.environment_id = r.environment_id and h.status = 'pending')
			and not exists (select from after_reviews a where a.authorization_id = r.authorization_id and a.environment_id = r.environment_id and a.status = 'open')`},
})
