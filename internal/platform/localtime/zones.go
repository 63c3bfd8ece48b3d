package localtime

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // an image without files has named time zones too
)

// zoneName is the form of the names of the IANA database. Package time knows further ones, which mean what the server is set to, such as
// Local, localtime and posixrules.
var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

// knownZones bounds the zones that are kept. The IANA database has some six hundred; one of them can be spelt in several ways.
const knownZones = 1000

// zones keeps the zones that were asked for. Reading a zone's file takes some hundred times as long.
var zones = zoneCache{known: map[string]*time.Location{}}

// Zone returns the time zone with a name of the IANA database.
func Zone(name string) (*time.Location, error) { return zones.load(name) }

// zoneCache is safe for concurrent use: all environments share it.
type zoneCache struct {
	mu    sync.RWMutex
	known map[string]*time.Location
}

// load returns the zone of a name. A name that is no zone is not kept: it may come from a request, and requests could fill the cache with
// such names.
func (c *zoneCache) load(name string) (*time.Location, error) {
	c.mu.RLock()
	zone, ok := c.known[name]
	c.mu.RUnlock()
	if ok {
		return zone, nil
	}
	if !zoneName.MatchString(name) || name == "Local" || name == "Factory" {
		return nil, fmt.Errorf("unknown time zone %s", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= knownZones {
		clear(c.known)
	}
	c.known[strings.Clone(name)] = zone
	return zone, nil
}
