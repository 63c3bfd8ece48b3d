// The first decision with the npm package.
import { Countersign, decide } from '@countersign/sdk/server'

const countersign = new Countersign({ baseURL: process.env.COUNTERSIGN_URL, apiKey: process.env.COUNTERSIGN_KEY })
const result = await decide(
  countersign,
  { subject: process.env.SUBJECT, action: process.env.ACTION, resource: { type: 'account', id: 'acc-1' }, audience: 'payments', context: { amount: 250 } },
  { failure: 'closed', timeoutMS: 5000 },
)
if (result.source !== 'service') throw new Error('no decision of the service')
console.log(result.decision)
