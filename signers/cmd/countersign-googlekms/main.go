// Command countersign-googlekms serves keys of Google Cloud KMS to Countersign. Its credentials are the application default credentials.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"google.golang.org/api/cloudkms/v1"

	"github.com/countersign-dev/countersign/signers"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "countersign-googlekms:", err)
		os.Exit(1)
	}
}

func run() error {
	var f signers.Flags
	f.Bind()
	ring := flag.String("key-ring", "", "projects/PROJECT/locations/LOCATION/keyRings/RING, which must exist")
	level := flag.String("protection-level", "HSM", "of the keys that it creates: HSM, SOFTWARE or EXTERNAL")
	flag.Parse()
	service, err := cloudkms.NewService(context.Background())
	if err != nil {
		return err
	}
	return f.Serve("googlekms", device{service.Projects.Locations.KeyRings.CryptoKeys, *ring, *level})
}
