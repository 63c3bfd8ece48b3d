package destination

import "time"

// Hasten makes the service look for work and repeat attempts at once.
func (s *Service) Hasten() { s.look, s.wait = 5*time.Millisecond, 5*time.Millisecond }

// MaxBatch is the maximum number of entries of a batch.
const MaxBatch = maxBatch
