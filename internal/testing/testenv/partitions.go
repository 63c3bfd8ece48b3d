package testenv

import (
	"context"
	"os"

	"github.com/countersign-dev/countersign/internal/platform/store"
)

// partitioned reports whether the databases of tests are divided by time. They are not unless the setting says so, like new databases.
func partitioned() bool { return os.Getenv("COUNTERSIGN_TEST_PARTITIONED") != "" }

// divide divides the database of a template, so that the rows of today are in a partition between others.
func divide(ctx context.Context, st *store.Store) error {
	const weeks = 3
	now, err := st.Time(ctx)
	if err != nil {
		return err
	}
	if _, err := st.Partition(ctx, now.AddDate(0, 0, -7*weeks), func(int, int) {}); err != nil {
		return err
	}
	for week := range weeks {
		if _, err := st.ExtendPartitions(ctx, now.AddDate(0, 0, -7*(weeks-1-week))); err != nil {
			return err
		}
	}
	return nil
}
