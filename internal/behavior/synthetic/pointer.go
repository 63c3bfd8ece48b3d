package synthetic

import (
	"math"
	"math/rand/v2"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// PointerUser is a generated person who moves a pointer: minimum-jerk strokes (Flash and Hogan, 1985) with curvature, tremor and
// pauses of the person's own.
type PointerUser struct {
	rng                         *rand.Rand
	speed, curve, tremor, pause float64
	unsteady                    float64
	click, peak                 float64
	at, x, y                    float64
}

// NewPointerUser draws a person from the seed.
func NewPointerUser(seed uint64) *PointerUser {
	rng := rand.New(rand.NewPCG(seed, 0x9015))
	return &PointerUser{rng: rng, speed: math.Exp(.45 * rng.NormFloat64()), curve: .12 * rng.NormFloat64(), tremor: .2 + .4*rng.Float64(), unsteady: .03 + .05*rng.Float64(),
		pause: math.Exp(.5 * rng.NormFloat64()), click: math.Exp(4.4 + .3*rng.NormFloat64()), peak: .35 + .2*rng.Float64(),
		at: 1000, x: 600, y: 400}
}

// Move moves and clicks for at least ms milliseconds and returns the events. Times continue from the last call.
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

// stroke moves to a random target and corrects the position once or twice.
func (p *PointerUser) stroke() []features.PointerEvent {
	out := p.reach(1200*p.rng.Float64(), 800*p.rng.Float64())
	for range 1 + p.rng.IntN(2) {
		p.at += 20 + 60*p.rng.ExpFloat64()
		out = append(out, p.reach(p.x+8*p.rng.NormFloat64(), p.y+8*p.rng.NormFloat64())...)
	}
	return out
}

// reach generates one ballistic movement: fast in the middle, slow at its ends, curved, with tremor. Like a browser it reports only
// changes of whole pixels, so slow movement yields few events.
func (p *PointerUser) reach(tx, ty float64) []features.PointerEvent {
	dx, dy := tx-p.x, ty-p.y
	distance := math.Hypot(dx, dy)
	duration := (220 + 160*math.Log2(1+distance/60)) / p.speed * math.Exp(.15*p.rng.NormFloat64())
	bend := (p.curve + .06*p.rng.NormFloat64()) * distance
	warp := math.Log(.5) / math.Log(p.peak)
	var out []features.PointerEvent
	x0, y0, start, lastX, lastY := p.x, p.y, p.at, math.Round(p.x), math.Round(p.y)
	for p.at-start < duration {
		p.at += 14 + 5*p.rng.Float64()
		u := math.Pow(math.Min((p.at-start)/duration, 1), warp)
		s := u * u * u * (10 - 15*u + 6*u*u)
		s += p.unsteady * p.rng.NormFloat64() * s * (1 - s)
		side := bend * math.Sin(math.Pi*s)
		p.x = x0 + dx*s - dy/math.Max(distance, 1)*side + p.tremor*s*p.rng.NormFloat64()
		p.y = y0 + dy*s + dx/math.Max(distance, 1)*side + p.tremor*s*p.rng.NormFloat64()
		if x, y := math.Round(p.x), math.Round(p.y); x != lastX || y != lastY {
			out = append(out, features.PointerEvent{T: math.Round(p.at), X: x, Y: y})
			lastX, lastY = x, y
		}
	}
	return out
}

// press clicks at the current position.
func (p *PointerUser) press() []features.PointerEvent {
	p.at += 60 + 60*p.rng.ExpFloat64()
	down := features.PointerEvent{T: math.Round(p.at), X: math.Round(p.x), Y: math.Round(p.y), Kind: features.PointerPress}
	p.at += p.click * math.Exp(.2*p.rng.NormFloat64())
	up := down
	up.T, up.Kind = math.Round(p.at), features.PointerRelease
	return []features.PointerEvent{down, up}
}

// ScriptedPointer moves like a simple script: straight, one pixel per step, at constant intervals.
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

// PointerAttack is a program that moves a pointer.
type PointerAttack struct {
	Name string
	Make func(rng *rand.Rand, ms float64) []features.PointerEvent
}

// PointerAttacks returns generators from naive to human-like: straight lines, curves with easing, with jitter, and the
// wind-and-gravity model (WindMouse) that automation tools use.
func PointerAttacks() []PointerAttack {
	return []PointerAttack{
		{"one pixel a step", func(rng *rand.Rand, ms float64) []features.PointerEvent {
			return ScriptedPointer(rng.Uint64(), int(ms/17))
		}},
		{"straight lines, constant speed", curved(0, func(u float64) float64 { return u }, 0)},
		{"straight lines, eased", curved(0, ease, 0)},
		{"curves, eased", curved(.25, ease, 0)},
		{"curves, eased, 1 px jitter", curved(.25, ease, 1)},
		{"wind and gravity", windMouse},
	}
}

// ease is the smoothstep function on 0 to 1.
func ease(u float64) float64 { return u * u * (3 - 2*u) }

// curved moves along quadratic curves with a bend of a share of the distance, at 60 events per second.
func curved(bend float64, pace func(float64) float64, jitter float64) func(*rand.Rand, float64) []features.PointerEvent {
	return func(rng *rand.Rand, ms float64) []features.PointerEvent {
		var out []features.PointerEvent
		at, x, y := 1000.0, 500.0, 400.0
		for at < ms+1000 {
			tx, ty := 1200*rng.Float64(), 800*rng.Float64()
			cx, cy := (x+tx)/2+bend*(rng.Float64()-.5)*(ty-y)*2, (y+ty)/2+bend*(rng.Float64()-.5)*(x-tx)*2
			steps := 20 + rng.IntN(40)
			for k := 1; k <= steps; k++ {
				u := pace(float64(k) / float64(steps))
				px := (1-u)*(1-u)*x + 2*u*(1-u)*cx + u*u*tx + jitter*rng.NormFloat64()
				py := (1-u)*(1-u)*y + 2*u*(1-u)*cy + u*u*ty + jitter*rng.NormFloat64()
				at += 16 + float64(rng.IntN(2))
				out = append(out, features.PointerEvent{T: at, X: math.Round(px), Y: math.Round(py)})
			}
			x, y = tx, ty
			at += 150 + 700*rng.Float64()
		}
		return out
	}
}

// windMouse pulls the pointer to its target by gravity while a random wind deflects it.
func windMouse(rng *rand.Rand, ms float64) []features.PointerEvent {
	const gravity, wind, near, fastest = 9.0, 3.0, 12.0, 15.0
	var out []features.PointerEvent
	at, x, y := 1000.0, 500.0, 400.0
	for at < ms+1000 {
		tx, ty := 1200*rng.Float64(), 800*rng.Float64()
		vx, vy, wx, wy, most := 0.0, 0.0, 0.0, 0.0, fastest
		for d := math.Hypot(tx-x, ty-y); d >= 1 && at < ms+1000; d = math.Hypot(tx-x, ty-y) {
			force := math.Min(wind, d)
			if d >= near {
				wx = wx/math.Sqrt(3) + (2*rng.Float64()-1)*force/math.Sqrt(5)
				wy = wy/math.Sqrt(3) + (2*rng.Float64()-1)*force/math.Sqrt(5)
			} else {
				wx, wy, most = wx/math.Sqrt(3), wy/math.Sqrt(3), math.Max(most/math.Sqrt(5), 3)
			}
			vx, vy = vx+wx+gravity*(tx-x)/d, vy+wy+gravity*(ty-y)/d
			if v := math.Hypot(vx, vy); v > most {
				clip := most/2 + rng.Float64()*most/2
				vx, vy = vx/v*clip, vy/v*clip
			}
			x, y = x+vx, y+vy
			at += 8 + float64(rng.IntN(9))
			out = append(out, features.PointerEvent{T: at, X: math.Round(x), Y: math.Round(y)})
		}
		at += 150 + 700*rng.Float64()
	}
	return out
}
