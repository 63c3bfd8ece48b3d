// Command countersign-awskms serves keys of AWS KMS to Countersign. Region, credentials and endpoint come from where the AWS SDK finds
// them: environment variables, files, or the role of the machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"github.com/countersign-dev/countersign/signers"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "countersign-awskms:", err)
		os.Exit(1)
	}
}

func run() error {
	var f signers.Flags
	f.Bind()
	flag.Parse()
	c, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		return err
	}
	return f.Serve("awskms", newDevice(kms.NewFromConfig(c)))
}
