package scoring

import "github.com/countersign-dev/countersign/internal/behavior/features"

// Misfits are the indices of the sessions whose typing does not fit that of the others, in ascending order: the template is
// not to be learned from them. The worst goes first, held against what the others say together, until all that are left fit.
// Those left must be more than half of the sessions with typing. If they are not, nothing tells which of them are the
// person's, and all are misfits. Sessions without typing are not judged, and of very many only the newest are: no template is
// learned from more.
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
		if worst < 0 || ratio >= misfitSession {
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
	index int // among all sessions
	cells features.Vector
	says  information
}

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

// worstFit is the place of the session that fits the others worst, those already out left aside, and its log-likelihood ratio
// against them; -1 if fewer than two are left.
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
