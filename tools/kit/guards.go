package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// guard is a check that an SDK needs to pass the kit, and the cases that fail without it.
type guard struct {
	File    string   `json:"file"`
	Name    string   `json:"name"`
	Refuses string   `json:"refuses"`
	Cases   []string `json:"cases"`
}

// guards declares each guard once. Cases are filled in from the files.
var guards = []guard{
	{File: "requests", Name: "escaping", Refuses: "an id that becomes another path"},
	{File: "responses", Name: "json", Refuses: "a body that is not one JSON value"},
	{File: "responses", Name: "required", Refuses: "a response without a member that every one has"},
	{File: "responses", Name: "type", Refuses: "a value of another type"},
	{File: "responses", Name: "duplicates", Refuses: "an object with a name twice"},
	{File: "responses", Name: "enum", Refuses: "a decision or a mode that the contract does not have"},
	{File: "responses", Name: "range", Refuses: "a number out of its range"},
	{File: "responses", Name: "consistency", Refuses: "a decision that contradicts itself, such as an allow in mode enforce without its proof"},
	{File: "responses", Name: "echo", Refuses: "the decision of another request"},
	{File: "responses", Name: "content_type", Refuses: "a body of another media type"},
	{File: "responses", Name: "status", Refuses: "a success that the contract does not have"},
	{File: "responses", Name: "redirect", Refuses: "a redirect, which would send the key elsewhere"},
	{File: "responses", Name: "length", Refuses: "a body whose connection ends before it does"},
	{File: "responses", Name: "problem", Refuses: "the code of a refusal that is not of the service"},
	{File: "responses", Name: "rate_limit", Refuses: "a limit as unavailability"},
	{File: "responses", Name: "retry_after", Refuses: "a Retry-After that is no time"},
	{File: "retries", Name: "bounded", Refuses: "more attempts than the caller set"},
	{File: "retries", Name: "limit_remembered", Refuses: "unavailability after a limit"},
	{File: "retries", Name: "longest_pause", Refuses: "a wait that is longer than any caller waits"},
	{File: "retries", Name: "refusal", Refuses: "a second attempt after a refusal"},
	{File: "retries", Name: "redirect", Refuses: "a second attempt after a redirect"},
	{File: "pages", Name: "page_host", Refuses: "a next page of another host"},
	{File: "pages", Name: "page_repeated", Refuses: "a page that is followed by itself"},
	{File: "streams", Name: "resume", Refuses: "a connection that loses events"},
	{File: "streams", Name: "lines", Refuses: "a line end that the format does not have"},
	{File: "streams", Name: "content_type", Refuses: "a stream of another media type"},
	{File: "streams", Name: "refusal", Refuses: "a second connection after a refusal"},
	{File: "streams", Name: "json", Refuses: "an event whose data are not JSON"},
	{File: "keys", Name: "max_age", Refuses: "keys beyond the time that the service gives them"},
	{File: "keys", Name: "least", Refuses: "a fetch for each proof"},
	{File: "keys", Name: "most", Refuses: "keys of a longer time than a removed key may live"},
	{File: "keys", Name: "refetch", Refuses: "a fetch for each unknown key"},
	{File: "keys", Name: "failed", Refuses: "proof_key_unknown while the keys cannot be fetched"},
	{File: "keys", Name: "beyond_an_hour", Refuses: "known keys an hour after the last fetch"},
	{File: "keys", Name: "key_set", Refuses: "a response that is no key set"},
	{File: "keys", Name: "status", Refuses: "a key set with another status"},
	{File: "keys", Name: "redirect", Refuses: "the keys of another address"},
	{File: "proofs", Name: "form", Refuses: "a text that is not a compact JWS"},
	{File: "proofs", Name: "canonical", Refuses: "a second spelling of the same bytes"},
	{File: "proofs", Name: "length", Refuses: "more than 8192 characters"},
	{File: "proofs", Name: "signature_size", Refuses: "a signature that is not r and s as 32 bytes each"},
	{File: "proofs", Name: "alg", Refuses: "an algorithm other than ES256"},
	{File: "proofs", Name: "typ", Refuses: "a token of another type"},
	{File: "proofs", Name: "members", Refuses: "a header with more than alg, kid and typ"},
	{File: "proofs", Name: "kid", Refuses: "a header without a kid"},
	{File: "proofs", Name: "duplicates", Refuses: "a name twice in header or claims"},
	{File: "proofs", Name: "json", Refuses: "a header that is not one JSON object"},
	{File: "proofs", Name: "kid_known", Refuses: "a key that is not published"},
	{File: "proofs", Name: "key_type", Refuses: "a published key that is not of type EC"},
	{File: "proofs", Name: "curve", Refuses: "a published key that is not a point of P-256"},
	{File: "proofs", Name: "coordinates", Refuses: "a coordinate that is not 32 bytes"},
	{File: "proofs", Name: "key_use", Refuses: "a published key for something else than ES256 signatures"},
	{File: "proofs", Name: "key_ops", Refuses: "a published key that is not to verify with"},
	{File: "proofs", Name: "private_key", Refuses: "a published key that is private"},
	{File: "proofs", Name: "signature", Refuses: "a signature that does not verify"},
	{File: "proofs", Name: "claims", Refuses: "claims without the shape of a proof's"},
	{File: "proofs", Name: "iss", Refuses: "a proof of another issuer"},
	{File: "proofs", Name: "env", Refuses: "a proof of another environment"},
	{File: "proofs", Name: "aud", Refuses: "a proof for another audience"},
	{File: "proofs", Name: "action", Refuses: "a proof for another action"},
	{File: "proofs", Name: "subject", Refuses: "a proof for another subject"},
	{File: "proofs", Name: "resource", Refuses: "a proof for another resource"},
	{File: "proofs", Name: "context", Refuses: "a proof for another context, such as another amount"},
	{File: "proofs", Name: "nonce", Refuses: "a proof for another request"},
	{File: "proofs", Name: "nbf", Refuses: "a proof before its time"},
	{File: "proofs", Name: "exp", Refuses: "a proof after its time"},
	{File: "proofs", Name: "leeway", Refuses: "a leeway of more than 60 s"},
	{File: "webhooks", Name: "headers", Refuses: "a delivery without id, time or signature"},
	{File: "webhooks", Name: "timestamp", Refuses: "a time that is more than 5 minutes from now"},
	{File: "webhooks", Name: "version", Refuses: "a signature of another version"},
	{File: "webhooks", Name: "signature", Refuses: "a delivery that the secret did not sign"},
	{File: "webhooks", Name: "json", Refuses: "a body that is no event"},
	{File: "canonical", Name: "surrogates", Refuses: "half of a surrogate pair"},
}

