package statements

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// On a coordinator of Citus a statement is explained with arguments, because the shards that it asks follow from them. All texts are the same,
// so that those which are environments are the same environment.

// checkTasks returns an error if Citus refuses a statement, or asks several shards for one that must name its environment.
func (c *checker) checkTasks(ctx context.Context, sql string, across bool) error {
	n, err := c.tasks(ctx, sql)
	if err != nil {
		return fmt.Errorf("Citus refuses it: %w", err)
	}
	if n > 1 && !across {
		return fmt.Errorf("Citus asks %d shards; name the environment with an argument", n)
	}
	return nil
}

// parameter is an argument in the text of a statement.
var parameter = regexp.MustCompile(`\$(\d+)`)

// tasks returns how many shards the widest part of a statement asks.
func (c *checker) tasks(ctx context.Context, sql string) (int, error) {
	const name = "asked"
	d, err := c.conn.PgConn().Prepare(ctx, name, sql, nil)
	if err != nil {
		return 0, err
	}
	if err := c.conn.PgConn().Deallocate(ctx, name); err != nil {
		return 0, err
	}
	args := make([]string, len(d.ParamOIDs))
	for i, oid := range d.ParamOIDs {
		if args[i], err = c.argument(ctx, oid); err != nil {
			return 0, err
		}
	}
	// Written into the statement: Citus cannot explain every one that it prepares.
	sql = parameter.ReplaceAllStringFunc(sql, func(p string) string {
		if n, _ := strconv.Atoi(p[1:]); n > 0 && n <= len(args) {
			return args[n-1]
		}
		return p
	})
	var raw []byte
	if err := c.conn.QueryRow(ctx, "explain (costs off, format json) "+sql, pgx.QueryExecModeSimpleProtocol).Scan(&raw); err != nil {
		return 0, err
	}
	var plan any
	err = json.Unmarshal(raw, &plan)
	return widest(plan), err
}

// argument returns a value of a type, as SQL. It is in parentheses, which "fetch first ... rows" demands.
func (c *checker) argument(ctx context.Context, oid uint32) (arg string, err error) {
	err = c.conn.QueryRow(ctx, `select '(' || quote_literal(case when typname in ('json', 'jsonb') then '{}' when typname = 'bytea' then '' when typname = '_text' then '{e}'
		when typcategory = 'A' then '{}' when typcategory = 'N' then '1' when typcategory = 'B' then 'true' when typcategory = 'D' then '2026-03-01' else 'e' end)
		|| '::' || format_type(oid, null) || ')' from pg_type where oid = $1`, oid).Scan(&arg)
	return arg, err
}

// widest returns the largest number of tasks in a plan that has those of sub-selects inside it.
func widest(plan any) int {
	n := 0
	switch p := plan.(type) {
	case []any:
		for _, inner := range p {
			n = max(n, widest(inner))
		}
	case map[string]any:
		if tasks, ok := p["Task Count"].(float64); ok {
			n = int(tasks)
		}
		for _, inner := range p {
			n = max(n, widest(inner))
		}
	}
	return n
}
