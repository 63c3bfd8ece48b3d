// Package subject manages subjects, the users of relying parties: it creates, lists, freezes, revokes, exports and erases them.
// A relying party knows a subject by its own id; the service uses a uid that appears in no response, log or event. Of the reason
// given for a change, only the digest is stored.
//
// It is also the root of the packages about one subject: sessions and their evidence (session), enrollments and the templates
// they train (enrollment, template), passkeys (passkey), recoveries (recovery), research vectors (research), the operations of
// the earlier contract (legacy) and recurring maintenance (upkeep).
//
// The lifecycle of a subject:
//
//	active          -> revoked  final; every decision is deny
//	active, revoked -> erasing  hidden at once; removed by the erasure workflow
//
// These packages may import behavior, account, authz, platform and models. They may not import delivery, lab or local,
// and they may not decide authorizations.
package subject
