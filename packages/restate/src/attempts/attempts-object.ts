import { isJsonObject } from '@halting/core/adapters'
import {
  handlers,
  object,
  type ObjectContext,
  type ObjectSharedContext,
  type VirtualObjectDefinition,
} from '@restatedev/restate-sdk'
import { guarded } from '../access/guard.ts'
import { badInput } from '../service/checked.ts'
import type { SessionServiceOptions } from '../service/session-options.ts'
import {
  accompanyAttempt,
  beginAttempt,
  excuseAttempt,
  mostDeaths,
  noAttempts,
  provenAttempt,
  releaseAttempts,
  type Attempts,
  type BeginAttempt,
  type Begun,
  type Death,
  type NotedAttempt,
} from './deaths.ts'
import { attemptsObject, setAsideKey, whySetAside } from './set-aside.ts'

const attemptsKey = 'attempts'

/** Why a session is set aside. */
type SetAside = { readonly because: string; readonly deaths: readonly Death[] }

/** An attempt of a turn. */
type AttemptOfTurn = { readonly turn: number; readonly attempt: string }

export type AttemptsObject = {
  readonly begin: (context: ObjectContext, asked: BeginAttempt) => Promise<Begun>
  /** The process of this attempt let go of the session in order. */
  readonly excuse: (context: ObjectContext, attempt: AttemptOfTurn) => Promise<void>
  /** This attempt has made progress. */
  readonly prove: (context: ObjectContext, attempt: AttemptOfTurn) => Promise<void>
  /** Others are at work beside this attempt from here on. */
  readonly accompany: (context: ObjectContext, attempt: AttemptOfTurn) => Promise<boolean>
  /** A person wants the session to be tried again. False where it is not set aside. */
  readonly release: (context: ObjectContext) => Promise<boolean>
  /** Null where it is not set aside. */
  readonly setAside: (context: ObjectSharedContext) => Promise<SetAside | null>
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
      // A call comes again while its answer is waited for, no later.
      idempotencyRetention: { minutes: 10 },
      ...guarded(tokens, ['forget']),
    },
    handlers: {
      begin: async (context: ObjectContext, given: BeginAttempt): Promise<Begun> => {
        const { attempts, begun } = beginAttempt(await read(context), checkedBegin(given))
        write(context, attempts)
        return begun
      },
      excuse: async (context: ObjectContext, given: AttemptOfTurn): Promise<void> => {
        const { turn, attempt } = checked(given)
        write(context, excuseAttempt(await read(context), turn, attempt))
      },
      prove: async (context: ObjectContext, given: AttemptOfTurn): Promise<void> => {
        const before = await read(context)
        const attempts = provenAttempt(before, checked(given).attempt)
        // Of a session that is gone nothing is stored again.
        if (attempts !== before) write(context, attempts)
      },
      accompany: async (context: ObjectContext, given: AttemptOfTurn): Promise<boolean> => {
        const before = await read(context)
        const attempts = accompanyAttempt(before, checked(given).attempt)
        if (attempts !== before) write(context, attempts)
        return true
      },
      release: async (context: ObjectContext): Promise<boolean> => {
        const before = await read(context)
        if (before.deaths.length < mostDeaths) return false
        write(context, releaseAttempts(before))
        onEvent?.({ type: 'session_released', session: context.key })
        return true
      },
      setAside: handlers.object.shared((context: ObjectSharedContext): Promise<SetAside | null> =>
        context.get<SetAside>(setAsideKey),
      ),
      forget: handlers.object.exclusive({ ingressPrivate: true }, (context: ObjectContext): Promise<void> => {
        context.clearAll()
        return Promise.resolve()
      }),
    },
  })
}

async function read(context: ObjectContext): Promise<Attempts> {
  return (await context.get<Attempts>(attemptsKey)) ?? noAttempts
}

function write(context: ObjectContext, attempts: Attempts): void {
  context.set(attemptsKey, attempts)
  const { deaths } = attempts
  if (deaths.length >= mostDeaths) context.set<SetAside>(setAsideKey, { because: whySetAside(deaths), deaths })
  else context.clear(setAsideKey)
}

/** Ids of attempts and processes, and addresses of workers, are shorter. */
const mostOfName = 2_000
/** No date is later. */
const latestMs = 8.64e15

/** @throws TerminalError 400 */
function checked(given: unknown): AttemptOfTurn {
  const { turn, attempt } = isJsonObject(given) ? given : {}
  if (isCount(turn) && isText(attempt)) return { turn, attempt }
  throw badInput('An attempt is named by { turn, attempt }.')
}

/** What comes over the ingress may be anything, and a handler that fails by it is tried again without end. @throws TerminalError 400 */
function checkedBegin(given: unknown): BeginAttempt {
  const { turn, attempt, laps, isAtRest, first = null, isAlone } = isJsonObject(given) ? given : {}
  const [own, before] = [notedIn(attempt), first === null ? null : notedIn(first)]
  if (
    isCount(turn) &&
    isCount(laps) &&
    own !== undefined &&
    before !== undefined &&
    typeof isAtRest === 'boolean' &&
    typeof isAlone === 'boolean'
  )
    return { turn, attempt: own, laps, isAtRest, first: before, isAlone }
  throw badInput('An attempt begins with { turn, attempt, laps, isAtRest, first, isAlone }.')
}

function notedIn(given: unknown): NotedAttempt | undefined {
  const { attempt, process, worker = null, atMs } = isJsonObject(given) ? given : {}
  const isNamed = isText(attempt) && isText(process) && (worker === null || isText(worker))
  if (!isNamed || typeof atMs !== 'number' || !(Math.abs(atMs) <= latestMs)) return undefined
  return { attempt, process, worker, atMs }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= mostOfName
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
