package scoring

import "github.com/countersign-dev/countersign/internal/behavior/features"

// Misfits returns the indices of sessions whose typing is inconsistent with that of the others, in ascending order; the template must
// not be trained on them. It removes the worst session, compared with all others together, until the remaining ones are
// consistent. If these are not more than half of the sessions with typing, it is unknown which are the person's, and all are
// misfits. Sessions without typing are not examined, and of very many sessions only the newest are.
func (m *Model) Misfits(sessions []SessionFrames) []int {
	bg := m.backgrounds[features.Keystroke]
	if bg == nil {
		return nil
	}
	all := typedSessions(bg, sessions)
	judged := all[max(0, len(all)-judgedSessions):]
	out := map[int]bool{}
	for {
		worst, ratio := worstFit(bg, judged, out)
		if worst < 0 || ratio >= misfitSession+bg.margin()/2 {
			break
		}
		out[judged[worst].index] = true
	}
	if len(out) > 0 && 2*(len(judged)-len(out)) <= len(judged) {
		for _, t := range all {
			out[t.index] = true
		}
	}
	var list []int
	for i := range sessions {
		if out[i] {
			list = append(list, i)
		}
	}
	return list
}

// typedSession is the typing of one session.
type typedSession struct {
	// Position among all sessions.
	index int
	cells features.Vector
	says  information
}

// typedSessions merges the typing of each session and computes its information. Sessions without typing are omitted.
func typedSessions(bg *Background, sessions []SessionFrames) []typedSession {
	var out []typedSession
	for i := range sessions {
		merged, _ := mergeSessions(bg, features.Keystroke, sessions[i:i+1])
		if len(merged) == 0 {
			continue
		}
		if says, ok := inform(bg, merged[0].Cells); ok {
			out = append(out, typedSession{i, merged[0].Cells, says})
		}
	}
	return out
}

// worstFit returns the position of the session that fits the others worst, ignoring those already out, and its log-likelihood ratio
// against them; -1 if fewer than two remain.
func worstFit(bg *Background, typed []typedSession, out map[int]bool) (worst int, ratio float64) {
	worst = -1
	for i, t := range typed {
		if out[t.index] {
			continue
		}
		var others []information
		for j, o := range typed {
			if j != i && !out[o.index] {
				others = append(others, o.says)
			}
		}
		if len(others) == 0 {
			return -1, 0
		}
		p, ok := combine(bg, others)
		if !ok {
			continue
		}
		if r := llr(bg, p, t.cells); worst < 0 || r < ratio {
			worst, ratio = i, r
		}
	}
	return worst, ratio
}
