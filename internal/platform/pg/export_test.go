package pg

import "context"

// OpenBridge does the last step of the migration of a database of version 1.0.
func (s *Store) OpenBridge(ctx context.Context) error { return s.openBridge(ctx) }
