// A shop that protects its payments with Countersign. Orders and users are in memory: everything else is as in production.
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import express from 'express'
import { Countersign, ProofVerifier, collectorToken, complete, decide, verifyWebhook, WebhookError } from '@countersign/sdk/server'

const { COUNTERSIGN_URL, COUNTERSIGN_KEY, COUNTERSIGN_WEBHOOK_SECRET, PORT = '3000' } = process.env
const origin = `http://localhost:${PORT}`
const ITEMS = { book: { action: 'shop.pay', amount: 12 }, gift_card: { action: 'shop.gift_card', amount: 200 } }

const countersign = new Countersign({ baseURL: COUNTERSIGN_URL, apiKey: COUNTERSIGN_KEY })
const me = await countersign.getCredential()
const verifier = new ProofVerifier({ baseURL: COUNTERSIGN_URL, issuer: me.proof_issuer, environment: me.environment })

const users = new Map() // by cookie: { subject, session }
const orders = new Map() // by id: { id, user, status, request, authorization }
const seen = new Set() // ids of webhooks

const app = express()

// Webhooks need the raw body, so their route comes before express.json().
app.post('/webhooks', express.raw({ type: 'application/json' }), async (request, response) => {
  let event
  try {
    event = verifyWebhook(request.body, request.headers, COUNTERSIGN_WEBHOOK_SECRET)
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error
    return response.status(400).end()
  }
  if (!seen.has(event.id) && ['hold.approved', 'hold.rejected', 'hold.expired', 'challenge.completed'].includes(event.type)) {
    const order = [...orders.values()].find((o) => o.authorization === event.data.authorization)
    if (order) await settle(order)
  }
  seen.add(event.id) // after the work: if it failed, the service sends the event again
  response.status(204).end()
})

app.use(express.json())

const userOf = (request) => users.get(/(?:^|; )shop=([^;]+)/.exec(request.headers.cookie ?? '')?.[1])

app.post('/sign-in', async (request, response) => {
  let user = userOf(request)
  if (!user) {
    const { id: subject } = await countersign.createSubject({ body: {} }) // a real shop uses the id of its own user
    const { id: session } = await countersign.createSession({ body: { subject, device_class: 'desktop' } })
    const cookie = randomUUID()
    users.set(cookie, user = { subject, session })
    response.cookie('shop', cookie, { httpOnly: true, sameSite: 'lax' })
  }
  response.json({ session: user.session, countersign: COUNTERSIGN_URL })
})

/** Requires a signed-in user. Never take the subject from what a page sends. */
function signedIn(request, response, next) {
  request.user = userOf(request)
  return request.user ? next() : response.status(401).json({ status: 'refused' })
}

app.post('/countersign-token', signedIn, async ({ user }, response) => {
  response.json(await collectorToken(countersign, { ...user, origin }))
})

app.post('/orders', signedIn, async ({ user, body }, response) => {
  const item = Object.hasOwn(ITEMS, body.item) ? ITEMS[body.item] : undefined
  if (!item) return response.status(400).json({ status: 'refused' })
  const id = randomUUID()
  const request = complete({
    subject: user.subject, session: user.session, action: item.action, resource: { type: 'order', id }, audience: 'shop', context: { amount: item.amount },
  })
  const result = await decide(countersign, request, { failure: 'closed', timeoutMS: 5000 })
  const order = { id, user, request, status: 'refused', authorization: undefined }
  orders.set(id, order)
  if (result.source === 'fallback') return response.status(503).json({ id, status: 'unavailable' })
  order.authorization = result.response.id
  switch (result.decision) {
    case 'allow':
      await pay(order, result.response)
      break
    case 'challenge': {
      order.status = 'step_up'
      const link = await countersign.createChallengeLink({
        path: { challenge_id: result.response.challenge.id }, body: { return_url: `${origin}/?order=${id}` },
      })
      return response.json({ id, status: order.status, confirm: link.url })
    }
    case 'hold':
      order.status = 'held'
      break
  }
  response.json({ id, status: order.status })
})

app.get('/orders/:id', signedIn, async ({ user, params }, response) => {
  const order = orders.get(params.id)
  if (order?.user.subject !== user.subject) return response.status(404).json({ status: 'refused' })
  if (order.status === 'step_up') await settle(order) // a webhook may be late or lost
  response.json({ id: order.id, status: order.status })
})

/** Settles an order by the follow-up decision, if there is one. */
async function settle(order) {
  const first = await countersign.getAuthorization({ path: { authorization_id: order.authorization } })
  if (first.review_status === 'rejected' || first.review_status === 'expired') order.status = 'refused'
  if (!first.child_authorization) return
  const { decision, proof } = await countersign.getAuthorization({ path: { authorization_id: first.child_authorization } })
  if (decision === 'allow') await pay(order, { id: first.child_authorization, proof: proof?.compact })
  else order.status = 'refused'
}

/** Ships the order if the proof is valid for exactly this order. It is verified offline, with the service's published keys. */
async function pay(order, { id, proof }) {
  if (order.status === 'paid' || !proof) return
  const { audience, action, resource, context, nonce } = order.request
  await verifier.verify(proof, { audience, action, subject: order.user.subject, resource, context, nonce })
  order.status = 'paid' // one order, one proof: in a database, an update of the order that stores the proof's jti under a unique key
  // Limits and evaluations rest on what became of a decision. The order is paid, whatever becomes of the report.
  await countersign.reportOutcome({ path: { authorization_id: id }, body: { outcome: 'executed' } }).catch(console.error)
}

const file = (path) => fileURLToPath(new URL(path, import.meta.url))
app.get('/collector.js', (_, response) => response.sendFile(fileURLToPath(import.meta.resolve('@countersign/sdk'))))
app.use(express.static(file('../page')))
app.listen(Number(PORT), 'localhost', () => console.log(`the shop is at ${origin}`))
