// Package webhook delivers events to the webhook endpoints of relying parties. Requests are signed as Standard Webhooks
// version 1 specifies (https://www.standardwebhooks.com).
//
// FanOut creates a delivery for each event and subscribed endpoint. The workflow of an endpoint calls Deliverer, which sends
// the due deliveries, retries failed ones and stops at a circuit breaker. Endpoints is the service behind the API. Sender
// makes the HTTP requests and refuses to connect to addresses inside the network.
//
// The package may not follow redirects, use a proxy of the environment, or store a receiver's response: only its status and
// the digest of its body. To the owner of an endpoint it reports a failed connection as one of a fixed list of codes.
package webhook
