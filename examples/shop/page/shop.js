// The page of the shop. It observes how the user types, orders, and shows what became of an order.
import { createCollector } from '/collector.js'

const status = document.querySelector('#status')
const post = async (path, body) => (await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })).json()

// Sign in: the backend opens a session of Countersign for the user. A real shop asks for consent before it observes.
const { session, countersign } = await post('/sign-in', {})
const collector = createCollector({ baseURL: countersign, session, consent: true, token: () => post('/countersign-token', {}) })

const TEXT = {
  paid: 'Paid. Thank you!', held: 'A colleague checks your order. This page shows the result.', refused: 'The order was refused.',
  step_up: 'Please confirm the order.', unavailable: 'Please try again in a moment.',
}

async function show(order) {
  status.textContent = TEXT[order.status]
  status.dataset.status = order.status
  if (order.status === 'held') setTimeout(() => refresh(order.id), 1000)
}
const refresh = async (id) => show(await (await fetch('/orders/' + id)).json())

for (const button of document.querySelectorAll('[data-item]')) {
  button.addEventListener('click', async () => {
    await collector.flush() // the newest evidence counts for this order
    const order = await post('/orders', { item: button.dataset.item })
    if (order.confirm) location.assign(order.confirm) // the hosted page, which returns here with ?order=
    else await show(order)
  })
}

const returned = new URLSearchParams(location.search).get('order')
if (returned) await refresh(returned)
status.dataset.ready = 'true'