// guardList fills in the cases of each guard, from the files that were written before. A case needs a guard that is declared, and a guard a case.
func guardList() (any, error) {
	list := slices.Clone(guards)
	for _, file := range []string{"requests", "responses", "retries", "pages", "streams", "keys", "proofs", "webhooks", "canonical"} {
		var set struct {
			Cases, Scripts, Refused []struct{ Name, Guard string }
		}
		if err := read(filepath.Join("../../sdk/kit", file+".json"), &set); err != nil {
			return nil, err
		}
		for _, c := range slices.Concat(set.Cases, set.Scripts, set.Refused) {
			if c.Guard == "none" || c.Guard == "" && file == "canonical" {
				continue
			}
			at := slices.IndexFunc(list, func(g guard) bool { return g.File == file && g.Name == c.Guard })
			if at < 0 {
				return nil, fmt.Errorf("%s.json: the guard %q of the case %q is not declared", file, c.Guard, c.Name)
			}
			list[at].Cases = append(list[at].Cases, c.Name)
		}
	}
	for _, g := range list {
		if len(g.Cases) == 0 {
			return nil, fmt.Errorf("no case of %s.json has the guard %q", g.File, g.Name)
		}
	}
	return object{"version": version, "guards": list}, nil
}

func read(path string, out any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}
