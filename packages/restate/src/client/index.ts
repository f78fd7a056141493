// `@halting/restate/client`: access to the sessions of a cluster for programs that are not part of it. It does not load the engine's SDK.
export { proofHeaders, minTokenLength } from '../access/proof.ts'
export { createClusterClient } from './cluster-client.ts'
export type {
  ChangedOptions,
  ClusterClient,
  ClusterClientOptions,
  RemoteSessionOptions,
  RequestOptions,
} from './client.ts'
export type { RequestAnswer } from '../service/answers.ts'
export type { Opening, SessionRequest } from '../service/messages.ts'
export type { FullStatus } from '../service/full-status.ts'
export type { WorkDone } from '../service/session-object.ts'
