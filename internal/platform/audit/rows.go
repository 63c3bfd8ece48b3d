package audit

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// HeadRow is the last link of an environment's chain, and how far its log is sealed. The numbers are those of events.
type HeadRow struct {
	EnvironmentID string
	Seq           int64
	Hash          []byte
	Top           int64       // the highest number in the log when everything was last sealed
	Settled       int64       // sealing looks for events behind it
	Late          int64       // an event at or below it is never sealed
	Marks         models.JSON // earlier values of Top with their times, which Settled and Late follow
	// Of a locked head: the highest number in the log, a number of links that seal only events up to it, and the server's time.
	Seen  int64     `gorm:"->"`
	Links int64     `gorm:"->"`
	Now   time.Time `gorm:"->"`
	// Also of a locked head: every transaction with a lower id than Oldest was over, and none had the id Next or a higher one. The ids
	// are those of the server that has the environment's rows.
	Oldest int64 `gorm:"->"`
	Next   int64 `gorm:"->"`
}

// Stretch is a part of the log of an environment.
type Stretch struct {
	After, UpTo int64 // the numbers of events that it is behind, and ends with
	Links       int64 // number of links without an event of it; 0 if none are known, or if it is the whole log
	Short       bool  // it and the links behind that number can be read whole
}

// Link is one link of an audit chain. Event is nil if the event is gone.
type Link struct {
	Seq      int64
	EventID  string
	Previous []byte
	Hash     []byte
	SealedAt time.Time
	Event    *models.Event `gorm:"-"`
}

// unsealedEnvironments returns the ids of the environments that may have events to seal. If late is set, it includes those in which
// an event can only be one of a transaction that lasted long.
func unsealedEnvironments(ctx context.Context, q *pg.Q, late bool) ([]string, error) {
	var behind, unbegun []string
	if err := q.Gorm(ctx).Raw(`select h.environment_id from audit_heads h where exists (select 1 from events v
		where v.environment_id = h.environment_id and v.seq > case when ? then h.late else h.settled end)`, late).Find(&behind).Error; err != nil {
		return nil, err
	}
	err := q.Gorm(ctx).Raw("select id from environments where id not in (select environment_id from audit_heads)").Find(&unbegun).Error
	return append(behind, unbegun...), err
}

// environmentsBehind returns those of the environments that have events above the highest number when everything was last sealed. If open is set,
// it includes those in which a transaction that was open then may have ended since. An environment of which nothing was ever sealed is not
// among them: SealNow begins its chain.
func environmentsBehind(ctx context.Context, q *pg.Q, environments []string, open bool) ([]string, error) {
	var ids []string
	err := q.Gorm(ctx).Raw(`select h.environment_id from audit_heads h where h.environment_id = any(?::text[]) and exists (select 1 from events v
		where v.environment_id = h.environment_id and v.seq > case when ? then h.settled else h.top end)`, models.Strings(environments), open).Find(&ids).Error
	return ids, err
}

// lockHead locks the head of an environment until the transaction ends, and inserts it if there is none. It returns ErrNotFound if the
// environment was deleted meanwhile, and, unless wait is set, without waiting if another sealer has the lock. The head itself is the present one, while what is selected beside it
// is of when the statement began, perhaps before another sealer had finished: the links are therefore counted there too.
func lockHead(ctx context.Context, q *pg.Q, environment string, genesis []byte, wait bool) (HeadRow, error) {
	lock := `select h.*, clock_timestamp() as now, coalesce((select max(v.seq) from events v where v.environment_id = @environment), 0) as seen,
		coalesce((select b.seq from audit_heads b where b.environment_id = @environment), 0) as links,
		pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest, pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next
		from audit_heads h where h.environment_id = @environment for update of h`
	if !wait {
		lock += " skip locked"
	}
	var h HeadRow
	named := map[string]any{"environment": environment}
	err := q.Gorm(ctx).Raw(lock, named).Take(&h).Error
	if !errors.Is(err, gorm.ErrRecordNotFound) {
		return h, err
	}
	n, err := q.Exec(ctx, "select from tenants where id = (select tenant_id from environments where id = $1) for key share", environment)
	if err != nil {
		return h, err
	}
	if n == 0 {
		return h, pg.ErrNotFound
	}
	n, err = q.Exec(ctx, `insert into audit_heads (environment_id, seq, hash) values ($1, 0, $2)
		on conflict do nothing`, environment, genesis)
	if err != nil {
		return h, err
	}
	if n == 0 && !wait {
		return h, pg.ErrNotFound // locked by another
	}
	return pg.OrNotFound(h, q.Gorm(ctx).Raw(lock, named).Take(&h).Error)
}

