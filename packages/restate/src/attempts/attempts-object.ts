import { isJsonObject } from '@halting/core/adapters'
import {
  handlers,
  object,
  type ObjectContext,
  type ObjectSharedContext,
  type VirtualObjectDefinition,
} from '@restatedev/restate-sdk'
import { requireProof } from '../access/guard.ts'
import { badInput } from '../service/check-input.ts'
import type { SessionServiceOptions } from '../service/session-options.ts'
import {
  accompanyAttempt,
  beginAttempt,
  excuseAttempt,
  maxDeaths,
  noAttempts,
  confirmProgress,
  releaseAttempts,
  type Attempts,
  type BeginAttempt,
  type AttemptVerdict,
  type Death,
  type AttemptRecord,
} from './deaths.ts'
import { attemptsObject, setAsideKey, setAsideReason } from './set-aside.ts'

const attemptsKey = 'attempts'

/** State of a session that is set aside. */
type SetAsideState = { readonly because: string; readonly deaths: readonly Death[] }

/** An attempt, and the turn that it belongs to. */
type AttemptOfTurn = { readonly turn: number; readonly attempt: string }

export type AttemptsObject = {
  readonly begin: (context: ObjectContext, asked: BeginAttempt) => Promise<AttemptVerdict>
  /** Records that the process of this attempt released the session in order. */
  readonly excuse: (context: ObjectContext, attempt: AttemptOfTurn) => Promise<void>
  /** Records that this attempt has made progress. */
  readonly prove: (context: ObjectContext, attempt: AttemptOfTurn) => Promise<void>
  /** Records that from now on other sessions work in the same process. */
  readonly accompany: (context: ObjectContext, attempt: AttemptOfTurn) => Promise<boolean>
  /** Called when a person wants the session to be retried. Returns false if it is not set aside. */
  readonly release: (context: ObjectContext) => Promise<boolean>
  /** Null if the session is not set aside. */
  readonly setAside: (context: ObjectSharedContext) => Promise<SetAsideState | null>
  readonly forget: (context: ObjectContext) => Promise<void>
}

export function attemptsDefinition({
  tokens,
  onEvent,
}: Pick<SessionServiceOptions, 'tokens' | 'onEvent'>): VirtualObjectDefinition<typeof attemptsObject, AttemptsObject> {
  return object({
    name: attemptsObject,
    options: {
      enableLazyState: true,
      journalRetention: 0,
      // A call is repeated only while its answer is awaited.
      idempotencyRetention: { minutes: 10 },
      ...requireProof(tokens, ['forget']),
    },
    handlers: {
      begin: async (context: ObjectContext, input: BeginAttempt): Promise<AttemptVerdict> => {
        const { attempts, begun } = beginAttempt(await readAttempts(context), checkBegin(input))
        writeAttempts(context, attempts)
        return begun
      },
      excuse: async (context: ObjectContext, input: AttemptOfTurn): Promise<void> => {
        const { turn, attempt } = checkAttempt(input)
        writeAttempts(context, excuseAttempt(await readAttempts(context), turn, attempt))
      },
      prove: async (context: ObjectContext, input: AttemptOfTurn): Promise<void> => {
        const previous = await readAttempts(context)
        const attempts = confirmProgress(previous, checkAttempt(input).attempt)
        // Nothing is stored for a session that was removed in the meantime.
        if (attempts !== previous) writeAttempts(context, attempts)
      },
      accompany: async (context: ObjectContext, input: AttemptOfTurn): Promise<boolean> => {
        const previous = await readAttempts(context)
        const attempts = accompanyAttempt(previous, checkAttempt(input).attempt)
        if (attempts !== previous) writeAttempts(context, attempts)
        return true
      },
      release: async (context: ObjectContext): Promise<boolean> => {
        const previous = await readAttempts(context)
        if (previous.deaths.length < maxDeaths) return false
        writeAttempts(context, releaseAttempts(previous))
        onEvent?.({ type: 'session_released', session: context.key })
        return true
      },
      setAside: handlers.object.shared((context: ObjectSharedContext): Promise<SetAsideState | null> =>
        context.get<SetAsideState>(setAsideKey),
      ),
      forget: handlers.object.exclusive({ ingressPrivate: true }, (context: ObjectContext): Promise<void> => {
        context.clearAll()
        return Promise.resolve()
      }),
    },
  })
}

async function readAttempts(context: ObjectContext): Promise<Attempts> {
  return (await context.get<Attempts>(attemptsKey)) ?? noAttempts
}

function writeAttempts(context: ObjectContext, attempts: Attempts): void {
  context.set(attemptsKey, attempts)
  const { deaths } = attempts
  if (deaths.length >= maxDeaths) context.set<SetAsideState>(setAsideKey, { because: setAsideReason(deaths), deaths })
  else context.clear(setAsideKey)
}

/** Limit on ids of attempts and processes, and on addresses of workers. */
const maxNameLength = 2_000
/** The latest possible date. */
const latestMs = 8.64e15

/** @throws TerminalError 400 */
function checkAttempt(input: unknown): AttemptOfTurn {
  const { turn, attempt } = isJsonObject(input) ? input : {}
  if (isCount(turn) && isText(attempt)) return { turn, attempt }
  throw badInput('Give { turn, attempt }.')
}

/**
 * Input from the ingress may have any type, and a handler that throws because of it would be retried forever.
 * @throws TerminalError 400
 */
function checkBegin(input: unknown): BeginAttempt {
  const { turn, attempt, laps, isAtRest, first = null, isAlone } = isJsonObject(input) ? input : {}
  const [current, previous] = [parseAttempt(attempt), first === null ? null : parseAttempt(first)]
  if (
    isCount(turn) &&
    isCount(laps) &&
    current !== undefined &&
    previous !== undefined &&
    typeof isAtRest === 'boolean' &&
    typeof isAlone === 'boolean'
  )
    return { turn, attempt: current, laps, isAtRest, first: previous, isAlone }
  throw badInput('Give { turn, attempt, laps, isAtRest, first, isAlone }.')
}

function parseAttempt(input: unknown): AttemptRecord | undefined {
  const { attempt, process, worker = null, atMs } = isJsonObject(input) ? input : {}
  const isNamed = isText(attempt) && isText(process) && (worker === null || isText(worker))
  if (!isNamed || typeof atMs !== 'number' || !(Math.abs(atMs) <= latestMs)) return undefined
  return { attempt, process, worker, atMs }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxNameLength
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
