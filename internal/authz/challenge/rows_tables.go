package challenge

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var challenges = pg.Declare[models.Challenge](pg.Table{
	Name: "challenges", Key: []string{"id"}, Placed: pg.ByEnvironment,
	Refers: []string{"authorizations"},
	Of:     pg.OfEnvironment, Bridged: true,
	Fixed: []string{
		"id", "tenant_id", "environment_id", "authorization_id", "subject_uid", "methods", "display", "display_digest", "action_hash",
		"random", "created_at", "expires_at",
	},
	Logged:     []string{"status", "failures", "settled_at", "method_used", "strength", "child_authorization_id"},
	Free:       pg.Reasons{"completion_hash": "recognises a repeat of the request that completed the challenge"},
	OwnEntries: true,
	Subject:    &pg.OfSubject{Ends: []pg.Incident{pg.Recovery, pg.Erasure, pg.AccountAtRisk}, Stays: "the follow-up decision of a revoked subject is deny", Erased: pg.DeletedBySubject},
	Exported: &pg.Export{
		Columns: "id authorization_id status methods display display_digest action_hash failures @created_at @expires_at @settled_at " +
			"method_used strength child_authorization_id",
		Order: "created_at, id",
	},
	Ends: &pg.Ends{States: []string{"case when r.status = 'open' then r.id end"}, UselessAt: "r.expires_at"},
})

var _ = pg.Declare[models.ChallengeLink](pg.Table{
	Name: "challenge_links", Key: []string{"mac"}, Placed: pg.ByEnvironment,
	Refers:   []string{"challenges"},
	Free:     pg.Reasons{"*": "work and state of hours"},
	Subject:  &pg.OfSubject{Stays: "opens only a challenge that is open", Erased: pg.DeletedWithRow},
	Exported: &pg.Export{Not: "the MAC of a ticket and its creation time; the ticket itself expires within minutes"},
})
