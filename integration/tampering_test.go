package integration_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var (
	tamperings     = flag.Int("tamperings", 100, "number of random changes that TestEveryTamperingIsFound makes")
	tamperingsSeed = flag.Uint64("tamperings-seed", 1, "seed of TestEveryTamperingIsFound")
)

// markedTable is a table that audit verify compares with the log.
type markedTable struct {
	name    string
	of      string // the condition of the rows of an environment
	columns []string
}

func markedTables() (out []markedTable) {
	for _, t := range pg.Tables() {
		if columns := t.Compared(); columns != nil {
			out = append(out, markedTable{t.Name, cmp.Or(t.Of, "environment_id = @environment"), columns})
		}
	}
	return out
}

// evidenceOfEveryKind makes rows in every table of evidence.
func (w world) evidenceOfEveryKind(t *testing.T) {
	t.Helper()
	s := w.tamperedRecords(t)
	w.enrolled(t, typist(t.Name()))
	w.device(t, s.subject)
	w.device(t, w.subject(t))
	ann, bob := w.signedIn(t, models.RoleReviewer, models.RoleOperator), w.signedIn(t, models.RoleReviewer, models.RoleAuditor)
	days := func(n int) string { return time.Now().AddDate(0, 0, n).Format(time.DateOnly) }
	for _, by := range []*visitor{ann, bob} {
		other := map[*visitor]*visitor{ann: bob, bob: ann}[by]
		named := by.submit("/console/"+w.ID+"/deputies/new", url.Values{"deputy": {other.person}, "ends_at": {days(7)}})
		require.Equal(t, 303, named.status, named.body)
	}
	one, two := w.reviewer(t), w.reviewer(t)
	w.team(t, "finance", one, two)
	w.team(t, "risk", two)
	id, action := w.action(t, "enforce", holding)
	versions := "/api/v1/actions/" + id + "/policy-versions"
	w.Server.post(t, versions, object{"requirements": with(holding, object{"review": []any{
		object{"group": "finance", "approvals": 1, "escalate": object{"after_seconds": 3600, "group": "risk"}}, object{"group": "risk", "approvals": 1},
	}})}).is(201)
	w.Server.post(t, versions+"/2/activate", nil).is(200)
	held := w.authorize(t, s.subject, action, "hold").string("id")
	one.post(t, "/api/v1/authorizations/"+held+"/review", object{"resolution": "approve", "note": "seen"}).is(202)
	ann.submit("/console/"+w.ID+"/reviews/"+held+"/assign", nil)
	rejected := w.authorize(t, s.subject, action, "hold").string("id")
	two.post(t, "/api/v1/authorizations/"+rejected+"/review", object{"resolution": "reject", "note": "unknown payee"}).is(200)
	w.Server.post(t, "/api/v1/authorizations/"+s.allowed+"/outcome", object{"outcome": "executed", "note": "by wire"}).is(200)
	evaluation := w.Server.post(t, "/api/v1/evaluations", object{"name": "Pilot", "action_keys": []string{action}}).is(201).string("id")
	w.Server.post(t, "/api/v1/evaluations/"+evaluation+"/close", nil).is(200)
	w.Admin.post(t, "/api/v1/signing-keys/rotate", nil)
	blocked := w.listOf(t, object{"name": "blocked", "kind": "text"}, "a", "b", "c")
	w.Server.post(t, blocked+"/entries", object{"add": []object{{"value": "b", "reason": "again", "expires_at": days(7) + "T00:00:00Z"}}, "remove": []object{{"value": "c"}}}).is(200)
	w.listOf(t, object{"name": "friends", "kind": "text", "personal": true}, s.subject)
	w.givenRPID(t)
	_, err := w.process.SSO.Set(t.Context(), w.TenantID, sso.Settings{
		Name: "company", Label: "Company", Issuer: "https://idp.example", ClientID: "countersign", ClientSecret: "secret",
		Grants: []models.ProviderGrant{{Group: "leads", Environment: w.ID, Roles: []models.Role{models.RoleReviewer}}},
	}, "cli:test")
	require.NoError(t, err)
}

// tamper makes one random change in a transaction and returns what it did; an error means that the database refuses the change.
type tamper struct {
	*rand.Rand
	q     *pg.Q
	scope pg.Scope
	markedTable
	column string
}

func (x tamper) exec(ctx context.Context, sql string, args ...any) error {
	of := strings.NewReplacer("@tenant", "'"+x.scope.Tenant+"'", "@environment", "'"+x.scope.Environment+"'").Replace(x.of)
	n, err := x.q.Exec(ctx, strings.NewReplacer("{t}", x.name, "{c}", x.column, "{of}", of).Replace(sql), args...)
	if err == nil && n == 0 {
		err = errors.New("it changes nothing")
	}
	return err
}

var literal = regexp.MustCompile(`'([^']*)'::text`)

// values are expressions of other values of the column.
func (x tamper) values(ctx context.Context) (out []string, err error) {
	var kind, checks string
	err = x.q.QueryRow(ctx, `select c.data_type, coalesce((select string_agg(pg_get_constraintdef(k.oid), ' ') from pg_constraint k
		where k.conrelid = c.table_name::regclass and k.contype = 'c' and pg_get_constraintdef(k.oid) like '%' || c.column_name || '%'), '')
		from information_schema.columns c where c.table_schema = 'public' and c.table_name = $1 and c.column_name = $2`, x.name, x.column).Scan(&kind, &checks)
	for _, m := range literal.FindAllStringSubmatch(checks, -1) {
		out = append(out, "'"+m[1]+"'")
	}
	if len(out) > 0 {
		return out, err
	}
	return append(map[string][]string{
		"text": {"coalesce({c}, '') || 'x'", "'x'"}, "integer": {"coalesce({c}, 1) + 1"}, "bigint": {"{c} + 1"}, "boolean": {"not {c}"},
		"bytea": {`coalesce({c}, ''::bytea) || '\x01'`}, "timestamp with time zone": {"(coalesce({c}, '2100-01-01Z') at time zone 'utc' + interval '1 microsecond') at time zone 'utc'", "now()"},
		"ARRAY": {"array_append({c}, 'x')", "'{}'"}, "jsonb": {`'{"x": 1}'`}, "json": {"({c}::text || ' ')::json", "'{}'"},
	}[kind], "null"), err
}

