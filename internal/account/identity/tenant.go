package identity

// Key is a key that was read once for all that a request needs it for: its kind and its MAC. It refers to the text that it was read
// from, which must not change.
type Key struct {
	text []byte
	kind keyKind
	mac  []byte // nil if the text is no key
}

// Read reads a key. It queries nothing: TenantOf and Check decide whether the key is known and valid.
func (s *Service) Read(text []byte) Key {
	kind, ok := parseKey(text)
	if !ok {
		return Key{}
	}
	return Key{text: text, kind: kind, mac: s.keys.MAC(macPurpose, text)}
}

// TenantOf returns the tenant of a key if the cache knows it; it never queries the database. Admission control uses it to
// count a request against the tenant's share of the process before the key is authenticated. A known tenant does not mean
// that the key is still valid.
func (s *Service) TenantOf(k Key) (tenant string, known bool) {
	hit, until := s.cache.Get(string(k.mac))
	if until.IsZero() || (hit.expires != nil && !s.clock.Now().Before(*hit.expires)) {
		return "", false
	}
	return hit.principal.TenantID, true
}
