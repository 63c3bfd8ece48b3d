export { actionHash, canonical, digest, resourceDigest, type ActionHashInput } from './canonical.js'
export {
  Countersign, complete, type Ask, type AuthorizeRequest, type AuthorizeResponse, type Input, type OperationId, type Output,
} from './client.js'
export type { components, operations, paths } from './contract.js'
export { DEFAULT_FAILURE_MODES, decide, type DecideOptions, type Decision, type FailureMode, type RiskClass } from './decide.js'
export {
  CountersignError, ProblemError, ProtocolError, TimeoutError, UnreachableError, ValidationError, isRateLimited, isUnavailable, type Fault,
} from './errors.js'
export type { CallOptions, TransportOptions } from './http.js'
export { ProofError, ProofVerifier, type ProofClaims, type ProofExpectation, type ProofVerifierOptions } from './proof.js'
export type { EventData } from './events.js'
export type { ServiceEvent } from './stream.js'
export { collectorToken, type CollectorTokenAsk } from './tokens.js'
export { WebhookError, verifyWebhook, type EventType, type WebhookEvent, type WebhookHeaders, type WebhookOptions } from './webhooks.js'
export {
  Gate, GateRequestError, LoginRequiredError, PROOF_HEADER, answer, expressGate, fastifyGate, nextGate,
  type Describe, type GateAnswer, type GateAsk, type GateOptions, type GateOutcome,
} from './gate.js'
