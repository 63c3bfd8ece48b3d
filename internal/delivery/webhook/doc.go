// Package webhook delivers events to the relying parties' endpoints: which endpoint is owed which event, when to try and
// when to stop, the signature of Standard Webhooks (https://www.standardwebhooks.com, version 1), and a sender that
// cannot be talked into calling an address inside the network.
//
// The package may not follow redirects, use a proxy from the environment, show a receiver's answer to anybody (its
// digest and status are kept), or tell an endpoint's owner more about a failed connection than a word of a fixed list.
package webhook
