package testenv

import (
	"net/url"
	"os"
)

// PoolerEnv is the environment variable with the URL of a pooler of transactions in front of the server. With it, the stores of
// tests run behind the pooler; make test-pgbouncer sets it.
const PoolerEnv = "COUNTERSIGN_TEST_POOLER_URL"

// Pooled returns the URLs by which a service reaches a database: through the pooler that PoolerEnv names and directly, or the
// given one and none without a pooler.
func Pooled(database string) (pooled, direct string) {
	through := os.Getenv(PoolerEnv)
	to, err := url.Parse(database)
	if through == "" || err != nil {
		return database, ""
	}
	return withDatabase(through, to.Path[1:]), database
}
