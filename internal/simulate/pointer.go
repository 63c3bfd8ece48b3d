package simulate

import (
	"math"
	"math/rand/v2"

	"github.com/countersign-dev/countersign/internal/features"
)

// PointerUser is a made-up person who moves a pointer: minimum-jerk strokes with curvature, tremor and pauses of the
// person's own.
type PointerUser struct {
	rng                         *rand.Rand
	speed, curve, tremor, pause float64
	click, peak                 float64
	at, x, y                    float64
}

// NewPointerUser draws a person.
func NewPointerUser(seed uint64) *PointerUser {
	rng := rand.New(rand.NewPCG(seed, 0x9015))
	return &PointerUser{rng: rng, speed: math.Exp(.45 * rng.NormFloat64()), curve: .12 * rng.NormFloat64(), tremor: .4 + .5*rng.Float64(),
		pause: math.Exp(.5 * rng.NormFloat64()), click: math.Exp(4.4 + .3*rng.NormFloat64()), peak: .35 + .2*rng.Float64(),
		at: 1000, x: 600, y: 400}
}

// Move moves and clicks for at least ms milliseconds and returns the events, times going on from the last call.
func (p *PointerUser) Move(ms float64) []features.PointerEvent {
	var out []features.PointerEvent
	end := p.at + ms
	for p.at < end {
		out = append(out, p.stroke()...)
		if p.rng.Float64() < .5 {
			out = append(out, p.press()...)
		}
		p.at += 120 + 380*p.pause*p.rng.ExpFloat64()
	}
	return out
}

func (p *PointerUser) stroke() []features.PointerEvent {
	tx, ty := 1200*p.rng.Float64(), 800*p.rng.Float64()
	dx, dy := tx-p.x, ty-p.y
	distance := math.Hypot(dx, dy)
	duration := (180 + 140*math.Log2(1+distance/60)) / p.speed * math.Exp(.15*p.rng.NormFloat64())
	bend := (p.curve + .06*p.rng.NormFloat64()) * distance
	var out []features.PointerEvent
	x0, y0, start := p.x, p.y, p.at
	warp := math.Log(.5) / math.Log(p.peak)
	for p.at-start < duration {
		u := math.Pow((p.at-start)/duration, warp)
		s := u * u * u * (10 - 15*u + 6*u*u)
		side := bend * math.Sin(math.Pi*s)
		p.x = x0 + dx*s - dy/math.Max(distance, 1)*side + p.tremor*p.rng.NormFloat64()
		p.y = y0 + dy*s + dx/math.Max(distance, 1)*side + p.tremor*p.rng.NormFloat64()
		out = append(out, features.PointerEvent{T: math.Round(p.at), X: math.Round(p.x), Y: math.Round(p.y)})
		p.at += 14 + 5*p.rng.Float64()
	}
	return out
}

func (p *PointerUser) press() []features.PointerEvent {
	p.at += 60 + 60*p.rng.ExpFloat64()
	down := features.PointerEvent{T: math.Round(p.at), X: math.Round(p.x), Y: math.Round(p.y), Kind: features.PointerPress}
	p.at += p.click * math.Exp(.2*p.rng.NormFloat64())
	up := down
	up.T, up.Kind = math.Round(p.at), features.PointerRelease
	return []features.PointerEvent{down, up}
}

// ScriptedPointer moves the way simple scripts do: straight, one pixel a step, evenly timed.
func ScriptedPointer(seed uint64, events int) []features.PointerEvent {
	rng := rand.New(rand.NewPCG(seed, 0xb07))
	out := make([]features.PointerEvent, 0, events)
	at, x, y, dx, dy := 1000.0, 300.0, 300.0, 1.0, 0.0
	for len(out) < events {
		if rng.Float64() < .01 {
			dx, dy = float64(rng.IntN(3)-1), float64(rng.IntN(3)-1)
		}
		at, x, y = at+16+float64(rng.IntN(2)), x+dx, y+dy
		out = append(out, features.PointerEvent{T: at, X: x, Y: y})
	}
	return out
}
