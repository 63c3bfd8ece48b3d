import { Collector } from './collector.js'
import type { CollectorOptions } from './options.js'

export type { Collector } from './collector.js'
export type { Block, Features } from '../features/frame.js'
export type { Ack, ClientToken, CollectorError, CollectorOptions, EndReason, Frame, State, TokenAsk, TypingSeen } from './options.js'
export { IGNORE_ATTRIBUTE } from './listen.js'
export { SCHEMA_VERSION } from '../features/tables.js'

/** Creates a collector and starts it. Without consent: true it waits for grantConsent(). */
export function createCollector(options: CollectorOptions): Collector {
  return new Collector(options).start()
}
