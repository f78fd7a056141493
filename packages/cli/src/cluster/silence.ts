import type { Flags } from '../flags/flags.ts'
import { oneLine } from '../io/figures.ts'
import { rowsOf } from './engine-query.ts'

/** So long somebody waits without a word. */
const silentMs = 4_000

export interface SilenceOptions {
  readonly flags: Pick<Flags, 'cluster' | 'admin'>
  readonly sessionId: string
  /** Told once, when nobody has answered for some seconds. */
  readonly note: (text: string) => void
  readonly silentMs?: number
}

/** Waits for what a worker has to answer. The engine asks it again for as long as it takes: who waits is told what is tried, and what helps. */
export async function notSilently<T>(answer: Promise<T>, options: SilenceOptions): Promise<T> {
  const timer = setTimeout(() => void tell(options), options.silentMs ?? silentMs)
  try {
    return await answer
  } finally {
    clearTimeout(timer)
  }
}

async function tell({ flags, sessionId, note }: SilenceOptions): Promise<void> {
  const failure = await failureOf(flags, sessionId)
  const why = failure === undefined ? '' : ` The engine says: ${oneLine(failure, 300)}.`
  note(
    `no worker has responded yet; the engine is retrying.${why} Start the last registered worker, or register another with halting serve --register. Ctrl-C cancels.`,
  )
}

/** What the last call came to, where the engine tells it. */
async function failureOf(flags: SilenceOptions['flags'], sessionId: string): Promise<string | undefined> {
  const name = sessionId.replaceAll("'", "''")
  const tried = `select last_failure from sys_invocation where target_service_name = 'halting_session' and target_service_key = '${name}' and status = 'backing-off' and last_failure is not null limit 1`
  const [row] = await rowsOf(flags, tried).catch(() => [])
  const failure = row?.['last_failure']
  return typeof failure === 'string' ? failure : undefined
}
