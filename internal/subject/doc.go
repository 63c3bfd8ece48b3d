// Package subject manages the people a relying party asks about: it creates, exports and erases them. A relying party knows a
// subject by its own id; the service knows it by a uid that appears in no response, log or event. A reason given for a change
// is stored as its digest.
//
// It is also the root of the room subject, where everything about one person lives: sessions and their evidence (session),
// enrollments and the templates they train (enrollment, template), passkeys (passkey), recoveries (recovery), consent to
// research (research), the older contract (legacy) and the retention of all of it (upkeep).
//
// The room may import behavior, account, authz, platform and models. It may not import delivery, lab, bench or local, and it
// may not decide authorizations.
package subject
