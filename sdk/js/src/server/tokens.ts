import type { Countersign } from './client.js'
import type { components } from './contract.js'
import type { CallOptions } from './http.js'
import { refuseUnknown } from '../options.js'

/** The evidence that a collector in a page is to send. */
export interface CollectorTokenAsk {
  subject: string
  /** The one session that the page observes. */
  session: string
  /** The page's origin, such as https://app.example.com. */
  origin: string
  /** enroll requests the subject's next enrollment: set it only if your backend intends it. Default score. */
  purpose?: 'score' | 'enroll'
  /** 60 to 3600; default 900. */
  ttlSeconds?: number
}

/** Creates the narrowest client token that a collector can use: one subject, one session, one origin, one purpose. */
export async function collectorToken(
  client: Countersign, ask: CollectorTokenAsk, call?: CallOptions,
): Promise<components['schemas']['ClientTokenCreated']> {
  refuseUnknown('collectorToken', ask, ['subject', 'session', 'origin', 'purpose', 'ttlSeconds'])
  const { subject, session, origin, purpose = 'score', ttlSeconds = 900 } = ask
  return client.createClientToken({ body: { subject, session, origin, purposes: [purpose], ttl_seconds: ttlSeconds } }, call)
}
