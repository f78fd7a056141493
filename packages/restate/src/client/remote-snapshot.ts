import type { QueuedMessage, SessionSnapshot } from '@halting/core/session'
import type { FullStatus } from '../service/full-status.ts'
import type { OpenWait } from '../service/status.ts'

/** What is shown of a session before anything is known of it. */
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

/** What this client knows beside what a worker told. */
export interface ClientState {
  readonly status: FullStatus | undefined
  /** Messages of this client that no run has taken as far as it knows. */
  readonly own: readonly QueuedMessage[]
  /** Something was asked for that begins a run, and no run is known to have begun by it. */
  readonly isAsking: boolean
  /** Those that wait for an answer. */
  readonly questions: SessionSnapshot['questions']
  /** The question at a limit that waits for an answer. */
  readonly limitQuestion: SessionSnapshot['limitQuestion']
  /** Messages that this client has taken back. No worker may have heard of it yet. */
  readonly takenBack: ReadonlySet<string>
  readonly isClosed: boolean
}

/** What a client shows: the snapshot of the worker, with what it has asked for and no worker has told of yet. */
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
    // What begins a run does not wait for one.
    queue: fromWorker.status === 'idle' ? waiting : [...waiting, ...own.filter(({ id }) => !queued.has(id))],
    questions,
    limitQuestion,
    // It is so when the end is told: the work may not be over by then.
    canResume: fromWorker.canResume && !isAsking && !isClosed,
  }
}

/** The key of a step of the run itself: those of agents have the names of their calls before it. */
const runStepKey = /^[^/]+\/[^/]+$/

/** What is shown of a session whose waits for services are on record, and of which no worker tells: what the services said is not known. The same where nothing differs. */
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
