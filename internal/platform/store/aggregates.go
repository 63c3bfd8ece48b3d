package store

// The aggregates: each groups the statements of the tables it names. They hold nothing but the Q they run on, so that one
// made inside a transaction runs inside it.

// Actions stores actions and their policy versions.
type Actions struct{ *Q }

// Actions stores actions and their policy versions.
func (q *Q) Actions() Actions { return Actions{q} }

// Audit reads and writes the audit log and what verifies it.
type Audit struct{ *Q }

// Audit reads and writes the audit log and what verifies it.
func (q *Q) Audit() Audit { return Audit{q} }

// Backgrounds stores the backgrounds of the scorer.
type Backgrounds struct{ *Q }

// Backgrounds stores the backgrounds of the scorer.
func (q *Q) Backgrounds() Backgrounds { return Backgrounds{q} }

// Challenges stores challenges and the links to their pages.
type Challenges struct{ *Q }

// Challenges stores challenges and the links to their pages.
func (q *Q) Challenges() Challenges { return Challenges{q} }

// ClientTokens stores client tokens by the MAC of their secret.
type ClientTokens struct{ *Q }

// ClientTokens stores client tokens by the MAC of their secret.
func (q *Q) ClientTokens() ClientTokens { return ClientTokens{q} }

// Console reads what the health and decision pages of the console show.
type Console struct{ *Q }

// Console reads what the health and decision pages of the console show.
func (q *Q) Console() Console { return Console{q} }

// ConsoleSessions stores the sessions of staff in the console.
type ConsoleSessions struct{ *Q }

// ConsoleSessions stores the sessions of staff in the console.
func (q *Q) ConsoleSessions() ConsoleSessions { return ConsoleSessions{q} }

// Credentials stores credentials by the MAC of their secret.
type Credentials struct{ *Q }

// Credentials stores credentials by the MAC of their secret.
func (q *Q) Credentials() Credentials { return Credentials{q} }

// Decisions stores authorizations and reads what a decision needs.
type Decisions struct{ *Q }

// Decisions stores authorizations and reads what a decision needs.
func (q *Q) Decisions() Decisions { return Decisions{q} }

// Deliveries stores webhook deliveries and their attempts.
type Deliveries struct{ *Q }

// Deliveries stores webhook deliveries and their attempts.
func (q *Q) Deliveries() Deliveries { return Deliveries{q} }

// Endpoints stores webhook endpoints and their secrets.
type Endpoints struct{ *Q }

// Endpoints stores webhook endpoints and their secrets.
func (q *Q) Endpoints() Endpoints { return Endpoints{q} }

// Enrollments stores enrollments.
type Enrollments struct{ *Q }

// Enrollments stores enrollments.
func (q *Q) Enrollments() Enrollments { return Enrollments{q} }

// Environments stores environments and their settings.
type Environments struct{ *Q }

// Environments stores environments and their settings.
func (q *Q) Environments() Environments { return Environments{q} }

// Erasures stores erasures and deletes what they erase.
type Erasures struct{ *Q }

// Erasures stores erasures and deletes what they erase.
func (q *Q) Erasures() Erasures { return Erasures{q} }

// Evaluations stores evaluations and tallies their decisions.
type Evaluations struct{ *Q }

// Evaluations stores evaluations and tallies their decisions.
func (q *Q) Evaluations() Evaluations { return Evaluations{q} }

// Events stores events in their order.
type Events struct{ *Q }

// Events stores events in their order.
func (q *Q) Events() Events { return Events{q} }

// Holds stores holds and their reviews.
type Holds struct{ *Q }

// Holds stores holds and their reviews.
func (q *Q) Holds() Holds { return Holds{q} }

// Idempotency stores idempotency keys with their responses.
type Idempotency struct{ *Q }

// Idempotency stores idempotency keys with their responses.
func (q *Q) Idempotency() Idempotency { return Idempotency{q} }

// Invitations stores invitations of staff.
type Invitations struct{ *Q }

// Invitations stores invitations of staff.
func (q *Q) Invitations() Invitations { return Invitations{q} }

// MasterKeys stores the fingerprints of master keys.
type MasterKeys struct{ *Q }

// MasterKeys stores the fingerprints of master keys.
func (q *Q) MasterKeys() MasterKeys { return MasterKeys{q} }

// Moves stores requests for moves of challenges and holds.
type Moves struct{ *Q }

// Moves stores requests for moves of challenges and holds.
func (q *Q) Moves() Moves { return Moves{q} }

// Outbox stores work that the relays start.
type Outbox struct{ *Q }

// Outbox stores work that the relays start.
func (q *Q) Outbox() Outbox { return Outbox{q} }

// Passkeys stores the passkeys of subjects.
type Passkeys struct{ *Q }

// Passkeys stores the passkeys of subjects.
func (q *Q) Passkeys() Passkeys { return Passkeys{q} }

// Principals reads the principals behind credentials and staff.
type Principals struct{ *Q }

// Principals reads the principals behind credentials and staff.
func (q *Q) Principals() Principals { return Principals{q} }

// Proofs stores the state of proofs.
type Proofs struct{ *Q }

// Proofs stores the state of proofs.
func (q *Q) Proofs() Proofs { return Proofs{q} }

// Quotas stores the counters of rate limits.
type Quotas struct{ *Q }

// Quotas stores the counters of rate limits.
func (q *Q) Quotas() Quotas { return Quotas{q} }

// Recoveries stores recoveries of subjects.
type Recoveries struct{ *Q }

// Recoveries stores recoveries of subjects.
func (q *Q) Recoveries() Recoveries { return Recoveries{q} }

// RegistrationGrants stores grants to register a passkey.
type RegistrationGrants struct{ *Q }

// RegistrationGrants stores grants to register a passkey.
func (q *Q) RegistrationGrants() RegistrationGrants { return RegistrationGrants{q} }

// Research stores the vectors of subjects who consented to research.
type Research struct{ *Q }

// Research stores the vectors of subjects who consented to research.
func (q *Q) Research() Research { return Research{q} }

// Sessions stores sessions and the evidence of their frames.
type Sessions struct{ *Q }

// Sessions stores sessions and the evidence of their frames.
func (q *Q) Sessions() Sessions { return Sessions{q} }

// SigningKeys stores the keys that sign proofs.
type SigningKeys struct{ *Q }

// SigningKeys stores the keys that sign proofs.
func (q *Q) SigningKeys() SigningKeys { return SigningKeys{q} }

// Staff stores the people who work in the console, their roles and passkeys.
type Staff struct{ *Q }

// Staff stores the people who work in the console, their roles and passkeys.
func (q *Q) Staff() Staff { return Staff{q} }

// Subjects stores subjects.
type Subjects struct{ *Q }

// Subjects stores subjects.
func (q *Q) Subjects() Subjects { return Subjects{q} }

// Templates stores the behavioral templates of subjects.
type Templates struct{ *Q }

// Templates stores the behavioral templates of subjects.
func (q *Q) Templates() Templates { return Templates{q} }

// Tenants stores tenants.
type Tenants struct{ *Q }

// Tenants stores tenants.
func (q *Q) Tenants() Tenants { return Tenants{q} }

// TimingTemplates stores the timing templates of the legacy contract.
type TimingTemplates struct{ *Q }

// TimingTemplates stores the timing templates of the legacy contract.
func (q *Q) TimingTemplates() TimingTemplates { return TimingTemplates{q} }

// Upkeep deletes what has outlived its retention.
type Retention struct{ *Q }

// Upkeep deletes what has outlived its retention.
func (q *Q) Retention() Retention { return Retention{q} }
