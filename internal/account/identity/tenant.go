package identity

// TenantOf returns the tenant of a key if the cache knows it; it never queries the database. Admission control uses it to
// count a request against the tenant's share of the process before the key is authenticated. A known tenant does not mean
// that the key is still valid.
func (s *Service) TenantOf(key string) (tenant string, known bool) {
	if _, ok := parseKey(key); !ok {
		return "", false
	}
	mac := s.keys.MAC(macPurpose, []byte(key))
	s.mu.RLock()
	hit, ok := s.cache[string(mac)]
	s.mu.RUnlock()
	if !ok || (hit.expires != nil && !s.clock.Now().Before(*hit.expires)) {
		return "", false
	}
	return hit.principal.TenantID, true
}
