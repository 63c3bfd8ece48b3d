package assurance

import (
	"strconv"
)

// PassagePlace returns the associated data that a block of passages is sealed with.
func PassagePlace(subjectUID, device string, block int) string {
	return string(strconv.AppendInt(AppendPlace(nil, subjectUID, device), int64(block), 10))
}

// AppendPlace appends the place of a subject's blocks, which a block's number completes.
func AppendPlace(out []byte, subjectUID, device string) []byte {
	return append(append(append(append(out, subjectUID...), '/'), device...), '/')
}

// PassageBlock is the newest block of a subject's passages, including the one of the frame.
type PassageBlock struct {
	Block  int
	Sealed []byte
}
