package evaluation

import (
	"context"
	"math"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// rateDays is the number of days before now from which the rate of decisions is measured. maxForecast is the furthest forecast.
const (
	rateDays    = 14
	maxForecast = 366 * 24 * time.Hour
)

// Power says when an evaluation has enough decisions, and how precise its shares are.
type Power struct {
	Needed int64 // min_shadow_decisions
	Have   int64 // decisions in shadow mode since the start
	// Days has the decisions since the start, counted up to the end of each day with any.
	Days   []DayCount
	PerDay float64 // mean of the last 14 days, those before the start included
	// Enough is when Needed is reached at this rate; nil if it is reached, or not within a year.
	Enough *time.Time
	// Margin is half of the widest 95 % interval of a share of Have decisions, 0 to 1 (normal approximation, at a share of one half);
	// MarginEnough of Needed decisions.
	Margin, MarginEnough float64
}

// Power measures how many decisions in shadow mode an evaluation has, and forecasts when it has enough.
func (s *Service) Power(ctx context.Context, scope pg.Scope, id string) (Power, error) {
	row, err := getEvaluation(ctx, s.store.Q, scope, id)
	if err != nil {
		return Power{}, err
	}
	criteria, err := criteriaOf(row)
	if err != nil {
		return Power{}, err
	}
	now := s.clock.Now()
	until := now
	if row.EndsAt != nil && row.EndsAt.Before(until) {
		until = *row.EndsAt
	}
	since := now.AddDate(0, 0, -rateDays)
	recent, err := shadowDays(ctx, s.store, scope, Window{Actions: row.ActionIDs, Since: since, Until: now}, powerWithin)
	if err != nil {
		return Power{}, err
	}
	counted, err := shadowDays(ctx, s.store, scope, Window{Actions: row.ActionIDs, Since: row.StartsAt, Until: until}, powerWithin)
	if err != nil {
		return Power{}, err
	}
	return powerOf(criteria.MinShadowDecisions, recent, counted, now), nil
}

// powerWithin bounds each of the counts of a page.
const powerWithin = 5 * time.Second

func powerOf(needed int64, recent, counted []DayCount, now time.Time) Power {
	p := Power{Needed: needed, MarginEnough: margin(needed)}
	for _, d := range recent {
		p.PerDay += float64(d.Count) / rateDays
	}
	for _, d := range counted {
		p.Have += d.Count
		p.Days = append(p.Days, DayCount{Day: d.Day, Count: p.Have})
	}
	p.Margin = margin(p.Have)
	if p.Have >= needed || p.PerDay <= 0 {
		return p
	}
	if days := float64(needed-p.Have) / p.PerDay; days < maxForecast.Hours()/24 {
		enough := now.Add(time.Duration(days * float64(24*time.Hour)))
		p.Enough = &enough
	}
	return p
}

// margin returns half of the 95 % interval of a share of one half among n decisions; 1 without any.
func margin(n int64) float64 {
	if n == 0 {
		return 1
	}
	return min(1, 1.96*0.5/math.Sqrt(float64(n)))
}
