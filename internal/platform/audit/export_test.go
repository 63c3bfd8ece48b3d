package audit

import "context"

// SealRecent is a round of Run that reads the least of the log.
func (s *Sealer) SealRecent(ctx context.Context) (int, error) {
	return s.sealEach(ctx, sealing{reach: recent})
}
