package subject_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/subject"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// tablesThatReferToSubjects returns the tables with rows of a subject: those that refer to it and those that refer to such a row.
const tablesThatReferToSubjects = `with recursive own as (
	select table_name::text as name from information_schema.columns
		where table_schema = 'public' and column_name = 'subject_uid'
	union
	select c.conrelid::regclass::text from pg_constraint c join own on c.confrelid = own.name::regclass
		where c.contype = 'f' and c.confrelid <> 'subjects'::regclass)
	select name from own where not (select relispartition from pg_class where oid = name::regclass) order by 1`

// A new table with rows of subjects must be added to the erasure and to the export.
func TestErasureAndExportCoverEveryTableOfSubjects(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	named := storetest.Texts(t, st, `select table_name::text from information_schema.columns
		where table_schema = 'public' and column_name = 'subject_uid' and table_name not in ('events', 'erasures')`)
	require.ElementsMatch(t, named, subject.SubjectTables)
	var declared []string
	for _, table := range models.SubjectTables {
		require.True(t, len(table.Ends) == 3 || table.Stays != "", "%s: say why rows stay open", table.Name)
		declared = append(declared, table.Name)
	}
	require.ElementsMatch(t, storetest.Texts(t, st, tablesThatReferToSubjects), declared, "each table that refers to a subject has one entry in models.SubjectTables")

	// Tables of a subject that are not exported, with the reason.
	unexported := map[string]string{
		"aggregate_locks": "the fields that a cap adds up; what was added up is in aggregate_values",
		"challenge_links": "the MAC of a ticket and its creation time; the ticket itself expires within minutes",
		"hold_teams":      "the teams that the policy wants approvals of, which the explanation of the decision names",
		"given_reviews":   "reviews that wait for seconds; what they become is exported",
		"hold_viewers":    "reviewers who have a hold open, for an hour; nothing about the subject",
		"notices":         "which member of staff was notified of a hold, for 30 days; nothing about the subject",
		"erasures":        "the record of an erasure identifies no one, and no subject remains to export",
	}
	for _, table := range storetest.Texts(t, st, tablesThatReferToSubjects) {
		if unexported[table] == "" {
			require.Contains(t, subject.ExportTables(), table, "add %s to exportSections, or the reason why it is not in the export to this test", table)
		}
	}
}

// Every column of an exported table is exported or excused here, with the reason.
func TestExportCoversEveryColumnOfItsTables(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	left := map[string]string{
		"subject_uid": "our own id of the subject, which stays inside", "tenant_id": "the relying party's own",
		"environment_id": "in the subject itself", "mac": "a keyed hash by which a secret is recognised", "row_mac": "a keyed hash by which a changed row is recognised",
		"request_hash": "recognises a repeated request", "digest of requests": "recognises a repeated request",
		"digest of events": "in the audit chain", "salt": "in the audit chain", "random": "entropy that was signed once",
		"completion_hash": "recognises a repeated request", "idempotency_key": "recognises a repeated request",
		"response": "the answer that is in the other columns", "receipt": "the answer that is in the other columns",
		"sealed": "an open proof is not handed out a second time", "subject": "the subject itself",
		"ceremony": "entropy of an enrollment of a passkey", "version of typed_passages": "an order of the database", "version of sessions": "an order of the database", "cause": "an order of the database", "seq": "an order of the database",
		"erased_at": "null while there is a subject", "hash": "in the audit chain",
		"request_id of requests": "in the events", "sign_count of requests": "in the passkey", "backup_state of requests": "in the passkey",
		"key": "the id of the subject, or a keyed hash of it", "value": "the id of the subject",
		"teams_required": "the number of the relying party's teams that must approve", "pseudonym": "a keyed hash of the subject", "period_id": "how long a pseudonym holds",
	}
	for table, columns := range subject.ExportColumns() {
		section := table
		if table == "move_requests" {
			section = "requests"
		}
		for _, column := range storetest.Texts(t, st, "select column_name::text from information_schema.columns where table_schema = 'public' and table_name = $1", table) {
			excused := left[column] != "" || left[column+" of "+section] != ""
			require.True(t, excused || slices.Contains(columns, column), "%s.%s is neither exported nor excused", table, column)
		}
	}
}

func TestExportCoversEveryColumnOfSubjects(t *testing.T) {
	t.Parallel()
	// internal/subject exports the row of the subject: decide there about a new column.
	require.Equal(t, strings.Fields(`adaptation_frozen claim_cap_until created_at enrollment enrollment_asked_at environment_id external_id
		research_consent revoked_at status tenant_id timing_template uid updated_at`),
		storetest.Texts(t, storetest.New(t), `select column_name::text from information_schema.columns
			where table_schema = 'public' and table_name = 'subjects' order by 1`))
}
