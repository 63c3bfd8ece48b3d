package statements

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// Check checks the statements that were recorded since it was last called against the schema of a database. It returns an error that
// joins one for each statement that reads or writes rows of a table that is placed by environment and does not name the environment.
func (r *Recorder) Check(ctx context.Context, url string) error {
	fresh := r.take()
	if len(fresh) == 0 {
		return nil
	}
	c, err := newChecker(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = c.conn.Close(context.WithoutCancel(ctx)) }()
	var wrong []error
	for _, s := range fresh {
		across := acrossEnvironments[s.Function] != ""
		var err error
		switch {
		case c.citus && s.Function != placing:
			err = c.checkTasks(ctx, s.SQL, across)
		// One over all environments is not explained: its tables may exist on a distributed server only, or not any more. Such a server locks no rows for it.
		case !across || locking.MatchString(s.SQL):
			err = c.check(ctx, s.SQL)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w\n%s", s.Function, err, s.SQL))
		}
	}
	return errors.Join(wrong...)
}

// locking is the part of a statement that locks the rows which it reads.
var locking = regexp.MustCompile(`(?i)\bfor (no key update|update|share|key share)\b`)

// CheckText checks one statement like Check.
func CheckText(ctx context.Context, url, sql string) error {
	c, err := newChecker(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = c.conn.Close(context.WithoutCancel(ctx)) }()
	return c.check(ctx, sql)
}

// checker explains statements on one connection.
type checker struct {
	conn   *pgx.Conn
	column map[string]int // position of environment_id in the rows of the tables that are placed by it
	citus  bool           // the database is one of a coordinator
}

func newChecker(ctx context.Context, url string) (*checker, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	c := &checker{conn: conn, column: map[string]int{}}
	err = conn.QueryRow(ctx, "select exists (select from pg_extension where extname = 'citus')").Scan(&c.citus)
	if err == nil && !c.citus {
		_, err = conn.Exec(ctx, "set plan_cache_mode = force_generic_plan") // a plan for any arguments
	}
	if err == nil {
		err = c.readCatalogue(ctx)
	}
	if err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
	}
	return c, err
}

func (c *checker) readCatalogue(ctx context.Context) error {
	rows, err := c.conn.Query(ctx, `select c.relname, a.attnum - 1 from pg_class c
		join pg_attribute a on a.attrelid = c.oid and a.attname = 'environment_id'
		where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var at int
		if err := rows.Scan(&name, &at); err != nil {
			return err
		}
		if t := pg.TableOf(name); t != nil && t.Placed == pg.ByEnvironment {
			c.column[name] = at
		}
	}
	return rows.Err()
}

// check returns an error unless the statement names the environment for each table that is placed by it.
func (c *checker) check(ctx context.Context, sql string) error {
	p, err := c.explain(ctx, sql)
	if err != nil {
		return fmt.Errorf("cannot be explained: %w", err)
	}
	known := factsOf(p)
	var unnamed []string
	p.every(func(node plan) {
		_, placed := c.column[node.Relation]
		switch {
		case !placed:
		case node.NodeType == "ModifyTable" && node.Operation == "Insert":
			if !c.insertNames(node, known) {
				unnamed = append(unnamed, "the rows for "+node.Relation)
			}
		// The rows that a node changes or deletes are those of the scan inside it, which is visited too.
		case node.NodeType != "ModifyTable" && !known.bound(node.Alias):
			unnamed = append(unnamed, fmt.Sprintf("%s (%s)", node.Relation, node.Alias))
		}
	})
	if len(unnamed) > 0 {
		return fmt.Errorf("%s: the condition does not name environment_id; add it, with the environment as an argument", strings.Join(unnamed, ", "))
	}
	return nil
}

// insertNames reports whether the rows that a node inserts have an environment that is an argument or comes from a row that has one.
func (c *checker) insertNames(node plan, known facts) bool {
	at := c.column[node.Relation]
	source, ok := node.source()
	return ok && at < len(source.Output) && named(source, source.Output[at], known)
}

// named reports whether a value that a node returns is an environment that is given, or that of a row that has one.
func named(node plan, value string, known facts) bool {
	if given(value) {
		return true
	}
	alias, ok := strings.CutSuffix(value, environment)
	if !ok {
		return false
	}
	// "insert ... select ... order by" has a node for the rows of the query, whose columns have lost the names of their tables.
	if node.NodeType == "Subquery Scan" && node.Alias == strings.Trim(alias, `"`) {
		source, ok := node.source()
		return ok && slices.ContainsFunc(source.Output, func(inner string) bool { return named(source, inner, known) })
	}
	return known.bound(alias)
}

// explain returns the plan of a statement for any arguments.
func (c *checker) explain(ctx context.Context, sql string) (plan, error) {
	const name = "checked"
	// Prepared like the driver does, so that each argument has the type that it has for the product.
	d, err := c.conn.PgConn().Prepare(ctx, name, sql, nil)
	if err != nil {
		return plan{}, err
	}
	defer func() { _ = c.conn.PgConn().Deallocate(ctx, name) }()
	execute := "execute " + name
	if n := len(d.ParamOIDs); n > 0 {
		execute += "(" + strings.TrimSuffix(strings.Repeat("null, ", n), ", ") + ")"
	}
	var raw []byte
	if err := c.conn.QueryRow(ctx, "explain (verbose, costs off, format json) "+execute, pgx.QueryExecModeSimpleProtocol).Scan(&raw); err != nil {
		return plan{}, err
	}
	var out []struct{ Plan plan }
	if err := json.Unmarshal(raw, &out); err != nil {
		return plan{}, err
	}
	return out[0].Plan, nil
}