// UnsealedEvents returns at most limit events of a stretch of an environment's log that are in no link, in the order of their numbers. A
// transaction that began after another had ended has higher ones. It must run in a transaction.
func UnsealedEvents(ctx context.Context, q *pg.Q, environment string, s Stretch, limit int) ([]models.Event, error) {
	// The planner's statistics lack the newest rows. A long stretch is read in the order of its index up to the limit, and each event is
	// looked up: with an anti-join the planner may read the whole chain, and without the order it may sort the whole stretch.
	setting, unsealed := "enable_sort", "(select true from audit_chain c where c.event_id = v.id and c.environment_id = ? limit 1) is null"
	args := []any{environment, s.After, s.UpTo, environment}
	if s.Short {
		// The links behind that number are read once, which takes a third of the time. The planner expects one of them, and would compare
		// each event with each link.
		setting, unsealed = "enable_nestloop", "not exists (select from audit_chain c where c.event_id = v.id and c.environment_id = ? and c.seq > ?)"
		args = append(args, s.Links)
	}
	if _, err := q.Exec(ctx, "select set_config($1, 'off', true)", setting); err != nil {
		return nil, err
	}
	var rows []models.Event
	err := q.Gorm(ctx).Raw("select v.* from events v where v.environment_id = ? and v.seq > ? and v.seq <= ? and "+unsealed+" order by v.seq limit ?",
		append(args, limit)...).Find(&rows).Error
	return rows, err
}

// appendLinks appends links to the chain. The caller must have locked the head.
func appendLinks(ctx context.Context, q *pg.Q, h HeadRow, links []Link) error {
	seqs, ids := make([]int64, len(links)), make([]string, len(links))
	previous, hashes := make([][]byte, len(links)), make([][]byte, len(links))
	var sealedAt time.Time
	for i, l := range links {
		seqs[i], ids[i], previous[i], hashes[i], sealedAt = l.Seq, l.EventID, l.Previous, l.Hash, l.SealedAt
	}
	if len(links) == 0 {
		return nil
	}
	_, err := q.Exec(ctx, `insert into audit_chain (environment_id, seq, event_id, previous, hash, sealed_at)
		select $1, s, e, p, h, $6 from unnest($2::bigint[], $3::text[], $4::bytea[], $5::bytea[]) as t (s, e, p, h)`,
		h.EnvironmentID, seqs, ids, previous, hashes, sealedAt)
	return err
}

// moveHead saves a head. The caller must have locked it.
func moveHead(ctx context.Context, q *pg.Q, h HeadRow) error {
	_, err := q.Exec(ctx, "update audit_heads set seq = $2, hash = $3, top = $4, settled = $5, late = $6, marks = $7 where environment_id = $1",
		h.EnvironmentID, h.Seq, h.Hash, h.Top, h.Settled, h.Late, h.Marks)
	return err
}

// HeadOf returns the head of an environment, or ErrNotFound if nothing was ever sealed.
func HeadOf(ctx context.Context, q *pg.Q, s pg.Scope) (HeadRow, error) {
	var h HeadRow
	err := q.Gorm(ctx).Raw(`select h.* from audit_heads h join environments e on e.id = h.environment_id
		where e.tenant_id = ? and e.id = ?`, s.Tenant, s.Environment).Take(&h).Error
	return pg.OrNotFound(h, err)
}

// ChainLinks returns limit links with their events, in order, beginning with the link numbered from: fewer at the end, and more if several have
// the number of the last.
func ChainLinks(ctx context.Context, q *pg.Q, s pg.Scope, from int64, limit int) ([]Link, error) {
	var links []Link
	if err := q.Gorm(ctx).Raw(`select seq, event_id, previous, hash, sealed_at from audit_chain
		where environment_id = ? and seq >= ? order by seq fetch first ? rows with ties`, s.Environment, from, limit).Find(&links).Error; err != nil {
		return nil, err
	}
	return links, attachEvents(ctx, q, s, links)
}

