package assurance

import (
	"fmt"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/models"
)

// Own are the backgrounds that one environment learned.
type Own struct {
	InForce []*scoring.Background // at most one per modality; the deployment's is active in the others
	Known   []*scoring.Background // every one that templates may have been trained with
}

// UseOwn activates the backgrounds of environments, from the next assessment on. Call it after Use, which has the backgrounds of all other
// environments and modalities.
func (a *Assessor) UseOwn(own map[string]Own) {
	deployment := a.models.Load()
	next := make(map[string]*inForce, len(own))
	for environment, o := range own {
		// The deployment's backgrounds stay known: templates of before were trained with them.
		active := map[features.Modality]*scoring.Background{}
		f := &inForce{known: map[string]*scoring.Background{}}
		for version, b := range deployment.known {
			f.known[version] = b
		}
		for _, m := range features.Modalities() {
			if b := deployment.model.Background(m); b != nil {
				active[m], f.known[b.Version] = b, b
			}
		}
		for _, b := range o.Known {
			f.known[b.Version] = b
		}
		for _, b := range o.InForce {
			active[b.Modality], f.known[b.Version] = b, b
		}
		var all []*scoring.Background
		for _, b := range active {
			all = append(all, b)
		}
		f.model = scoring.NewModel(all...)
		next[environment] = f
	}
	a.own.Store(&next)
}

func (a *Assessor) of(environment string) *inForce {
	if own := a.own.Load(); own != nil {
		if f := (*own)[environment]; f != nil {
			return f
		}
	}
	return a.models.Load()
}

// ModelOf returns the active model of an environment.
func (a *Assessor) ModelOf(environment string) *scoring.Model { return a.of(environment).model }

// Outdated are the background versions whose templates can be migrated to the active one.
type Outdated struct {
	Environment string   // empty for all environments without backgrounds of their own
	Except      []string // those environments, if Environment is empty
	Versions    []string
}

// Outdated returns the background versions of a modality whose templates must be trained again, by environment.
func (a *Assessor) Outdated(m features.Modality) []Outdated {
	rest := Outdated{Except: []string{}, Versions: a.Earlier(m)}
	// An environment with backgrounds of its own has others in force, so that its templates are outdated by other versions.
	var out []Outdated
	if own := a.own.Load(); own != nil {
		for environment, f := range *own {
			rest.Except = append(rest.Except, environment)
			out = append(out, Outdated{Environment: environment, Versions: f.earlier(m)})
		}
	}
	return append(out, rest)
}

// sumsPurpose is the keyring purpose of the sums over enrolled people.
const sumsPurpose = "background-sums"

// SealSums encrypts sums over the people of an environment, sealed to the environment and modality.
func (a *Assessor) SealSums(row models.BackgroundSums, raw []byte) ([]byte, error) {
	return a.keys.Seal(sumsPurpose, raw, []byte(row.EnvironmentID+" "+row.Modality))
}

// OpenSums decrypts what SealSums returned.
func (a *Assessor) OpenSums(row models.BackgroundSums) ([]byte, error) {
	raw, err := a.keys.Open(sumsPurpose, row.Sums, []byte(row.EnvironmentID+" "+row.Modality))
	if err != nil {
		return nil, fmt.Errorf("sums of %s: %w", row.EnvironmentID, err)
	}
	return raw, nil
}
