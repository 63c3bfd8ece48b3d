package store

import (
	"context"
	"encoding/json"
	"strings"
)

// exportSection is one list of the export: its columns (@ marks a time, # bytes) and its rows, with the subject's uid for
// the question mark. What the service keeps only to run itself (MACs, request hashes, random bytes) is not listed.
type exportSection struct {
	name, columns, rows string
}

var exportSections = []exportSection{
	{"sessions", "id device_class status legacy @started_at @ended_at @last_activity_at @last_evidence_at coverage evidence_windows " +
		"active_seconds modalities enrollment_ready trust_state #state",
		"sessions where subject_uid = ? order by started_at, id"},
	{"frames", "session_id frame_id purpose status reason_codes @received_at @at duration_ms #digest #vector",
		"frames where subject_uid = ? order by received_at, session_id, frame_id"},
	{"templates", "id modality device_class version status model_version provisional limitations @created_at @updated_at #data",
		"templates where subject_uid = ? order by created_at, id"},
	{"enrollments", "id session_id anchor status force windows_accepted limitations @created_at @completed_at",
		"enrollments where subject_uid = ? order by created_at, id"},
	{"passkeys", "id #credential_id #public_key attestation_type #aaguid transports sign_count user_verified backup_eligible " +
		"backup_state clone_warning @created_at @last_used_at @revoked_at",
		"passkeys where subject_uid = ? order by created_at, id"},
	{"registration_grants", "id @created_at @expires_at @used_at",
		"registration_grants where subject_uid = ? order by created_at, id"},
	{"client_tokens", "id credential_id origin @created_at @expires_at @revoked_at",
		"client_tokens where subject_uid = ? order by created_at, id"},
	{"authorizations", "id credential_id action_id action_key session_id parent_id actor resource_type resource_digest context_digest " +
		"action_hash audience nonce @requested_at @decided_at latency_ms trace_id mode decision reason_codes policy_version policy_hash " +
		"coverage insufficient operator_changed challenges_used challenge_completed hold_approved assurance explanation outcome " +
		"@outcome_reported_at outcome_note_digest",
		"authorizations where subject_uid = ? order by decided_at, id"},
	{"challenges", "id authorization_id status methods display display_digest action_hash failures @created_at @expires_at @settled_at " +
		"method_used strength child_authorization_id",
		"challenges where subject_uid = ? order by created_at, id"},
	{"holds", "authorization_id action_id risk_class status approvals_required @opened_at @remind_at @reminded_at @due_at @resolved_at " +
		"resolved_by child_authorization_id",
		"holds where subject_uid = ? order by opened_at, authorization_id"},
	{"reviews", "authorization_id reviewer resolution note_digest @at",
		"reviews where authorization_id in (select authorization_id from holds where subject_uid = ?) order by at, authorization_id, reviewer"},
	{"requests", "target authorization_id move actor method passkey_id note_digest @requested_at",
		"move_requests where authorization_id in (select id from authorizations where subject_uid = ?) order by requested_at, target, digest"},
	{"proofs", "jti authorization_id kid audience status @issued_at @expires_at @consumed_at consumed_by @revoked_at revoked_reason",
		"proofs where subject_uid = ? order by issued_at, jti"},
	{"recoveries", "id status anchor anchor_evidence_digest limitations @created_at @ready_at @expires_at @completed_at",
		"recoveries where subject_uid = ? order by created_at, id"},
	{"research_consents", "id consented @recorded_at",
		"research_consents where subject_uid = ? order by recorded_at, id"},
	{"events", "id type @at action authorization_id decision actor request_id workflow_id data",
		"events where subject_uid = ? order by txid, seq"},
}

// ExportRows are the rows of each section, every row a JSON object.
type ExportRows map[string][]json.RawMessage

// ExportSubject reads everything held under the subject's uid. Call it in Read, so that all sections are of one moment.
func (q *Q) ExportSubject(ctx context.Context, uid string, pseudonyms [][]byte) (ExportRows, error) {
	out := ExportRows{}
	for _, s := range exportSections {
		rows, err := q.exportSection(ctx, s.query(), uid)
		if err != nil {
			return nil, err
		}
		out[s.name] = rows
	}
	vectors := exportSection{"research_vectors", "id device_class #vector @created_at", "research_vectors where pseudonym in (?) order by created_at, id"}
	rows, err := q.exportSection(ctx, vectors.query(), pseudonyms)
	out[vectors.name] = rows
	return out, err
}

func (q *Q) exportSection(ctx context.Context, query string, arg any) ([]json.RawMessage, error) {
	var texts []string
	if err := q.with(ctx).Raw(query, arg).Scan(&texts).Error; err != nil {
		return nil, err
	}
	out := make([]json.RawMessage, len(texts))
	for i, t := range texts {
		out[i] = json.RawMessage(t)
	}
	return out, nil
}

// query selects each row as one JSON text, times and bytes in the formats of the contract.
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
