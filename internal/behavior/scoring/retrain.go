package scoring

import "math"

// Retrain trains templates with this model from their stored sessions, after a different background was activated. from is the model
// that they were trained with; templates of other models are returned unchanged.
func (m *Model) Retrain(ts Templates, from *Model) (Templates, error) {
	out := append(Templates(nil), ts...)
	for i, t := range out {
		bg, old := m.backgrounds[t.Modality], from.backgrounds[t.Modality]
		if bg == nil || old == nil || t.ModelVersion != old.Version || bg.Version == old.Version {
			continue
		}
		t.ModelVersion, t.SchemaVersion = bg.Version, bg.SchemaVersion
		t.gallery = translate(t.gallery, old, bg)
		if err := t.learn(bg); err != nil {
			return ts, err
		}
		out[i] = t
	}
	return out, nil
}

// translate converts fingerprints to the standard deviations of a different background.
func translate(prints []fingerprint, old, bg *Background) []fingerprint {
	out := make([]fingerprint, len(prints))
	for k, p := range prints {
		out[k] = make(fingerprint, len(p))
		for i, z := range p {
			out[k][i] = absent
			if z != absent {
				mean := float64(z)/printStep*old.sd[i] + old.Mu[i]
				moved := math.Round((mean - bg.Mu[i]) / bg.sd[i] * printStep)
				out[k][i] = int8(math.Min(math.Max(moved, -127), 127))
			}
		}
	}
	return out
}