func attachEvents(ctx context.Context, q *pg.Q, s pg.Scope, links []Link) error {
	ids := make([]string, len(links))
	for i, l := range links {
		ids[i] = l.EventID
	}
	var rows []models.Event
	if err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and id in ?", s.Tenant, s.Environment, ids).Find(&rows).Error; err != nil {
		return err
	}
	byID := make(map[string]*models.Event, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	for i := range links {
		links[i].Event = byID[links[i].EventID]
	}
	return nil
}

// findGaps compares the log with the chain. It returns the ids of events that are in no link and can never be (at most limit of
// them), and the number of events that wait to be sealed.
func findGaps(ctx context.Context, q *pg.Q, s pg.Scope, h HeadRow, limit int) (unlinked []string, waiting int64, err error) {
	const unsealed = ` from events v where v.environment_id = ? and not exists
		(select 1 from audit_chain c where c.event_id = v.id and c.environment_id = v.environment_id) and v.seq `
	if err := q.Gorm(ctx).Raw("select v.id"+unsealed+"<= ? order by v.seq limit ?", s.Environment, h.Late, limit).Find(&unlinked).Error; err != nil {
		return nil, 0, err
	}
	err = q.Gorm(ctx).Raw("select count(*)"+unsealed+"> ?", s.Environment, h.Late).Find(&waiting).Error
	return unlinked, waiting, err
}

// NumberOf returns the number of the link of an event, or ErrNotFound if it is not sealed.
func NumberOf(ctx context.Context, q *pg.Q, s pg.Scope, event string) (int64, error) {
	var seq int64
	err := q.QueryRow(ctx, "select seq from audit_chain where environment_id = $1 and event_id = $2", s.Environment, event).Scan(&seq)
	return pg.OrNotFound(seq, err)
}

// Sealed is an event at its position in the log.
type Sealed struct {
	EnvironmentID string
	Position      int64         // the number of its link
	Event         *models.Event // nil if the event is gone
}

