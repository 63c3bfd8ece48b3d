// Package bench measures the built service against its targets. API and worker run as separate processes on a private
// Postgres with full durability. The load is an open loop whose latencies count from the moment a request was due (loadgen).
// Each API path is compared with the SQL that it sends, run bare by the same number of clients in alternation with it.
//
// The module puts the whole service under load: processes to run it with (harness), the load itself (loadgen), a Postgres cluster
// (cluster), and faults injected while it runs (chaos). Nothing of the product imports it.
package bench
