package subject_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	_ "github.com/countersign-dev/countersign/internal/testing/tables"
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
	var declared []string
	for _, table := range pg.SubjectTables() {
		require.True(t, slices.Contains([]int{3, 5}, len(table.Subject.Ends)) || table.Subject.Stays != "", "%s: say why rows stay open", table.Name)
		require.NotNil(t, table.Exported, "%s: say how it is exported, or why not", table.Name)
		declared = append(declared, table.Name)
		own := len(storetest.Texts(t, st, `select column_name::text from information_schema.columns
			where table_schema = 'public' and column_name = 'subject_uid' and table_name = $1`, table.Name)) == 1
		require.Equal(t, own && table.Subject.Erased != pg.NotDeleted, table.Subject.Erased == pg.DeletedBySubject, "%s: what names the subject is deleted by it", table.Name)
	}
	require.ElementsMatch(t, storetest.Texts(t, st, tablesThatReferToSubjects), declared, "each table that refers to a subject says so in its declaration (pg.OfSubject)")
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
		"token": "a digest of an id that the issuer chose", "place": "a position in that token",
		"key": "the id of the subject, or a keyed hash of it", "value": "the id of the subject",
		"teams_required": "the number of the relying party's teams that must approve", "pseudonym": "a keyed hash of the subject", "period_id": "how long a pseudonym holds",
	}
	for _, exported := range pg.ExportedTables() {
		table, section := exported.Name, exported.SectionName()
		columns := strings.Fields(strings.NewReplacer("@", "", "#", "").Replace(exported.Exported.Columns))
		for _, column := range storetest.Texts(t, st, "select column_name::text from information_schema.columns where table_schema = 'public' and table_name = $1", table) {
			excused := left[column] != "" || left[column+" of "+section] != ""
			require.True(t, excused || slices.Contains(columns, column), "%s.%s is neither exported nor excused", table, column)
		}
	}
}

func TestExportCoversEveryColumnOfSubjects(t *testing.T) {
	t.Parallel()
	// internal/subject exports the row of the subject: decide there about a new column.
	require.Equal(t, strings.Fields(`adaptation_frozen challenge_until claim_cap_until created_at enrollment enrollment_asked_at environment_id external_id
		recovery_id reinstated_at research_consent revoked_at row_mac status tenant_id timing_template uid updated_at`),
		storetest.Texts(t, storetest.New(t), `select column_name::text from information_schema.columns
			where table_schema = 'public' and table_name = 'subjects' order by 1`))
}
