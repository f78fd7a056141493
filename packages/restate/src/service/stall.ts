import { newerFormatMessage } from '../engine/format.ts'
import { findSetAsideMessage, setAsideMessage } from '../attempts/set-aside.ts'
import type { WorkOfSession } from '../worker/engine-admin.ts'

/** Why the work at a session has stalled. */
export interface Stall {
  /**
   * `paused`: the engine has given up until a person resumes it. `format`: only a worker of another version can read it. `worker_lost`: its worker does not answer. `set_aside`:
   * its work has killed several workers, and waits for a person to release it.
   */
  readonly kind: 'paused' | 'format' | 'worker_lost' | 'set_aside'
  /** Id of the invocation that works at it. */
  readonly invocation: string
  /** The engine has given up until a person resumes it; otherwise it retries at least every ten seconds. */
  readonly needsResume: boolean
  /** The engine's message about the last failure. */
  readonly message: string
  /** Address of the awaited worker; absent if any worker will do. */
  readonly worker?: string
  /** When it stalled, in milliseconds since 1970; absent if unknown. */
  readonly sinceMs?: number
}

const mismatchedStepFormat = /records of format (\d+) != records of format \d+/
const reportedFormat = /This session was written in format (\d+) by another version[^\n]*/

/** The storage format that made an attempt fail, because the worker has another one. */
export function failedFormat(failure: string | null): number | undefined {
  const format = mismatchedStepFormat.exec(failure ?? '')?.[1] ?? reportedFormat.exec(failure ?? '')?.[1]
  return format === undefined ? undefined : Number(format)
}

/** Derives a stall from the state of an invocation. Work that is retried has not stalled, unless only another worker can continue it. */
export function stallOf({ id, status, failure }: Omit<WorkOfSession, 'sessionId' | 'deployment'>): Stall | undefined {
  if (status === 'suspended') return undefined
  const needsResume = status === 'paused'
  const setAside = findSetAsideMessage(failure)
  if (setAside !== undefined) return { kind: 'set_aside', invocation: id, needsResume, message: setAside }
  const format = mismatchedStepFormat.exec(failure ?? '')?.[1]
  const why = format === undefined ? reportedFormat.exec(failure ?? '')?.[0] : newerFormatMessage(Number(format))
  if (why === undefined && !needsResume) return undefined
  const next = needsResume ? ` Then resume it: restate invocations resume ${id}.` : ''
  const because = (failure ?? 'somebody asked for that').replace(/[.\s]+$/, '')
  const message = why ?? `The engine has paused it: ${because}. Fix the cause.`
  return { kind: why === undefined ? 'paused' : 'format', invocation: id, needsResume, message: `${message}${next}` }
}

/** The stall of a session that is set aside. `because`: a clause, as recorded. */
export function setAsideStall(
  { id, sessionId, status }: Pick<WorkOfSession, 'id' | 'sessionId' | 'status'>,
  because: string,
): Stall {
  const message = setAsideMessage(sessionId, because)
  return { kind: 'set_aside', invocation: id, needsResume: status === 'paused', message }
}

/** Why the work at a session waits for a lost worker. */
export interface LostWorkerStall {
  /** The address of the worker. */
  readonly worker: string
  /** Since when it has not answered, in milliseconds since 1970. */
  readonly sinceMs: number
  /** `folder`: no other worker has its folder. `format`: other workers read another format. `nobody`: the reporting worker does not take over work. */
  readonly why: 'folder' | 'format' | 'nobody'
}

const remedyFor: Readonly<Record<LostWorkerStall['why'], string>> = {
  folder:
    'The folder of this session is on none of the other machines. Start that worker again at its address, or another one that has the folder (--workspaces).',
  format:
    'The other workers read another storage format. Start a worker of its version again, at its address or with --register.',
  nobody: 'No other registered worker has taken this session yet. Start one: halting serve --register.',
}

/** The stall of a session whose worker is lost, until another one continues it. */
export function lostWorkerStall(invocation: string, { worker, sinceMs, why }: LostWorkerStall): Stall {
  const since = new Date(sinceMs).toISOString().replace(/\.\d+Z$/, 'Z')
  const message = `It waits for its worker ${worker}, which has not answered since ${since}. ${remedyFor[why]}`
  return { kind: 'worker_lost', invocation, needsResume: false, message, worker, sinceMs }
}
