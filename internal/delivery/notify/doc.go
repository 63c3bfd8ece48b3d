// Package notify notifies staff of holds by e-mail and in chats: reviewers when a hold is opened, due soon or escalated, and the person who requests it
// when its next step opens and when it is settled.
//
// A person chooses the occasions and channels; teams and good standing decide whether a hold concerns a reviewer (internal/authz/hold). The
// relay of the outbox calls FanOut, which writes each notice once, and Email and Chat, which send it. Sending is at least once: a repeated
// attempt has the same Message-ID or webhook-id.
//
// It also mails the invitations of staff, whose links only the mail has.
//
// A message about a hold has the action's name, the due time and a link. The package may not put a subject, a shown detail or a note into one, and no
// message lets anyone approve. It may not log an e-mail address or the URL of a chat.
package notify
