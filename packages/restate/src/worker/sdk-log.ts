import { messageOf } from '@halting/core/adapters'
import type { LoggerTransport } from '@restatedev/restate-sdk'
import { mailboxObject, sessionObject } from '../service/names.ts'
import type { WorkerListener } from './worker-events.ts'

type About = Parameters<LoggerTransport>[0]

/** The same failure is reported again after this time. */
const quietMs = 600_000
const maxKnown = 1_000

/** The engine continues attempts that end with one of these errors, and nobody has to act. */
const expectedErrors = [
  // LeftError, and the error of its log in a run. If a step failed with it, the SDK prefixes a status.
  /This worker leaves the session\./,
  /goes on with this session elsewhere/,
  // This error is reported as a separate event.
  /This session is set aside: /,
]

/** A connection ended. */
const connectionError = /Premature close|Got abort error from connection/

/**
 * Converts log entries of the engine's SDK into events. A failure is reported once for its session until another one occurs or ten minutes have passed. Answers to callers (HTTP
 * 4xx) and attempts that the engine continues as planned are not failures.
 */
export class SdkLog {
  readonly #report: WorkerListener
  readonly #isEnding: () => boolean
  readonly #known = new Map<string, { readonly message: string; readonly at: number }>()

  /** @param isEnding Whether this worker is giving up its sessions, and with them its connections. */
  constructor(report: WorkerListener, isEnding: () => boolean = () => false) {
    this.#report = report
    this.#isEnding = isEnding
  }

  take(about: Pick<About, 'level' | 'context'>, parts: readonly unknown[]): void {
    const level = levelOf(about.level)
    // Access is a matter of the network; the guide explains it.
    if (level === undefined || String(parts[0]).startsWith('Accepting requests without validating')) return
    const error = parts.find((each) => each instanceof Error)
    if (error !== undefined && isExpected(error)) return
    if (this.#isEnding() && parts.some((each) => connectionError.test(String(each)))) return
    const { serviceName, handlerName, key, invocationTarget } = about.context ?? {}
    const session = serviceName === sessionObject || serviceName === mailboxObject ? key : undefined
    const where = session === undefined ? invocationTarget : handlerName
    const what =
      error === undefined
        ? parts.map(String).join(' ').trim()
        : `${messageOf(error).replace(/\.?$/, '.')} The engine retries it.`
    const message = where === undefined ? what : `${where}: ${what}`
    if (this.#isKnown(`${serviceName} ${key} ${handlerName}`, message)) return
    this.#report({ type: 'trouble', level, message, ...(session !== undefined && { session }) })
  }

  #isKnown(what: string, message: string): boolean {
    const now = performance.now()
    const known = this.#known.get(what)
    if (known?.message === message && now - known.at < quietMs) return true
    this.#known.delete(what)
    this.#known.set(what, { message, at: now })
    const [oldest] = this.#known.keys()
    if (this.#known.size > maxKnown && oldest !== undefined) this.#known.delete(oldest)
    return false
  }
}

function levelOf(level: string): 'warn' | 'error' | undefined {
  return level === 'error' || level === 'warn' ? level : undefined
}

function isExpected(error: Error): boolean {
  // A `TerminalError`, which the caller receives.
  const code = 'code' in error ? Number(error.code) : NaN
  return (code >= 400 && code < 500) || expectedErrors.some((each) => each.test(error.message))
}
