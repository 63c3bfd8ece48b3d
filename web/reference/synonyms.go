package reference

import (
	"strings"
	"sync"
)

// synonyms are words that people search for, each with the words that the documentation uses. This is the only place for them.
var synonyms = map[string]string{
	// Factors
	"2fa": "challenge passkey", "mfa": "challenge passkey", "two factor": "challenge passkey", "second factor": "challenge passkey",
	"step up": "challenge", "webauthn": "passkey", "fido": "passkey", "fido2": "passkey", "face id": "passkey", "fingerprint": "passkey",
	"yubikey": "passkey authenticator", "revoke": "revocation", "biometrics": "typing", "keystroke": "typing",
	"mobile": "phone touch android", "phone": "touch", "iphone": "phone touch",
	"false accept": "accuracy stranger", "false positive": "accuracy", "far": "accuracy", "frr": "accuracy", "eer": "accuracy",
	// People
	"scim": "single identity group", "dpia": "impact assessment protection", "impact assessment": "protection officer",
	"sso": "single identity", "saml": "single identity", "okta": "single identity", "entra": "single identity",
	"oidc": "single identity", "login": "single identity", "log in": "single identity",
	"four eyes": "second", "dual control": "second", "gdpr": "protection erasure", "ccpa": "protection erasure", "privacy": "protection",
	"dpo": "protection officer", "dsar": "export subject", "delete user": "erasure", "forget": "erasure", "pii": "personal",
	// Policies and the API
	"budget": "limit sum reserve", "per day": "24h sum limit", "daily limit": "24h limit reserve", "spending limit": "sum limit reserve",
	"opa": "policy", "rego": "policy", "cedar": "policy", "cel": "rule", "dry run": "shadow simulate", "velocity": "sum count",
	"terraform": "configuration code", "gitops": "configuration code", "jwt": "proof", "jwks": "proof keys", "callback": "webhook",
	"llm": "agent", "chatgpt": "agent", "npm": "sdk", "java": "sdk", "python": "sdk",
	"429": "quota", "rate limit": "quota", "throttling": "quota", "too many requests": "quota",
	// Operations
	"hsm": "keys pkcs", "kms": "keys cloud", "vault": "keys transit", "secrets": "keys", "splunk": "siem", "sentinel": "siem", "datadog": "siem",
	"load balancer": "nginx alb envoy", "reverse proxy": "nginx proxy", "ingress": "nginx", "k8s": "kubernetes", "helm": "kubernetes",
	"docker": "images compose", "container": "images", "capacity": "size", "sizing": "size", "throughput": "performance",
	"latency": "performance", "slow": "performance", "benchmark": "performance", "high availability": "failover", "ha": "failover",
	"disaster recovery": "failover backup", "metrics": "monitoring", "prometheus": "monitoring", "grafana": "monitoring", "alert": "monitoring",
	"uptime": "health", "soc 2": "audit controls", "compliance": "audit controls",
}

// longestSynonym is the largest number of words of a phrase in synonyms.
const longestSynonym = 3

// synonymsByStems are the stems of synonyms by those of the phrase.
var synonymsByStems = sync.OnceValue(func() map[string][]string {
	byStems := map[string][]string{}
	for phrase, others := range synonyms {
		byStems[strings.Join(stemsOf(phrase), " ")] = stemsOf(others)
	}
	return byStems
})

// synonymsOf returns how many of the first words have synonyms together, and those; 1 and none if there are none.
func synonymsOf(words []word) (n int, others []string) {
	var stems []string
	for _, w := range words[:min(len(words), longestSynonym)] {
		stems = append(stems, w.stem)
	}
	for n := len(stems); n > 0; n-- {
		if others := synonymsByStems()[strings.Join(stems[:n], " ")]; others != nil {
			return n, others
		}
	}
	return 1, nil
}

func stemsOf(phrase string) []string {
	var stems []string
	for text := range strings.FieldsFuncSeq(phrase, betweenWords) {
		stems = append(stems, newWord(text).stem)
	}
	return stems
}
