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
} from './deaths.ts'
import { whySetAside } from './set-aside.ts'

/** The object that knows the attempts at the work of a session, which is its key. */
export const attemptsObject = 'halting_attempts'

const attemptsKey = 'attempts'
/** There while the session is set aside. Whoever lists sessions reads it by the engine's query language. */
const setAsideKey = 'set_aside'

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
        if (!isJsonObject(given) || typeof given['turn'] !== 'number' || !isJsonObject(given['attempt']))
          throw badInput('An attempt begins with { turn, attempt, laps, isAtRest, first, isAlone }.')
        // A worker asks.
        const { attempts, begun } = beginAttempt(await read(context), given)
        write(context, attempts)
        return begun
      },
      excuse: async (context: ObjectContext, given: AttemptOfTurn): Promise<void> => {
        const { turn, attempt } = checked(given)
        write(context, excuseAttempt(await read(context), turn, attempt))
      },
      prove: async (context: ObjectContext, given: AttemptOfTurn): Promise<void> => {
        write(context, provenAttempt(await read(context), checked(given).attempt))
      },
      accompany: async (context: ObjectContext, given: AttemptOfTurn): Promise<boolean> => {
        write(context, accompanyAttempt(await read(context), checked(given).attempt))
        return true
      },
      release: async (context: ObjectContext): Promise<boolean> => {
        const before = await read(context)
        if (before.deaths.length < mostDeaths) return false
        write(context, releaseAttempts(before))
        onEvent?.({ type: 'session_released', session: context.key })
        return true
      },
      setAside: handlers.object.shared((context: ObjectSharedContext): Promise<readonly Death[] | null> =>
        context.get<readonly Death[]>(setAsideKey),
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

/** @throws TerminalError 400 */
function checked(given: unknown): AttemptOfTurn {
  const { turn, attempt } = isJsonObject(given) ? given : {}
  if (typeof turn === 'number' && typeof attempt === 'string') return { turn, attempt }
  throw badInput('An attempt is named by { turn, attempt }.')
}