// EntriesAfter returns, for each environment, at most limit sealed events behind a position, in order. Positions are keyed by environment.
func EntriesAfter(ctx context.Context, q *pg.Q, positions map[string]int64, limit int) ([]Sealed, error) {
	environments := slices.Sorted(maps.Keys(positions))
	if len(environments) > 1 {
		var err error
		if environments, err = sealedAfter(ctx, q, positions); err != nil {
			return nil, err
		}
	}
	var out []Sealed
	for _, environment := range environments {
		rows, err := entriesOfAfter(ctx, q, environment, positions[environment], limit)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

// sealedAfter returns those of the environments that have links behind their positions.
func sealedAfter(ctx context.Context, q *pg.Q, positions map[string]int64) ([]string, error) {
	behind, err := json.Marshal(positions)
	if err != nil {
		return nil, err
	}
	var ids []string
	err = q.Gorm(ctx).Raw(`select h.environment_id from jsonb_each_text(?::jsonb) b (environment_id, position)
		join audit_heads h on h.environment_id = b.environment_id and h.seq > b.position::bigint order by 1`, string(behind)).Find(&ids).Error
	return ids, err
}

func entriesOfAfter(ctx context.Context, q *pg.Q, environment string, position int64, limit int) ([]Sealed, error) {
	var rows []struct {
		models.Event `gorm:"embedded"`
		Position     int64
	}
	err := q.Gorm(ctx).Raw(`select c.seq as position, v.* from audit_chain c left join events v on v.id = c.event_id and v.environment_id = @environment
		where c.environment_id = @environment and c.seq > @position order by c.seq limit @limit`,
		map[string]any{"environment": environment, "position": position, "limit": limit}).Find(&rows).Error
	out := make([]Sealed, len(rows))
	for i := range rows {
		out[i] = Sealed{EnvironmentID: environment, Position: rows[i].Position}
		if rows[i].ID != "" {
			out[i].Event = &rows[i].Event
		}
	}
	return out, err
}

// HashAt returns the hash of the link with a number, or ErrNotFound.
func HashAt(ctx context.Context, q *pg.Q, s pg.Scope, seq int64) ([]byte, error) {
	var hash []byte
	err := q.QueryRow(ctx, "select hash from audit_chain where environment_id = $1 and seq = $2", s.Environment, seq).Scan(&hash)
	return pg.OrNotFound(hash, err)
}

// Filter narrows a list of audit entries. Empty fields filter nothing.
type Filter struct {
	Actor string
	Types []string // of which an entry has one; nil for all
	Since *time.Time
	Until *time.Time
}

// EntriesOf lists the sealed events with their links, newest first.
func EntriesOf(ctx context.Context, q *pg.Q, s pg.Scope, f Filter, p pg.Page) ([]Link, string, error) {
	tx := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment).
		Where("exists (select 1 from audit_chain c where c.event_id = events.id and c.environment_id = events.environment_id)")
	if f.Actor != "" {
		tx = tx.Where("actor = ?", f.Actor)
	}
	if f.Types != nil {
		tx = tx.Where("type in ?", f.Types)
	}
	tx = events.Between(tx, f.Since, f.Until)
	tx, err := pg.Paginate(tx, p, "at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Event
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(e models.Event) (time.Time, string) { return e.At, e.ID })
	links, err := linksOf(ctx, q, s, rows)
	return links, next, err
}

// linksOf returns the links of the given events, each with its event. Events that are not sealed are left out.
func linksOf(ctx context.Context, q *pg.Q, s pg.Scope, rows []models.Event) ([]Link, error) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	var found []Link
	if err := q.Gorm(ctx).Raw(`select seq, event_id, previous, hash, sealed_at from audit_chain where environment_id = ? and event_id in ?`,
		s.Environment, ids).Find(&found).Error; err != nil {
		return nil, err
	}
	byEvent := make(map[string]Link, len(found))
	for _, l := range found {
		byEvent[l.EventID] = l
	}
	links := make([]Link, 0, len(rows))
	for i := range rows {
		if l, ok := byEvent[rows[i].ID]; ok {
			l.Event = &rows[i]
			links = append(links, l)
		}
	}
	return links, nil
}

// Numbered marks the cursors of Numbered, which are behind a number and not a time.
const Numbered = "link"

// NumberedEntries returns a page of the sealed log in the order of its numbers, newest first, and the cursor of the next page. Entries orders
// by time: events of concurrent transactions have another order there. So has a list with a filter, which follows the index of the filter.
func NumberedEntries(ctx context.Context, q *pg.Q, s pg.Scope, f Filter, p pg.Page) ([]Link, string, error) {
	if f.Actor != "" || f.Types != nil || f.Since != nil || f.Until != nil {
		return EntriesOf(ctx, q, s, f, p)
	}
	tx := q.Gorm(ctx).Table("audit_chain c").Select("c.seq, c.event_id, c.previous, c.hash, c.sealed_at").
		Joins("join events on events.id = c.event_id and events.tenant_id = ? and events.environment_id = c.environment_id", s.Tenant).
		Where("c.environment_id = ?", s.Environment)
	if p.After != "" {
		at, id, err := pg.ParseCursor(p.After)
		if err != nil || id != Numbered {
			return nil, "", pg.ErrCursor
		}
		tx = tx.Where("c.seq < ?", at.UnixMicro())
	}
	var links []Link
	if err := tx.Order("c.seq desc").Limit(p.Limit + 1).Find(&links).Error; err != nil {
		return nil, "", err
	}
	links, next := pg.CutPage(links, p, func(l Link) (time.Time, string) { return Position(l.Seq), Numbered })
	return links, next, withEvents(ctx, q, s, links)
}

// Position writes a number as the time of a cursor.
func Position(number int64) time.Time { return time.UnixMicro(number) }

// withEvents fills in the events of links.
func withEvents(ctx context.Context, q *pg.Q, s pg.Scope, links []Link) error {
	ids := make([]string, len(links))
	at := make(map[string]int, len(links))
	for i, l := range links {
		ids[i], at[l.EventID] = l.EventID, i
	}
	var rows []models.Event
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and id in ?", s.Tenant, s.Environment, ids).Find(&rows).Error
	for i := range rows {
		links[at[rows[i].ID]].Event = &rows[i]
	}
	return err
}

