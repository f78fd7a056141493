// `@halting/restate`: the same loop on a Restate cluster.
export {
  attempt,
  mailSignal,
  type AttemptOptions,
  type AttemptTurn,
  type AttemptContext,
  type Work,
} from './engine/attempt.ts'
export type { ClusterLog, RenewAfter } from './engine/cluster-log.ts'
export type { Engine, EnginePromise } from './engine/engine.ts'
export type { ServedRecord } from './engine/packed-record.ts'
export type { SessionTexts } from './engine/session-texts.ts'
export { restateEngine } from './engine/restate-engine.ts'
export {
  budgetObject,
  type BudgetStatus,
  type LeaseHolder,
  type LeaseRequest,
  type LeaseWaiter,
} from './fleet/budget-service.ts'
export type { GateLimits } from './fleet/gate.ts'
export { gateObject, type GateStatus } from './fleet/gate-service.ts'
export { gatedModel, ProviderGate, type ProviderGateOptions } from './fleet/gated-model.ts'
export type { IngressOptions } from './fleet/ingress.ts'
export { createLiveEvents, type LiveEvents, type LiveEventsOptions } from './live/live-events.ts'
export { filePayloads, type FilePayloadsOptions } from './payloads/file-payloads.ts'
export type { PayloadReference, PayloadStore, PayloadStores } from './payloads/payload-store.ts'
export { s3Payloads, type S3PayloadsOptions } from './payloads/s3-payloads.ts'
export type { ClusterSession } from './service/cluster-session.ts'
export type { NamedRequest, Opening, PushRequest, SessionRequest } from './service/messages.ts'
export { mailboxObject, sessionObject } from './service/names.ts'
export type { AcceptedRequest } from './service/named-handlers.ts'
export type { RequestAnswer } from './service/answers.ts'
export { SessionRefusedError } from './service/refused-work.ts'
export type { FullStatus } from './service/full-status.ts'
export type { WorkDone } from './service/session-object.ts'
export type {
  PreparedPrompt,
  SessionListener,
  SessionServiceOptions,
  SessionToOpen,
  WorkerSession,
} from './service/session-options.ts'
export { sessionServices } from './service/session-service.ts'
export type { Stall } from './service/stall.ts'
export type { OpenQuestion, SessionStatus } from './service/status.ts'
export type { RecordsPage } from './service/stored-records.ts'
export { Departure } from './worker/departure.ts'
export { startWorker, type Worker, type WorkerFigures, type WorkerOptions } from './worker/worker.ts'
export { Places, type Ticket } from './worker/places.ts'
export type { QueuedPlace } from './worker/place-queue.ts'
export type { SessionToMove } from './worker/lost-work.ts'
export type { SessionOfWorker, WorkerEvent, WorkerListener } from './worker/worker-events.ts'
