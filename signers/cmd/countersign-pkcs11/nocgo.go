//go:build !cgo

// Command countersign-pkcs11 without cgo only says that it needs it.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "countersign-pkcs11: this program was built without cgo and cannot load the library of a token: build it with CGO_ENABLED=1")
	os.Exit(1)
}
