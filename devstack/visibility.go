package main

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/workflowservice/v1"
	dbschemas "go.temporal.io/server/schema"
)

// spareIndex matches the names of indexes in the visibility schema that no query of this server needs:
//   - on columns kept for custom search attributes (by_keyword_01), until an attribute is mapped to one;
//   - on columns kept for Temporal's own components (by_temporal_keyword_01);
//   - on the lists of build ids that Worker Deployments have replaced;
//   - on counts and sizes of a run, on its task queue, which all share, and on the user of a batch: a search by these reads runs by time.
var spareIndex = regexp.MustCompile(
	`^by_(?:(?:temporal_)?(?:bool|datetime|double|int|keyword|low_cardinality_keyword|keyword_list|text)_[0-9]{2}|` +
		`build_ids|binary_checksums|history_length|history_size_bytes|execution_duration|state_transition_count|` +
		`temporal_external_payload_(?:size_bytes|count)|task_queue|batcher_user)$`)

// createIndex matches one statement of the visibility schema.
var createIndex = regexp.MustCompile(`(?s)CREATE INDEX (\w+)\s+ON executions_visibility\s[^;]+;`)

// trimVisibility drops the spare indexes of the visibility store and creates those of columns to which a namespace has mapped an
// attribute since. The table has 73 indexes, each of which has an entry for every state of every workflow run: most of what Postgres
// writes for a run that only waits for one person is entries of these.
func trimVisibility(ctx context.Context, f *frontend, o options) error {
	used, err := f.mappedColumns(ctx)
	if err != nil {
		return fmt.Errorf("the search attributes of the namespaces cannot be read: %w", err)
	}
	conn, err := connectDatabase(ctx, o.databaseURL, o.visibilityDatabase)
	if err != nil {
		return fmt.Errorf("database %q cannot be opened: %w", o.visibilityDatabase, reason(err))
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := trimIndexes(ctx, conn, used); err != nil {
		return fmt.Errorf("the indexes of database %q cannot be changed: %w", o.visibilityDatabase, reason(err))
	}
	return nil
}

// mappedColumns returns the columns that the namespaces' search attributes are stored in, such as Keyword01.
func (f *frontend) mappedColumns(ctx context.Context) ([]string, error) {
	var columns []string
	request := &workflowservice.ListNamespacesRequest{PageSize: 100}
	for {
		var page *workflowservice.ListNamespacesResponse
		err := retry(ctx, func(ctx context.Context) (err error) {
			page, err = f.workflow.ListNamespaces(ctx, request)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, n := range page.GetNamespaces() {
			for column := range n.GetConfig().GetCustomSearchAttributeAliases() {
				columns = append(columns, column)
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return columns, nil
		}
	}
}

// trimIndexes leaves of the spare indexes only those of the given columns. Members of a cluster do this one after the other. All statements
// are sent at once, and are thereby one transaction.
func trimIndexes(ctx context.Context, conn *pgx.Conn, used []string) error {
	text, err := fs.ReadFile(dbschemas.Assets(), "postgresql/v12/visibility/schema.sql")
	if err != nil {
		return err
	}
	wanted := make([]string, len(used))
	for i, column := range used {
		wanted[i] = indexOf(column)
	}
	statements := []string{fmt.Sprintf("SELECT pg_advisory_xact_lock(%d);", int64(migrationLock))}
	for _, found := range createIndex.FindAllStringSubmatch(string(text), -1) {
		create, name := found[0], found[1]
		switch {
		case !spareIndex.MatchString(name):
		case slices.Contains(wanted, name):
			statements = append(statements, strings.Replace(create, "CREATE INDEX", "CREATE INDEX IF NOT EXISTS", 1))
		default:
			statements = append(statements, "DROP INDEX IF EXISTS "+pgx.Identifier{name}.Sanitize()+";")
		}
	}
	_, err = conn.Exec(ctx, strings.Join(statements, "\n"))
	return err
}

// upper matches the letter or number that begins a word in the name of a column.
var upper = regexp.MustCompile(`[A-Z]|[0-9]+`)

// indexOf returns the name of the index on a column: by_keyword_list_01 for KeywordList01.
func indexOf(column string) string {
	return "by" + strings.ToLower(upper.ReplaceAllString(column, "_$0"))
}