// trailRows is everything on record about one authorization: the decisions that it follows from or that follow from it, their
// challenges, holds, reviews and proofs, and the policies that they were made under.
type trailRows struct {
	Authorizations []models.Authorization // the first decision first
	Policies       []models.PolicyVersion
	Challenges     []models.Challenge
	Holds          []models.Hold
	Reviews        []models.Review
	Proofs         []models.Proof
	Events         []models.Event
	Subject        string // the relying party's id; empty if the subject was erased
}

// trailOf reads the record of an authorization, or returns ErrNotFound.
func trailOf(ctx context.Context, q *pg.Q, s pg.Scope, id string) (trailRows, error) {
	var t trailRows
	if err := pg.Unchecked(q.Gorm(ctx)).Raw(`with recursive up as (
			select a.id, a.parent_id from authorizations a where a.tenant_id = @tenant and a.environment_id = @environment and a.id = @id
			union all select p.id, p.parent_id from authorizations p join up on p.id = up.parent_id and p.environment_id = @environment
		), down as (
			select id from up
			union select c.id from authorizations c join down on c.parent_id = down.id and c.environment_id = @environment
		) select a.* from authorizations a where a.environment_id = @environment and a.id in (select id from down) order by a.decided_at, a.id`,
		map[string]any{"tenant": s.Tenant, "environment": s.Environment, "id": id}).Find(&t.Authorizations).Error; err != nil {
		return t, err
	}
	if len(t.Authorizations) == 0 {
		return t, pg.ErrNotFound
	}
	ids := make([]string, len(t.Authorizations))
	for i, a := range t.Authorizations {
		ids[i] = a.ID
	}
	first := t.Authorizations[0]
	for _, read := range []error{
		pg.Unchecked(q.Gorm(ctx)).Where("action_id = ?", first.ActionID).Order("version").Find(&t.Policies).Error,
		pg.Unchecked(q.Gorm(ctx)).Where("environment_id = ? and authorization_id in ?", s.Environment, ids).Order("created_at").Find(&t.Challenges).Error,
		pg.Unchecked(q.Gorm(ctx)).Where("environment_id = ? and authorization_id in ?", s.Environment, ids).Order("opened_at").Find(&t.Holds).Error,
		pg.Unchecked(q.Gorm(ctx)).Where("environment_id = ? and authorization_id in ?", s.Environment, ids).Order("at").Find(&t.Reviews).Error,
		pg.Unchecked(q.Gorm(ctx)).Where("environment_id = ? and authorization_id in ?", s.Environment, ids).Order("issued_at").Find(&t.Proofs).Error,
		q.Gorm(ctx).Raw("select external_id from subjects where uid = ? and environment_id = ?", first.SubjectUID, s.Environment).Find(&t.Subject).Error,
	} {
		if read != nil {
			return t, read
		}
	}
	if err := pg.MarkAltered(ctx, q, t.Proofs, func(p *models.Proof) { p.Status = models.ProofUnknown }); err != nil {
		return t, err
	}
	var err error
	t.Events, err = events.OfAuthorization(ctx, q, s, ids)
	return t, err
}

// Expiring is a class of personal data with a retention of its own.
type Expiring string

// The classes. docs/retention.md says what each covers and how long it is stored.
const (
	ExpiringFrames         Expiring = "frames"
	ExpiringDigests        Expiring = "digests"
	ExpiringSessions       Expiring = "sessions"
	ExpiringTemplates      Expiring = "templates"
	ExpiringAuthorizations Expiring = "authorizations"
	ExpiringDetails        Expiring = "details"
	ExpiringKept           Expiring = "kept"
	ExpiringAggregates     Expiring = "aggregates"
	ExpiringSignals        Expiring = "signals"
	ExpiringNotes          Expiring = "notes"
	ExpiringEvents         Expiring = "events"
	ExpiringResearch       Expiring = "research"
	ExpiringBackgrounds    Expiring = "backgrounds"
)
