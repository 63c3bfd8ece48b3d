package bench_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/proving/bench"
)

// Bytes are counted without images of pages, commits only of transactions that wrote to the database.
func TestWALTallyCountsByRelation(t *testing.T) {
	t.Parallel()
	table := bench.Relation{Name: "proofs", Table: "proofs"}
	index := bench.Relation{Name: "proofs_pkey", Table: "proofs"}
	tally := bench.WALTally{Database: "16384", Names: map[string]bench.Relation{"16400": table, "16401": index}}
	const dump = `first record is after 0/1, at 0/2, skipping over 1 byte
rmgr: Heap        len (rec/tot):    300/  8300, tx:        735, lsn: 0/01A2B390, prev 0/01A2B380, desc: INSERT off 5 flags 0x00, blkref #0: rel 1663/16384/16400 blk 3 FPW
rmgr: Btree       len (rec/tot):     64/    64, tx:        735, lsn: 0/01A2B3C8, prev 0/01A2B390, desc: INSERT_LEAF off 5, blkref #0: rel 1663/16384/16401 blk 3
rmgr: Heap        len (rec/tot):     54/    54, tx:        735, lsn: 0/01A2B3F8, prev 0/01A2B3C8, desc: LOCK off 5: xid 735: flags 0x00 KEYSHR_LOCK , blkref #0: rel 1663/16384/16400 blk 3
rmgr: Heap        len (rec/tot):     99/    99, tx:        736, lsn: 0/01A2B3F8, prev 0/01A2B3C8, desc: INSERT off 5 flags 0x00, blkref #0: rel 1663/5/16400 blk 3
rmgr: Transaction len (rec/tot):     34/    34, tx:        736, lsn: 0/01A2B428, prev 0/01A2B3F8, desc: COMMIT 2026-11-23 22:00:00.000000 UTC
rmgr: Transaction len (rec/tot):     34/    34, tx:        735, lsn: 0/01A2B428, prev 0/01A2B3F8, desc: COMMIT 2026-11-23 22:00:00.000000 UTC
rmgr: Standby     len (rec/tot):     50/    50, tx:          0, lsn: 0/01A2B458, prev 0/01A2B428, desc: RUNNING_XACTS nextXid 737
`
	for part := range strings.SplitAfterSeq(dump, "off") { // as a pipe may cut it
		_, err := tally.Write([]byte(part))
		require.NoError(t, err)
	}
	require.Equal(t, []bench.Written{
		{table, bench.Amount{Bytes: 150, Records: .5}},
		{index, bench.Amount{Bytes: 32, Records: .5}},
		{bench.Relation{Name: "lock of proofs", Table: "proofs"}, bench.Amount{Bytes: 27, Records: .5}},
		{bench.Relation{Name: "transaction commit", Table: "transaction commit"}, bench.Amount{Bytes: 17, Records: .5}},
	}, tally.Each(2))
}
