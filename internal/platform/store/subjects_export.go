package store

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// exportSection is one list of the export: its columns (@ marks a time, # bytes) and its rows, with the subject's uid as
// $1 and its environment as $2. Columns without a meaning outside of the service (MACs, request hashes, random bytes) are left out.
type exportSection struct {
	name, columns, rows string
}

// researchSection is selected by the subject's pseudonyms; all other sections are selected by its uid.
const researchSection = "research_vectors"

// exportSections are ordered by name, like the keys of the export's data.
var exportSections = []exportSection{
	{"authorizations", "id credential_id action_id action_key session_id session_pinned parent_id actor resource_type resource_digest context_digest " +
		"action_hash audience nonce @requested_at @decided_at latency_ms trace_id mode decision reason_codes policy_version policy_hash " +
		"coverage insufficient operator_changed challenges_used challenge_completed hold_approved assurance explanation outcome " +
		"@outcome_reported_at outcome_note_digest",
		"authorizations where environment_id = $2 and subject_uid = $1 order by decided_at, id"},
	{"background_shares", "modality #digest @counted_at",
		"background_shares where environment_id = $2 and subject_uid = $1 order by modality"},
	{"challenges", "id authorization_id status methods display display_digest action_hash failures @created_at @expires_at @settled_at " +
		"method_used strength child_authorization_id",
		"challenges where environment_id = $2 and subject_uid = $1 order by created_at, id"},
	{"client_tokens", "id credential_id origin purposes session_id @created_at @expires_at @revoked_at",
		"client_tokens where environment_id = $2 and subject_uid = $1 order by created_at, id"},
	{"enrollments", "id session_id anchor status force windows_accepted limitations refused_sessions @created_at @completed_at",
		"enrollments where environment_id = $2 and subject_uid = $1 order by created_at, id"},
	{"events", "id type @at action authorization_id decision actor request_id workflow_id data",
		"events where environment_id = $2 and subject_uid = $1 order by seq"},
	{"frame_digests", "session_id #digest @seen_at",
		"frame_digests where environment_id = $2 and subject_uid = $1 order by seen_at, digest"},
	{"frames", "session_id frame_id purpose status reason_codes @received_at @at duration_ms #digest #vector keys",
		"frames where environment_id = $2 and subject_uid = $1 order by received_at, session_id, frame_id"},
	{"holds", "authorization_id action_id risk_class status approvals_required @opened_at @remind_at @reminded_at @due_at @resolved_at " +
		"resolved_by self_review_barred child_authorization_id assigned_to @assigned_at",
		"holds where environment_id = $2 and subject_uid = $1 order by opened_at, authorization_id"},
	{"kept_values", "authorization_id #kept @decided_at",
		"kept_values where environment_id = $2 and subject_uid = $1 order by decided_at, authorization_id"},
	{"passkeys", "id #credential_id #public_key attestation_type #aaguid transports sign_count user_verified backup_eligible " +
		"rp_id backup_state clone_warning @created_at @last_used_at @revoked_at",
		"passkeys where environment_id = $2 and subject_uid = $1 order by created_at, id"},
	{"proofs", "jti authorization_id kid audience status @issued_at @expires_at @consumed_at consumed_by @revoked_at revoked_reason",
		"(select p.*, a.decided_at from authorizations a join proofs p on p.authorization_id = a.id and p.environment_id = a.environment_id " +
			"where a.environment_id = $2 and a.subject_uid = $1) p order by decided_at, jti"},
	{"recoveries", "id status anchor anchor_evidence_digest limitations @created_at @ready_at @expires_at @completed_at",
		"recoveries where environment_id = $2 and subject_uid = $1 order by created_at, id"},
	{"registration_grants", "id @created_at @expires_at @used_at",
		"registration_grants where environment_id = $2 and subject_uid = $1 order by created_at, id"},
	{"requests", "target authorization_id move actor method passkey_id note_digest @requested_at",
		"move_requests where environment_id = $2 and authorization_id in (select id from authorizations where environment_id = $2 and subject_uid = $1) order by requested_at, target, digest"},
	{"research_consents", "id consented @recorded_at",
		"research_consents where environment_id = $2 and subject_uid = $1 order by recorded_at, id"},
	{researchSection, "id device_class #vector @created_at", "research_vectors where environment_id = $2 and pseudonym = any($1) order by created_at, id"},
	{"review_notes", "authorization_id reviewer note_digest #note @written_at",
		"review_notes where environment_id = $2 and subject_uid = $1 order by written_at, authorization_id, reviewer"},
	{"reviews", "authorization_id reviewer principal resolution note_digest @at",
		"reviews where environment_id = $2 and authorization_id in (select authorization_id from holds where environment_id = $2 and subject_uid = $1) order by at, authorization_id, reviewer"},
	{"sessions", "id device_class status legacy @started_at @ended_at @last_activity_at @last_evidence_at coverage evidence_windows " +
		"active_seconds modalities enrollment_ready trust_state #state",
		"sessions where environment_id = $2 and subject_uid = $1 order by started_at, id"},
	{"shown_details", "authorization_id #details @decided_at",
		"shown_details where environment_id = $2 and subject_uid = $1 order by decided_at, authorization_id"},
	{"templates", "id modality device_class version status origin origin_ref model_version provisional limitations @created_at @updated_at #data",
		"templates where environment_id = $2 and subject_uid = $1 order by created_at, id"},
	{"typed_passages", "device_class block #passages @updated_at",
		"typed_passages where environment_id = $2 and subject_uid = $1 order by device_class, block"},
}

// ExportSink receives an export while it is read: each section, followed by its rows, each a JSON object.
type ExportSink interface {
	Section(name string) error
	Row(row json.RawMessage) error
}

// Export reads everything stored about a subject, by section name, and holds one row in memory at a time. Call it
// in Read, so that all sections are of one snapshot. limit is the time that one section may take.
func (q Subjects) Export(ctx context.Context, subject models.Subject, pseudonyms [][]byte, limit time.Duration, sink ExportSink) error {
	_, err := q.exec(ctx, `select set_config('statement_timeout', $1, true),
		set_config('idle_in_transaction_session_timeout', $1, true)`, strconv.FormatInt(limit.Milliseconds(), 10))
	if err != nil {
		return err
	}
	for _, s := range exportSections {
		arg := any(subject.UID)
		if s.name == researchSection {
			arg = pseudonyms
		}
		if err := sink.Section(s.name); err != nil {
			return err
		}
		if err := q.exportSection(ctx, s.query(), sink.Row, arg, subject.EnvironmentID); err != nil {
			return err
		}
	}
	return nil
}

func (q Subjects) exportSection(ctx context.Context, query string, row func(json.RawMessage) error, args ...any) error {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var raw []byte
		if err := rows.Scan(&raw); err != nil {
			return err
		}
		if err := row(raw); err != nil {
			return err
		}
	}
	return rows.Err()
}

// query selects each row as one JSON text, with times and bytes in the formats of the contract.
func (s exportSection) query() string {
	var columns []string
	for _, c := range strings.Fields(s.columns) {
		name := strings.TrimLeft(c, "@#")
		switch c[0] {
		case '@':
			c = `to_char(` + name + ` at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as ` + name
		case '#':
			c = "translate(encode(" + name + ", 'base64'), E'\\n', '') as " + name
		}
		columns = append(columns, c)
	}
	return "select to_jsonb(t)::text from (select " + strings.Join(columns, ", ") + " from " + s.rows + ") t"
}
