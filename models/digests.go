package models

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// digests returns what Digests contains, in its order.
func (a *Authorization) digests() [4]*string {
	return [...]*string{&a.ResourceDigest, &a.ContextDigest, &a.ActionHash, &a.PolicyHash}
}

// PackDigests returns the digests as the bytes that they are, half as long; nil if one of them is no SHA-256.
func (a *Authorization) PackDigests() []byte {
	packed := make([]byte, 0, len(a.digests())*digestSize)
	for _, d := range a.digests() {
		if len(*d) != digestLength || !strings.HasPrefix(*d, digestPrefix) {
			return nil
		}
		var ok bool
		if packed, ok = appendHex(packed, []byte((*d)[len(digestPrefix):])); !ok {
			return nil
		}
	}
	return packed
}

// unpackDigests sets the digests from Digests.
func (a *Authorization) unpackDigests() error {
	if len(a.Digests) == 0 {
		return nil
	}
	if len(a.Digests) != len(a.digests())*digestSize {
		return fmt.Errorf("digests of authorization %s: %d bytes are not %d digests", a.ID, len(a.Digests), len(a.digests()))
	}
	for i, d := range a.digests() {
		*d = digestPrefix + hex.EncodeToString(a.Digests[i*digestSize:][:digestSize])
	}
	return nil
}
