// Command countersign-azurekeys serves keys of Azure Key Vault or Managed HSM to Countersign. Its credentials are those that the Azure SDK
// finds: environment variables, a managed identity, or the command line of Azure.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/security/keyvault/azkeys"

	"github.com/countersign-dev/countersign/signers"
)

// options make no retries: Countersign retries, and waits for less than a second.
var options = azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "countersign-azurekeys:", err)
		os.Exit(1)
	}
}

func run() error {
	var f signers.Flags
	f.Bind()
	vault := flag.String("vault", "", "URL of the vault, such as https://bank.vault.azure.net")
	hsm := flag.Bool("hsm", true, "create keys in the HSM of the vault")
	flag.Parse()
	credential, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return err
	}
	client, err := azkeys.NewClient(*vault, credential, &azkeys.ClientOptions{ClientOptions: options})
	if err != nil {
		return err
	}
	return f.Serve("azurekeys", device{client, *hsm})
}
