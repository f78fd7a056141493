import type { QueuedMessage, SessionSnapshot } from '@halting/core/session'
import type { FullStatus } from '../service/full-status.ts'
import type { OpenWait } from '../service/status.ts'

/** Snapshot of a session before anything is known about it. */
export function emptySnapshot(sessionId: string): SessionSnapshot {
  return {
    status: 'idle',
    activity: { type: 'idle' },
    queue: [],
    questions: [],
    limitQuestion: null,
    model: '',
    models: [],
    permissionMode: 'default',
    permissionModes: ['default', 'acceptEdits', 'plan', 'dontAsk'],
    thinking: null,
    limits: {
      maxTurns: null,
      maxBudgetUsd: null,
      maxTotalTokens: null,
      maxDurationMs: null,
      maxRunUsd: null,
      maxToolCalls: null,
    },
    figures: {
      turns: 0,
      toolCalls: 0,
      settledUsd: 0,
      unknownUsd: 0,
      reservedUsd: 0,
      leftUsd: null,
      sessionUsd: 0,
      settledTokens: 0,
      reservedTokens: 0,
      waitingRequests: 0,
      leftTokens: null,
      contextTokens: 0,
      contextWindow: null,
      compactsAt: null,
      usedMs: 0,
      leftMs: null,
    },
    nextStop: null,
    goal: null,
    tasks: [],
    serviceWaits: [],
    last: undefined,
    canResume: false,
    cwd: '/',
    file: `restate:halting_session/${sessionId}`,
  }
}

/** What this client knows in addition to the worker's snapshot. */
export interface ClientState {
  readonly status: FullStatus | undefined
  /** Messages of this client that, as far as it knows, no run has received. */
  readonly own: readonly QueuedMessage[]
  /** Whether this client has requested a run, and no run is known to have begun for the request. */
  readonly isAsking: boolean
  /** Open permission requests. */
  readonly questions: SessionSnapshot['questions']
  /** The open question at a limit. */
  readonly limitQuestion: SessionSnapshot['limitQuestion']
  /** Messages that this client has retracted. Workers may not have received the retraction yet. */
  readonly takenBack: ReadonlySet<string>
  readonly isClosed: boolean
}

/** The snapshot that a client shows: that of the worker, with the client's own requests that no worker has reported yet. */
export function mergeSnapshot(fromWorker: SessionSnapshot, known: ClientState): SessionSnapshot {
  const { own, isAsking, questions, limitQuestion, takenBack, isClosed } = known
  const isWorking = known.status?.isWorking === true || isAsking
  const isRunning = isWorking || fromWorker.status === 'running' || fromWorker.status === 'requires_action'
  const waits = questions.length > 0 || limitQuestion !== null
  const status = waits ? 'requires_action' : isRunning ? 'running' : 'idle'
  const waiting = fromWorker.queue.filter(({ id }) => !takenBack.has(id))
  const queued = new Set(waiting.map(({ id }) => id))
  return {
    ...fromWorker,
    status: isClosed ? 'closed' : status,
    activity: status === 'idle' ? { type: 'idle' } : fromWorker.activity,
    // A message that begins a run does not wait for one.
    queue: fromWorker.status === 'idle' ? waiting : [...waiting, ...own.filter(({ id }) => !queued.has(id))],
    questions,
    limitQuestion,
    // The client knows this when the ending is emitted, while the work may not be over yet.
    canResume: fromWorker.canResume && !isAsking && !isClosed,
  }
}

/** Key of a step of the run itself. Keys of agents' steps begin with the ids of their calls. */
const runStepKey = /^[^/]+\/[^/]+$/

/** Adds waits for services that are on record and that no worker reports; what the services answered is unknown. Returns the same snapshot if nothing differs. */
export function withRecordedWaits(fromWorker: SessionSnapshot, waits: readonly OpenWait[]): SessionSnapshot {
  const { serviceWaits, activity, model } = fromWorker
  const isSame =
    waits.length === serviceWaits.length &&
    waits.every(({ sinceMs }) => serviceWaits.some((known) => known.sinceMs === sinceMs))
  if (isSame) return fromWorker
  const shown = waits.map(({ key, sinceMs, untilMs }) => {
    const known = serviceWaits.find((wait) => wait.sinceMs === sinceMs)
    return known ?? { callIds: runStepKey.test(key) ? [] : [key], model, sinceMs, untilMs, error: '', message: '' }
  })
  const own = shown.find(({ callIds }) => callIds.length === 0)
  const before: SessionSnapshot['activity'] = activity.type === 'service_wait' ? { type: 'asking', model } : activity
  return { ...fromWorker, serviceWaits: shown, activity: own === undefined ? before : { type: 'service_wait', ...own } }
}
