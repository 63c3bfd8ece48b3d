package audit

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// subjectTypes are the entries that record the state of a subject, its templates, its passkeys and its standing approvals.
var subjectTypes = []string{
	string(events.SubjectCreated), string(events.SubjectRevoked), string(events.SubjectReinstated), string(events.SubjectAdaptationChanged), string(events.SubjectConsentChanged),
	string(events.EnrollmentCompleted), string(events.TemplateAdapted), string(events.TemplateTrained), string(events.TemplateRolledBack),
	string(events.TemplateReset), string(events.RecordsChanged), string(events.SubjectClaimsCapped), string(events.SubjectChallengeRequired),
	string(events.RecoveryStarted),
}

// subjects compares every stored subject with the log, a page at a time, then looks for missing ones.
func (r *reconciliation) subjects(ctx context.Context) error {
	var after RowPosition
	for !r.full() {
		page, err := subjectRecords(ctx, r.q, r.scope, subjectTypes, after, statePage)
		if err != nil {
			return err
		}
		var uids []string
		for _, s := range page {
			if s.Subject.Status == models.SubjectErasing {
				uids = append(uids, s.Subject.UID)
			}
		}
		erasing, err := isErasing(ctx, r.q, r.scope, uids)
		if err != nil {
			return err
		}
		for _, s := range page {
			r.state.Subjects++
			r.state.Templates += int64(len(s.Templates))
			r.state.Passkeys += int64(len(s.Passkeys))
			if erasing[s.Subject.UID] {
				continue // its rows are removed one after the other
			}
			for _, f := range subjectContradictions(s) {
				r.found(f)
			}
		}
		r.progress("subjects", r.state.Subjects)
		if len(page) < statePage {
			break
		}
		last := page[len(page)-1].Subject
		after = RowPosition{At: last.CreatedAt, ID: last.UID}
	}
	lost, err := lostSubjects(ctx, r.q, r.scope, maxFindings)
	for _, l := range lost {
		r.found(Finding{Kind: Missing, Event: l.Event, Target: l.UID, Field: "subjects", Detail: "the subject is in the log and stored no more, and no erasure removed it"})
	}
	return err
}

// subjectContradictions compares a subject with its entries.
func subjectContradictions(s SubjectRecord) []Finding {
	c := &comparison{target: s.Subject.UID}
	log := subjectAccount{rows: changedRows{}}
	for i := range s.Events {
		log.apply(&s.Events[i])
	}
	if log.created == nil {
		c.add(Unsupported, "subjects", "", s.Subject.UID, "the subject is stored and no entry of the log created it")
		return c.findings
	}
	c.event = log.created.ID
	if text(log.created.Subject) != s.Subject.ExternalID {
		c.add(Contradicted, "subjects.external_id", "", "", "the subject's id is not the one that the log created it with")
	}
	c.at("subjects.created_at", &log.created.At, &s.Subject.CreatedAt)
	c.same("subjects.status", log.status(), string(s.Subject.Status))
	c.at("subjects.revoked_at", atOf(log.revoked), s.Subject.RevokedAt)
	c.at("subjects.reinstated_at", atOf(log.reinstated), s.Subject.ReinstatedAt)
	c.same("subjects.adaptation_frozen", strconv.FormatBool(log.frozen), strconv.FormatBool(s.Subject.AdaptationFrozen))
	c.same("subjects.research_consent", strconv.FormatBool(log.consented), strconv.FormatBool(s.Subject.ResearchConsent))
	c.at("subjects.claim_cap_until", log.capped, s.Subject.ClaimCapUntil)
	c.at("subjects.challenge_until", log.suspected, s.Subject.ChallengeUntil)
	if !s.Bridging {
		c.same("subjects.recovery_id", log.recovery, text(s.Subject.RecoveryID))
	}
	c.templates(s.Templates, log.templates)
	c.lost(s.Templates, log.templates)
	c.recorded(slices.Concat(s.Passkeys, s.Standing), log.rows)
	return c.findings
}

// subjectAccount is the state of a subject according to the log.
type subjectAccount struct {
	created           *models.Event
	revoked           *models.Event
	reinstated        *models.Event
	frozen, consented bool
	capped            *time.Time
	suspected         *time.Time
	recovery          string // the last that began
	templates         []templateMove
	rows              changedRows
}

// templateMove is an entry that activated a version of a template, or deactivated all. The version is named by its own id, or by
// the enrollment that trained it. A move without modality is a reset of all templates.
type templateMove struct {
	source     string
	modalities []string
	device     string
}

