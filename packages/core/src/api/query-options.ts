import { contextLayers } from '../context/layers.ts'
import { ConfigurationError } from '../values/errors.ts'
import type { RunEvent } from '../state/events.ts'
import { shown } from '../values/given.ts'
import type { RunOptions } from './options.ts'
import type { OutputSchema } from '../tools/output-schema.ts'
import type { PrepareContent } from './prompts.ts'
import type { SdkInitInfo } from '../sdk/sdk-messages.ts'
import type { StoredSession } from '../steps/fold-session.ts'
import type { Transcript } from '../conversation/transcript.ts'

/** What `query` and `QueryEngine` are given: the options of `streamRun`, and what concerns the session and its messages. */
export interface QueryOptions<Output = unknown> extends Omit<RunOptions, 'steps'> {
  /** The schema that the answer must fit; it is sent back until it does. Default: any text is an answer. */
  readonly output?: OutputSchema<Output>
  /** A UUID; that of `session`, or one derived from the clock, when absent. */
  readonly sessionId?: string
  /** The session so far, when it is resumed. Its runs are named on from those that it shows. */
  readonly transcript?: Transcript
  /** Runs that the session has had, where `transcript` does not show them all: it was rewound. */
  readonly runsBefore?: number
  /**
   * The session as an earlier process left it, which goes on under the same `sessionId`: its transcript, what it has cost, the run that did not
   * end, and where new records go. In place of `transcript`, `runsBefore` and `spentBeforeUsd`.
   */
  readonly session?: StoredSession
  /** Also the service's own events, as `stream_event` messages. Default: false. */
  readonly includePartialMessages?: boolean
  /** Also messages about hooks that begin and end. Default: false. */
  readonly includeHookEvents?: boolean
  /** What `system/init` tells beside tools and model. */
  readonly init?: Partial<SdkInitInfo>
  /** A driver for each run. Without it no record is kept, so no run can be resumed or replayed. */
  readonly stepsFor?: (runId: string) => NonNullable<RunOptions['steps']>
  /** Changes a prompt with images or documents before its run begins: makes them smaller, for instance. */
  readonly prepareContent?: PrepareContent
  /** Sees everything that the loop tells, before the SDK messages made of it. */
  readonly onEvent?: (event: RunEvent) => void
}

/** All layers: a session that is talked to for long makes room by itself. */
const defaultContext = contextLayers()

/** With what an engine adds: its defence of the context window, a reminder where a run repeats itself, and the lease of the session that it goes on with. */
export function completeOptions<Output>(options: QueryOptions<Output>): QueryOptions<Output> {
  const { context = defaultContext, noProgress = 'remind', session } = options
  const lease = options.lease ?? session?.lease
  return { ...options, context, noProgress, ...(lease !== undefined && { lease }) }
}

/** The name that was given. @throws ConfigurationError where it is not that of the session that goes on: its records would have two. */
export function sessionIdOf({ sessionId, session }: QueryOptions): string | undefined {
  const kept = session?.sessionId
  if (sessionId === undefined || kept === undefined || sessionId === kept) return sessionId ?? kept
  throw new ConfigurationError(`The session is ${kept}, and sessionId is ${shown(sessionId)}. Leave sessionId out.`)
}

/** Runs that the session has had. @throws ConfigurationError for what is no such number. */
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
