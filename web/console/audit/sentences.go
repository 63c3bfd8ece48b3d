package audit

import (
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/show"
)

// phrases say what the actor of an entry did, by the entry's type. A name in braces stands for a field of the entry. Of several phrases the first
// one is used whose fields all have a value: one that begins with "field? " asks for that field without naming it.
var phrases = map[events.Type][]string{
	"authorization.decided":           {"parent? decided again about {action} of {subject}: {decision}", "requested {action} for {subject}: {decision}"},
	"authentication.decided":          {"requested an authentication of {subject}"},
	"challenge.requested":             {"asked {subject} to confirm {action}"},
	"challenge.completed":             {"confirmed {action} of {subject} with {method}: {child_decision}", "confirmed {action} of {subject}"},
	"challenge.cancelled":             {"cancelled the challenge of {subject} about {action}: {reason}"},
	"challenge.expired":               {"ended the challenge of {subject} about {action}: its time had passed"},
	"challenge.failed":                {"ended the challenge of {subject} about {action} after {failures} refused attempts"},
	"challenge.attempt_failed":        {"refused an attempt of {subject} to confirm {action}: {reason}"},
	"challenge.link_created":          {"created a link for {subject} to confirm {action}"},
	"challenge.link_opened":           {"opened the link for {subject} to confirm {action}"},
	"challenge.link_refused":          {"refused to open the link for {subject}: {reason}"},
	"hold.opened":                     {"held {action} of {subject} for review"},
	"hold.reminder":                   {"reminded reviewers of the hold of {subject}: half of its time has passed"},
	"hold.escalated":                  {"passed the hold of {subject} on to the team {escalated_to}"},
	"hold.step_approved":              {"gave the step {step} of the hold of {subject} its approvals"},
	"hold.step_opened":                {"opened the step {step} of the hold of {subject}"},
	"hold.reviewed":                   {"approved the hold of {subject}: {approvals} of {approvals_required} approvals"},
	"hold.approved":                   {"approved {action} of {subject}: {child_decision}", "approved {action} of {subject}"},
	"hold.rejected":                   {"rejected {action} of {subject} as {outcome}", "rejected {action} of {subject}"},
	"hold.expired":                    {"ended the hold of {subject}: no one reviewed it in time"},
	"hold.withdrawn":                  {"withdrew {action} of {subject}"},
	"hold.glass_broken":               {"approved {action} of {subject} alone, of the team {team}"},
	"after_review.given":              {"found the break-glass of {action} {verdict}"},
	"after_review.overdue":            {"found that the break-glass of {action} by {broken_by} was not reviewed in time"},
	"after_review.closed":             {"closed the review of the break-glass of {action}: {verdict}"},
	"standing.requested":              {"asked for a standing approval of {action} for {subject}"},
	"standing.begun":                  {"gave a standing approval of {action} for {subject}"},
	"standing.used":                   {"used a standing approval of {action} of {subject}, {uses} of {max_uses}"},
	"standing.returned":               {"gave back a use of the standing approval of {action} of {subject}"},
	"standing.link_created":           {"created a link for {subject} to their standing approvals"},
	"standing.link_opened":            {"opened the link to the standing approvals of {subject}"},
	"standing.link_refused":           {"refused to open the link of {subject} to their standing approvals: {reason}"},
	"standing.ended":                  {"ended the standing approval of {action} of {subject}: {reason}", "ended the standing approval of {action}: {reason}"},
	"directory.changed":               {"changed the directory of staff"},
	"directory.removed":               {"removed the directory of staff"},
	"directory_token.created":         {"created the token {token} of the directory"},
	"directory_token.rotated":         {"replaced the token {token} of the directory"},
	"directory_token.revoked":         {"revoked the token {token} of the directory"},
	"directory_user.linked":           {"linked a user of the directory with {person}"},
	"hold.assigned":                   {"assigned_to? previous? took over the hold of {subject} from {previous}", "assigned_to? took the hold of {subject}", "released the hold of {subject}"},
	"outcome.reported":                {"reported the outcome of {action} of {subject}: {outcome}"},
	"proof.consumed":                  {"used the proof of {action} of {subject}"},
	"proof.read":                      {"read the active proof of {action} of {subject}, which another key had requested"},
	"proof.revoked":                   {"revoked the proof of {action} of {subject}: {reason}"},
	"evaluation.created":              {"started the evaluation {evaluation}"},
	"evaluation.closed":               {"ended the evaluation {evaluation}: {result}"},
	"change.requested":                {"asked for a second approval: {kind}"},
	"change.approved":                 {"approved a change that {requested_by} had requested: {kind}"},
	"change.rejected":                 {"rejected a change that {requested_by} had requested: {kind}"},
	"change.withdrawn":                {"withdrew a change: {kind}"},
	"change.superseded":               {"approved a change too late, it was not applied: {kind}"},
	"change.expired":                  {"ended a change that no one approved in time: {kind}"},
	"trust.state_changed":             {"saw the trust in a session of {subject} change from {from} to {to}", "saw the trust in a session of {subject} become {to}"},
	"session.anomaly":                 {"found in a session of {subject}: {claim} {status}"},
	"session.started":                 {"started a session of {subject}"},
	"session.ended":                   {"ended a session of {subject}: {reason}", "ended a session of {subject}"},
	"session.expired":                 {"ended an idle session of {subject}"},
	"enrollment.started":              {"began to enroll {subject}"},
	"enrollment.requested":            {"asked to complete the enrollment of {subject}"},
	"enrollment.completed":            {"enrolled {subject}"},
	"enrollment.failed":               {"could not enroll {subject}: too little consistent evidence"},
	"recovery.started":                {"began a recovery of {subject}"},
	"recovery.ready":                  {"ended the waiting time of the recovery of {subject}"},
	"recovery.completed":              {"completed the recovery of {subject}"},
	"recovery.expired":                {"ended the recovery of {subject}: its time had passed"},
	"subject.created":                 {"created the subject {subject}"},
	"subject.revoked":                 {"revoked the subject {subject}"},
	"subject.reinstated":              {"reinstated the subject {subject}"},
	"subject.adaptation_changed":      {"changed whether the template of {subject} adapts"},
	"subject.consent_changed":         {"changed the consent of {subject} to research"},
	"subject.exported":                {"exported everything stored about {subject}"},
	"subject.erasure_requested":       {"asked to erase the subject {subject}"},
	"subject.erased":                  {"erased a subject"},
	"subject.claims_capped":           {"capped the claims about {subject} until {until}"},
	"template.rolled_back":            {"rolled the template of {subject} back to version {to_version}"},
	"template.trained":                {"trained the template of {subject}"},
	"template.adapted":                {"adapted the template of {subject}"},
	"template.reset":                  {"reset the templates of {subject}"},
	"passkey.registered":              {"registered a passkey of {subject}"},
	"passkey.revoked":                 {"revoked a passkey of {subject}: {reason}", "revoked a passkey of {subject}"},
	"passkey.registration_granted":    {"allowed {subject} to register a passkey"},
	"passkey.clone_warning":           {"saw the counter of a passkey of {subject} decrease: it may be cloned"},
	"webhook.test":                    {"sent a test to the webhook endpoint {endpoint}"},
	"webhook.failing":                 {"saw the webhook endpoint {endpoint} fail: {reason}"},
	"webhook.recovered":               {"saw the webhook endpoint {endpoint} recover"},
	"webhook.disabled":                {"disabled the webhook endpoint {endpoint}: {reason}"},
	"webhook_endpoint.created":        {"created the webhook endpoint {endpoint}"},
	"webhook_endpoint.updated":        {"changed the webhook endpoint {endpoint}"},
	"webhook_endpoint.deleted":        {"deleted the webhook endpoint {endpoint}"},
	"webhook_endpoint.enabled":        {"enabled the webhook endpoint {endpoint}"},
	"webhook_endpoint.secret_rotated": {"replaced the secret of the webhook endpoint {endpoint}"},
	"webhook_endpoint.replayed":       {"queued events again for the webhook endpoint {endpoint}"},
	"webhook_endpoint.tested":         {"tested the webhook endpoint {endpoint}"},
	"research.vectors_removed":        {"removed {removed} research vectors"},
	"research.salt_destroyed":         {"destroyed the salt of the research period {period}"},
	"background.activated":            {"activated a background model for {modality}"},
	"background.learned":              {"learned a background model for {modality} from {people} people"},
	"background.own_activated":        {"activated the environment's own background model for {modality}"},
	"background.own_refused":          {"kept the background model for {modality}: a new one was no better"},
	"background.own_retired":          {"retired the environment's own background model for {modality}: {reason}"},
	"retention.executed":              {"removed {removed} records past their retention: {class}"},
	"audit.exported":                  {"exported {entries} entries of the audit log"},
	"quota.nearly_used":               {"used {used_percent} % of the quota {quota}"},
	"tenant.created":                  {"created the tenant"},
	"tenant.restored":                 {"copied the tenant back from a backup"},
	"environment.upgraded":            {"finished the upgrade from version {from}"},
	"environment.created":             {"created the environment"},
	"environment.updated":             {"changed settings of the environment"},
	"credential.created":              {"issued the API key {credential}"},
	"credential.rotated":              {"replaced the API key {credential}"},
	"credential.revoked":              {"revoked the API key {credential}: {cause}", "revoked the API key {credential}"},
	"client_token.created":            {"issued a client token of {subject}", "issued a client token"},
	"client_token.revoked":            {"revoked client tokens"},
	"person.invited":                  {"invited {person}"},
	"person.roles_changed":            {"changed the roles of {person}"},
	"person.joined":                   {"registered a passkey of {person}"},
	"person.signed_in":                {"signed in"},
	"person.confirmed":                {"used the passkey again before a change"},
	"person.signed_out":               {"signed out"},
	"person.revoked":                  {"ended the access of {person}"},
	"person.clone_warning":            {"saw the counter of a passkey of {person} decrease: it may be cloned"},
	"person.provisioned":              {"signed in with the identity provider for the first time"},
	"person.identity_confirmed":       {"confirmed that {person} has the account"},
	"person.confirmation_ended":       {"ended the confirmation of {person}"},
	"person.linked":                   {"linked the accounts of {person} and {other}"},
	"person.sign_in_failed":           {"failed to sign in {count} times: {reason}"},
	"person.notices_chosen":           {"chose the notices of {person}"},
	"person.address_changed":          {"changed the address of {person}: {state}"},
	"operation.refused":               {"was refused {operation}, {count} times"},
	"records.read":                    {"read many records about people with {operation}, {count} times"},
	"record.altered":                  {"found a record that was changed outside of the service: {table}"},
	"records.changed":                 {"sealed the new state of {records}"},
	"identity_provider.changed":       {"changed the identity provider {name}", "changed the identity provider {identity_provider}"},
	"identity_provider.removed":       {"removed the identity provider {identity_provider}"},
	"action.created":                  {"created the action {action}"},
	"action.updated":                  {"changed the action {action}"},
	"action.archived":                 {"archived the action {action}"},
	"policy.created":                  {"created policy version {version} of {action}"},
	"policy.activated":                {"activated policy version {version} of {action}"},
	"policy.retired":                  {"retired policy version {version} of {action}"},
	"signing_key.created":             {"created the signing key {kid}"},
	"signing_key.activated":           {"began to sign with the key {kid}"},
	"signing_key.retired":             {"retired the signing key {kid}"},
	"root_key.used":                   {"used the root key to unwrap the master keys"},
	"team.created":                    {"created the team {key}"},
	"team.updated":                    {"changed the team {key}"},
	"team.deleted":                    {"deleted the team {key}"},
	"deputy.named":                    {"named {deputy} as the deputy of {person}"},
	"deputy.withdrawn":                {"withdrew {deputy} as the deputy of {person}"},
	"list.created":                    {"created the list {name}"},
	"list.changed":                    {"changed entries of the list {name}"},
	"list.deleted":                    {"deleted the list {name}"},
	"list.export_started":             {"began to export the list {list}"},
	"list.export_ended":               {"exported the list {list}: {rows} rows"},
	"chat_address.created":            {"added a chat for notices"},
	"chat_address.deleted":            {"removed a chat for notices"},
	"filter.saved":                    {"saved a filter of {list}"},
	"filter.renamed":                  {"renamed a filter of {list}"},
	"filter.deleted":                  {"deleted a filter of {list}"},
	"history.opened":                  {"decrypted {payloads} payloads of workflow histories"},
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// sentenceOf says what the actor of an entry did, in a phrase that begins with a verb. names are those of people by id.
func sentenceOf(e models.Event, data map[string]any, names map[string]string) string {
	values := map[string]string{}
	for name, value := range data {
		if text := fieldText(name, value); text != nothing {
			values[name] = named(text, names)
		}
	}
	if records, given := data["records"].([]any); given {
		values["records"] = tablesOf(records)
	}
	for name, value := range map[string]*string{"subject": e.Subject, "action": e.Action, "decision": e.Decision} {
		if value != nil && *value != "" {
			values[name] = *value
		}
	}
	if values["subject"] == "" {
		values["subject"] = "an erased subject"
	}
	for _, phrase := range phrases[events.Type(e.Type)] {
		if said, complete := fill(phrase, values); complete {
			return said
		}
	}
	return described(e.Type)
}

// tablesOf names the tables of records, each of which is a text that begins with its table.
func tablesOf(records []any) string {
	var tables []string
	for _, record := range records {
		table, _, _ := strings.Cut(valueText(record), " ")
		if table = show.Plain(table); !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
	}
	return strings.Join(tables, ", ")
}

// fill replaces the fields of a phrase by their values. It is incomplete if one has none.
func fill(phrase string, values map[string]string) (said string, complete bool) {
	for {
		field, rest, asks := strings.Cut(phrase, "? ")
		if !asks {
			break
		}
		if values[field] == "" {
			return "", false
		}
		phrase = rest
	}
	complete = true
	said = placeholder.ReplaceAllStringFunc(phrase, func(field string) string {
		value := values[strings.Trim(field, "{}")]
		complete = complete && value != ""
		return value
	})
	return said, complete
}

// named replaces an actor or the id of a person by the name, and shortens other ids.
func named(text string, names map[string]string) string {
	_, id, isActor := strings.Cut(text, ":")
	if !isActor {
		id = text
	}
	if name := names[id]; name != "" {
		return name
	}
	if strings.ContainsAny(text, " .") {
		return text
	}
	return show.Plain(show.Short(text))
}

// peopleIn returns the people whom the data of an entry names, as actors.
func peopleIn(data map[string]any) []string {
	var out []string
	for _, value := range data {
		text, _ := value.(string)
		if text = strings.TrimPrefix(text, "person:"); strings.HasPrefix(text, "prs_") {
			out = append(out, "person:"+text)
		}
	}
	return out
}

// typesNamed returns the types that a text names: a type as it is, or every type of whose name, phrases and description the words of the text
// are a part.
func typesNamed(text string) []string {
	if _, exact := events.Lookup(events.Type(text)); exact {
		return []string{text}
	}
	var words []displaytext.Typed
	for word := range strings.FieldsSeq(text) {
		words = append(words, displaytext.Type(word))
	}
	var out []string
	for _, kind := range eventTypes() {
		about := strings.FieldsFunc(kind+" "+strings.Join(phrases[events.Type(kind)], " ")+" "+described(kind), func(r rune) bool { return strings.ContainsRune(" ._{}?:,;", r) })
		if !slices.ContainsFunc(words, func(w displaytext.Typed) bool { return !slices.ContainsFunc(about, w.Begins) }) {
			out = append(out, kind)
		}
	}
	return out
}