// about reports whether the move concerns the templates of the row's kind.
func (m templateMove) about(t models.Template) bool {
	return m.modalities == nil || m.names(t) || m.device == t.DeviceClass && slices.Contains(m.modalities, t.Modality)
}

// names reports whether the move activated this very version.
func (m templateMove) names(t models.Template) bool {
	return m.source == t.ID || t.Origin == models.OriginEnrollment && m.source == t.OriginRef
}

// status returns the subject's status according to its last entry.
func (a *subjectAccount) status() string {
	if a.revoked != nil {
		return string(models.SubjectRevoked)
	}
	return string(models.SubjectActive)
}

// apply updates the account with one entry.
func (a *subjectAccount) apply(e *models.Event) {
	f := factsOf(e)
	switch events.Type(e.Type) {
	case events.SubjectCreated:
		a.created = e
	case events.SubjectRevoked:
		a.revoked = e
	case events.SubjectReinstated:
		a.revoked, a.reinstated = nil, e
	case events.SubjectAdaptationChanged:
		a.frozen = f.text("frozen") == "true"
	case events.SubjectConsentChanged:
		a.consented = f.text("consented") == "true"
	case events.SubjectClaimsCapped:
		a.capped = later(a.capped, f.text("until"))
	case events.SubjectChallengeRequired:
		a.suspected = later(a.suspected, f.text("until"))
	case events.RecoveryStarted:
		a.recovery = f.text("recovery")
	case events.EnrollmentCompleted:
		a.templates = append(a.templates, templateMove{f.text("enrollment"), f.words("modalities"), f.text("device_class")})
	case events.TemplateAdapted, events.TemplateTrained, events.TemplateRolledBack:
		a.templates = append(a.templates, templateMove{f.text("template"), []string{f.text("modality")}, f.text("device_class")})
	case events.TemplateReset:
		a.templates = append(a.templates, templateMove{})
	case events.RecordsChanged:
		_ = a.rows.apply(e.ID, e.Data) // the check of the chain reports what cannot be read
	}
}

// later returns the later of a time and the one that an entry has, if it has one.
func later(a *time.Time, text string) *time.Time {
	if until, err := apitime.Parse(text); err == nil && (a == nil || until.After(*a)) {
		return &until
	}
	return a
}

// templates requires an entry in the log for every stored version, and that the active version is the last one that the log
// activated. Inactive versions may be missing: retention and newer versions remove them.
func (c *comparison) templates(rows []models.Template, log []templateMove) {
	for _, t := range rows {
		if !slices.ContainsFunc(log, func(m templateMove) bool { return m.names(t) }) {
			c.add(Unsupported, "templates", "", t.ID, "a version of a template is stored that no entry of the log learned")
			continue
		}
		c.inForce(t, lastMove(log, t))
	}
}

// lost requires a version of each kind of template that the log activated last: an active one is never removed without an entry.
func (c *comparison) lost(rows []models.Template, log []templateMove) {
	for i, m := range log {
		for _, modality := range m.modalities {
			replaced := slices.ContainsFunc(log[i+1:], func(n templateMove) bool {
				return n.modalities == nil || slices.Contains(n.modalities, modality) && n.device == m.device
			})
			if !replaced && !slices.ContainsFunc(rows, func(t models.Template) bool { return t.Modality == modality && m.names(t) }) {
				c.add(Missing, "templates", m.source, "", "the version of a template that the log activated last is stored no more")
			}
		}
	}
}

// lastMove returns the last entry about the templates of the row's kind.
func lastMove(log []templateMove, t models.Template) (last templateMove) {
	for _, m := range log {
		if m.about(t) {
			last = m
		}
	}
	return last
}

// inForce compares the active version with the last move.
func (c *comparison) inForce(t models.Template, last templateMove) {
	switch active := t.Status == models.TemplateActive; {
	case active && !last.names(t):
		c.add(Contradicted, "templates.status", last.source, t.ID, "the active version of a template is not the one that the log activated last")
	case !active && last.names(t):
		c.add(Contradicted, "templates.status", t.ID, string(t.Status), "the version of a template that the log activated last is not active")
	}
}

// recorded compares each row whose changes are entries records.changed with its last state in the log.
func (c *comparison) recorded(rows []pg.Row, log changedRows) {
	for _, row := range rows {
		last, known := log.take(row)
		if f, wrong := last.compare(row, known); wrong {
			c.findings = append(c.findings, f)
		}
	}
	for _, last := range log {
		if last.Digest != "" {
			c.findings = append(c.findings, last.missing())
		}
	}
}
