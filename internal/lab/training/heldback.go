package training

import "hash/crc32"

// HeldBack reports whether a person is in the share (0 to 1) that is held back from
// learning, to measure with. It depends on the name or pseudonym alone, so that
// learning and measuring agree without a list of people.
func HeldBack(person string, share float64) bool {
	return float64(crc32.ChecksumIEEE([]byte(person))%1000) < 1000*share
}
