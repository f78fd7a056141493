import { laterFormat } from '../engine/format.ts'
import { rowsOf } from '../http/ask-admin.ts'

/** Why the work at a session does not go on. */
export interface Stalled {
  /** The invocation that works at it, by its name in the engine. */
  readonly invocation: string
  /** The engine has given up until somebody resumes it; else it tries again, every ten seconds at least. */
  readonly needsResume: boolean
  /** What the engine says about the last failure. */
  readonly message: string
}

/** What the engine's admin interface tells of an invocation. */
interface InvocationRow {
  readonly id: string
  readonly status: string
  readonly last_failure?: string | null
}

const otherFormat = /records of format (\d+) != records of format \d+/
const toldFormat = /This session was written in format (\d+) by another version[^\n]*/

/** The format that stopped an attempt, because the worker has another one. */
export function formatIn(failure: string | null): number | undefined {
  const format = otherFormat.exec(failure ?? '')?.[1] ?? toldFormat.exec(failure ?? '')?.[1]
  return format === undefined ? undefined : Number(format)
}

/** An invocation that is tried again is none of these, unless only another worker can go on with it. */
export function stalledOf({ id, status, last_failure: failure }: InvocationRow): Stalled | undefined {
  const needsResume = status === 'paused'
  const format = otherFormat.exec(failure ?? '')?.[1]
  const why = format === undefined ? toldFormat.exec(failure ?? '')?.[0] : laterFormat(Number(format))
  if (why === undefined && !needsResume) return undefined
  const next = needsResume ? ` Then resume it: restate invocations resume ${id}.` : ''
  const message = why ?? `The engine has paused it: ${failure ?? 'somebody asked for that.'} Mend what is wrong.`
  return { invocation: id, needsResume, message: `${message}${next}` }
}

/** Asks the engine's admin interface. Undefined where the work goes on, and where that does not answer. */
export async function stalled(admin: string, object: string, sessionId: string): Promise<Stalled | undefined> {
  const invocations = `SELECT id, status, last_failure FROM sys_invocation WHERE target_service_name = '${object}' AND target_service_key = '${sessionId.replaceAll("'", "''")}' AND target_handler_name = 'work' AND status IN ('paused', 'backing-off')`
  try {
    for (const row of await rowsOf<InvocationRow>(admin, invocations)) {
      const stall = stalledOf(row.status === 'paused' ? { ...row, last_failure: await failureOf(admin, row.id) } : row)
      if (stall !== undefined) return stall
    }
  } catch {
    // What the session itself keeps is told all the same.
  }
  return undefined
}

/** What the last attempt came to, of an invocation that is paused. */
export async function failureOf(admin: string, invocation: string): Promise<string | null> {
  const paused = `SELECT event_json FROM sys_journal_events WHERE id = '${invocation}' AND event_type = 'Paused'`
  const event = (await rowsOf<{ readonly event_json: string }>(admin, paused)).at(-1)
  // The engine wrote it.
  const told = JSON.parse(event?.event_json ?? '{}') as { readonly last_failure?: { readonly error_message?: string } }
  return told.last_failure?.error_message ?? null
}
