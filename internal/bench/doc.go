// Package bench measures the built service against its targets. API and worker run as separate processes on a private
// Postgres with full durability. The load is an open loop whose latencies count from the moment a request was due (loadgen).
// Each API path is compared with the SQL that it sends, run bare by the same number of clients in alternation with it.
//
// It is also the root of the room bench, where the whole service is put under load: processes and proxies to run it with
// (harness), the load itself (loadgen), and faults injected while it runs (chaos). What a load needs is computed from the measured costs
// (capacity).
//
// The room may import any other room but testing. No other room may import it; only commands do, of which countersign imports capacity
// alone.
package bench
