import { newerFormatMessage } from '../engine/format.ts'
import { setAsideIn, setAsideMessage } from '../attempts/set-aside.ts'
import type { WorkOfSession } from '../worker/engine-admin.ts'

/** Why the work at a session does not go on. */
export interface Stall {
  /** `paused`: the engine has given it up until somebody resumes it. `format`: only a worker of another version reads it. `worker_lost`: the worker that it is bound to does not answer. `set_aside`: its work has ended several workers, and waits for somebody to release it. */
  readonly kind: 'paused' | 'format' | 'worker_lost' | 'set_aside'
  /** The invocation that works at it, by its name in the engine. */
  readonly invocation: string
  /** The engine has given up until somebody resumes it; else it tries again, every ten seconds at least. */
  readonly needsResume: boolean
  /** What the engine says about the last failure. */
  readonly message: string
  /** Address of the worker that is awaited; absent where no particular one is. */
  readonly worker?: string
  /** Since when it does not go on, in milliseconds since 1970; absent where that is unknown. */
  readonly sinceMs?: number
}

const mismatchedStepFormat = /records of format (\d+) != records of format \d+/
const reportedFormat = /This session was written in format (\d+) by another version[^\n]*/

/** The format that stopped an attempt, because the worker has another one. */
export function failedFormat(failure: string | null): number | undefined {
  const format = mismatchedStepFormat.exec(failure ?? '')?.[1] ?? reportedFormat.exec(failure ?? '')?.[1]
  return format === undefined ? undefined : Number(format)
}

/** Work that is tried again is none of these, unless only another worker can go on with it. */
export function stallOf({ id, status, failure }: Omit<WorkOfSession, 'sessionId' | 'deployment'>): Stall | undefined {
  if (status === 'suspended') return undefined
  const needsResume = status === 'paused'
  const setAside = setAsideIn(failure)
  if (setAside !== undefined) return { kind: 'set_aside', invocation: id, needsResume, message: setAside }
  const format = mismatchedStepFormat.exec(failure ?? '')?.[1]
  const why = format === undefined ? reportedFormat.exec(failure ?? '')?.[0] : newerFormatMessage(Number(format))
  if (why === undefined && !needsResume) return undefined
  const next = needsResume ? ` Then resume it: restate invocations resume ${id}.` : ''
  const because = (failure ?? 'somebody asked for that').replace(/[.\s]+$/, '')
  const message = why ?? `The engine has paused it: ${because}. Fix the cause.`
  return { kind: why === undefined ? 'paused' : 'format', invocation: id, needsResume, message: `${message}${next}` }
}

/** What a session says that its attempts have set aside. `because`: a clause, as they say it. */
export function setAsideStall(
  { id, sessionId, status }: Pick<WorkOfSession, 'id' | 'sessionId' | 'status'>,
  because: string,
): Stall {
  const message = setAsideMessage(sessionId, because)
  return { kind: 'set_aside', invocation: id, needsResume: status === 'paused', message }
}

/** Why the work at a session waits for a worker that is lost. */
export interface LostWorkerStall {
  /** The address of the worker. */
  readonly worker: string
  /** Since when it does not answer, in milliseconds since 1970. */
  readonly sinceMs: number
  /** `folder`: no other worker has its folder. `format`: the others read another one. `nobody`: the worker that says so takes nothing. */
  readonly why: 'folder' | 'format' | 'nobody'
}

const remedyFor: Readonly<Record<LostWorkerStall['why'], string>> = {
  folder:
    'The folder of this session is on none of the other machines. Start that worker again at its address, or another one that has the folder (--workspaces).',
  format:
    'The other workers read another storage format. Start a worker of its version again, at its address or with --register.',
  nobody: 'No other registered worker has taken this session yet. Start one: halting serve --register.',
}

/** What a session says whose worker is lost, until another one continues it. */
export function lostWorkerStall(invocation: string, { worker, sinceMs, why }: LostWorkerStall): Stall {
  const since = new Date(sinceMs).toISOString().replace(/\.\d+Z$/, 'Z')
  const message = `It waits for its worker ${worker}, which has not answered since ${since}. ${remedyFor[why]}`
  return { kind: 'worker_lost', invocation, needsResume: false, message, worker, sinceMs }
}
