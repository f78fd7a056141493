import { messageOf } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { oneLine } from '../io/figures.ts'
import { unreachableWorkerText, readSessionTrouble } from './unreachable-worker.ts'
import { engineHint } from './engine-hint.ts'
import { getJson } from './get-json.ts'

/** Delay before the note, in milliseconds. */
const delayMs = 4_000

export interface StallNoticeOptions {
  readonly flags: Pick<Flags, 'cluster' | 'admin'>
  readonly sessionId: string
  /** Called once, if nobody has answered for some seconds. */
  readonly note: (text: string) => void
  readonly delayMs?: number
}

/**
 * Waits for an answer of a worker, which the engine retries without end. After some seconds, a note reports what is
 * being tried and what the user can do.
 */
export async function withStallNotice<T>(answer: Promise<T>, options: StallNoticeOptions): Promise<T> {
  const timer = setTimeout(() => void reportStall(options), options.delayMs ?? delayMs)
  try {
    return await answer
  } finally {
    clearTimeout(timer)
  }
}

/** Time limit for the health check of the engine. */
const healthTimeoutMs = 3_000

async function reportStall({ flags, sessionId, note }: StallNoticeOptions): Promise<void> {
  const absent = await getJson(flags.cluster ?? '', '/restate/health', healthTimeoutMs).then(
    () => undefined,
    (thrown: unknown) => messageOf(thrown),
  )
  if (absent !== undefined) {
    note(`${oneLine(absent, 300).replace(/(?<![.!?])$/, '.')} Trying again. ${engineHint} Ctrl-C cancels.`)
    return
  }
  const { failure, unreachable: awaited } =
    (await readSessionTrouble(flags, [sessionId]).catch(() => undefined))?.get(sessionId) ?? {}
  const which = awaited === undefined ? '' : ` It ${unreachableWorkerText(awaited, Date.now())}.`
  const why = failure === undefined ? '' : ` The engine says: ${oneLine(failure, 300)}.`
  note(
    `no worker has responded yet; the engine is retrying.${which}${why} Start ${awaited === undefined ? 'the last registered worker' : 'that worker again'}, or another one: halting serve --register. Ctrl-C cancels.`,
  )
}
