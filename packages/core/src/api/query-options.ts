import { contextLayers } from '../context/layers.ts'
import { ConfigurationError } from '../values/errors.ts'
import type { RunEvent } from '../state/events.ts'
import { describeValue } from '../values/validators.ts'
import type { RunOptions } from './options.ts'
import type { OutputSchema } from '../tools/output-schema.ts'
import type { PrepareContent } from './prompts.ts'
import type { SdkInitInfo } from '../sdk/sdk-messages.ts'
import type { StoredSession } from '../steps/fold-session.ts'
import type { Transcript } from '../conversation/transcript.ts'

/** The options of `query` and `QueryEngine`: those of `streamRun`, and options for the session and its messages. */
export interface QueryOptions<Output = unknown> extends Omit<RunOptions, 'steps'> {
  /** The schema that the answer must fit; other answers are returned to the model. Default: any text is an answer. */
  readonly output?: OutputSchema<Output>
  /** A UUID. Default: that of `session`, or one derived from the clock. */
  readonly sessionId?: string
  /** The session so far, when it is resumed. New runs continue its numbering. */
  readonly transcript?: Transcript
  /** Number of earlier runs. Required if `transcript` does not contain all of them because it was rewound. */
  readonly runsBefore?: number
  /**
   * The session of an earlier process, which continues under the same `sessionId`. It contains the transcript, the cost,
   * an unfinished run, and the store for new records. Replaces `transcript`, `runsBefore` and `spentBeforeUsd`.
   */
  readonly session?: StoredSession
  /** Also emits the service's own events, as `stream_event` messages. Default: false. */
  readonly includePartialMessages?: boolean
  /** Also emits messages when a hook begins or ends. Default: false. */
  readonly includeHookEvents?: boolean
  /** Further fields of `system/init`, in addition to tools and model. */
  readonly init?: Partial<SdkInitInfo>
  /** Returns a step engine for each run. Without it nothing is recorded, so no run can be resumed or replayed. */
  readonly stepsFor?: (runId: string) => NonNullable<RunOptions['steps']>
  /** Transforms a prompt with images or documents before its run begins, for example to scale them down. */
  readonly prepareContent?: PrepareContent
  /** Receives every event of the loop, before the SDK messages that are made from it are emitted. */
  readonly onEvent?: (event: RunEvent) => void
}

/** Enables all layers, so that a long session frees context space automatically. */
const defaultContext = contextLayers()

/** Adds the engine's defaults: its context layers, a reminder when a run repeats itself, and the lease of a continued session. */
export function completeOptions<Output>(options: QueryOptions<Output>): QueryOptions<Output> {
  const { context = defaultContext, noProgress = 'remind', session } = options
  const lease = options.lease ?? session?.lease
  return { ...options, context, noProgress, ...(lease !== undefined && { lease }) }
}

/** The session id of the options. @throws ConfigurationError if it differs from that of the continued session, whose records would have two ids. */
export function sessionIdOf({ sessionId, session }: QueryOptions): string | undefined {
  const storedId = session?.sessionId
  if (sessionId === undefined || storedId === undefined || sessionId === storedId) return sessionId ?? storedId
  throw new ConfigurationError(
    `The session is ${storedId}, and sessionId is ${describeValue(sessionId)}. Leave sessionId out.`,
  )
}

/** Number of earlier runs of the session. @throws ConfigurationError for an invalid number. */
export function runsBeforeOf({
  session,
  runsBefore = session === undefined ? 0 : runsOf(session),
}: QueryOptions): number {
  if (Number.isSafeInteger(runsBefore) && runsBefore >= 0) return runsBefore
  throw new ConfigurationError(`runsBefore must be a whole number of at least 0, but it is ${runsBefore}.`)
}

function runsOf({ ended, open }: StoredSession): number {
  return ended.length + (open === undefined ? 0 : 1)
}
