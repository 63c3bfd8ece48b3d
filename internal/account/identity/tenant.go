package identity

// TenantOf is the tenant that a key is known to belong to, without asking the database. It says whose share of the process a request
// counts against before the key is checked, and nothing of whether the key is still good.
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
