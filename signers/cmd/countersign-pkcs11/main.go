//go:build cgo

// Command countersign-pkcs11 serves the keys of a PKCS#11 token to Countersign. It needs cgo, because it loads the library of the token's
// vendor.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/ThalesGroup/crypto11"

	"github.com/countersign-dev/countersign/signers"
)

// sessions is how many sessions with the token are open at a time.
const sessions = 64

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "countersign-pkcs11:", err)
		os.Exit(1)
	}
}

func run() error {
	var f signers.Flags
	f.Bind()
	module := flag.String("module", "", "library of the token, such as /usr/lib/softhsm/libsofthsm2.so")
	label := flag.String("token", "", "label of the token")
	pinFile := flag.String("pin-file", "", "file with the PIN of the user")
	flag.Parse()
	return f.Serve("pkcs11", &token{
		config:  crypto11.Config{Path: *module, TokenLabel: *label, MaxSessions: sessions, PoolWaitTimeout: time.Second},
		pinFile: *pinFile, slots: make(chan struct{}, sessions/2),
	})
}