// change gives a random cell another value: a made-up one, or one of another row.
func (x tamper) change(ctx context.Context) error {
	values, err := x.values(ctx)
	if err != nil {
		return err
	}
	value := values[x.IntN(len(values))]
	if x.IntN(3) == 0 {
		value = "(select o.{c} from {t} o where o.{c} is distinct from {t}.{c} order by md5(o::text) limit 1)"
	}
	return x.exec(ctx, "update {t} set {c} = "+value+` where ctid = (select ctid from {t} where {of} order by md5(ctid::text || $1) limit 1)
		and {c} is distinct from `+value, x.salt())
}

func (x tamper) salt() string { return fmt.Sprint(x.Uint64()) }

func (x tamper) delete(ctx context.Context) error {
	return x.exec(ctx, "delete from {t} where ctid = (select ctid from {t} where {of} order by md5(ctid::text || $1) limit 1)", x.salt())
}

// insert copies a row under other keys.
func (x tamper) insert(ctx context.Context) error {
	return x.exec(ctx, `insert into {t} select (jsonb_populate_record(s, (select coalesce(jsonb_object_agg(a.attname, case
			when a.attname = 'authorization_id' and '{t}' <> 'reviews' and '{t}' <> 'hold_teams' then
				to_jsonb((select z.id from authorizations z where z.environment_id = $2 order by md5(z.id || $1) limit 1))
			else to_jsonb((to_jsonb(s)->>a.attname) || '00') end), '{}')
		from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
		where i.indrelid = '{t}'::regclass and i.indisunique and a.attname not in ('environment_id', 'tenant_id', 'subject_uid', 'person_id', 'team_id', 'action_id', 'list_id')
			and a.atttypid in ('text'::regtype, 'bytea'::regtype)
			and not ('{t}' in ('reviews', 'hold_teams') and a.attname = 'authorization_id')))).*
		from (select * from {t} where {of} order by md5(ctid::text || $1) limit 1) s`, x.salt(), x.scope.Environment)
}

// swap exchanges a value between two rows.
func (x tamper) swap(ctx context.Context) error {
	return x.exec(ctx, `with two as (select a.ctid as a, b.ctid as b, a.{c} as of_a, b.{c} as of_b from {t} a, {t} b
			where a.ctid = (select ctid from {t} where {of} order by md5(ctid::text || $1) limit 1) and b.ctid <> a.ctid
			and b.{c}::text is distinct from a.{c}::text order by md5(b.ctid::text || $1) limit 1)
		update {t} set {c} = case when {t}.ctid = two.a then two.of_b else two.of_a end from two where {t}.ctid in (two.a, two.b)`, x.salt())
}

// Whichever cell or row of evidence is changed, deleted, inserted or swapped: audit verify finds it, and says which table.
func TestEveryTamperingIsFound(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.evidenceOfEveryKind(t)
	before := w.verified(t)
	require.True(t, before.Intact(), "%+v", before.Findings)
	var subjects []string
	for _, s := range w.Server.get(t, "/api/v1/subjects").is(200).list() {
		subjects = append(subjects, s["id"].(string))
	}
	require.NotEmpty(t, subjects)

	st, err := pg.Open(t.Context(), shared.DatabaseURL, pg.Options{MaxConns: 1, Keys: shared.Core.Keys})
	require.NoError(t, err)
	defer st.Close()
	random := rand.New(rand.NewPCG(*tamperingsSeed, 0))
	kinds := map[string]func(tamper, context.Context) error{"change": tamper.change, "delete": tamper.delete, "insert": tamper.insert, "swap": tamper.swap}
	names := []string{"change", "delete", "insert", "swap"}
	undo := errors.New("undo")
	var missed []string
	met, tables := map[string]int{}, markedTables()
	for done, tries := 0, 0; done < *tamperings; tries++ {
		require.Less(t, tries, 20**tamperings, "the database refuses too many changes: %v", met)
		table, kind := tables[random.IntN(len(tables))], names[random.IntN(len(names))]
		column := table.columns[random.IntN(len(table.columns))]
		err := st.Write(t.Context(), func(q *pg.Q) error {
			if err := kinds[kind](tamper{random, q, w.scope(), table, column}, t.Context()); err != nil {
				return err
			}
			result, err := audit.VerifyIn(t.Context(), q, w.scope())
			require.NoError(t, err)
			if !slices.ContainsFunc(result.Findings, func(f audit.Finding) bool { return strings.Contains(f.Field+" "+f.Detail, table.name) }) {
				missed = append(missed, fmt.Sprintf("%s of %s.%s: %+v", kind, table.name, column, result.Findings))
			}
			printed, err := json.Marshal(result.Findings)
			require.NoError(t, err)
			for _, s := range subjects {
				require.NotContains(t, string(printed), s, "no finding shows a personal value")
			}
			return undo
		})
		if errors.Is(err, undo) {
			done++
			met[kind]++
			met[table.name]++
		}
	}
	require.Empty(t, missed, "%v", met)
	for _, table := range tables {
		if *tamperings >= 20*len(tables) {
			require.NotZero(t, met[table.name], table.name)
		}
	}
	require.True(t, w.verified(t).Intact(), "every change was undone")
}
