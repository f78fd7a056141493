import { randomUUID } from 'node:crypto'
import type { Session } from '@halting/core/session'
import type { Flags } from '../flags/flags.ts'

/** `sdk`: an SDK that keeps these lines to itself; `host`: the program that drives this one. */
export type StateReader = 'nobody' | 'sdk' | 'host'

/** Who asked for the lines, by the variables that hosts of coding agents set, or by the flag. */
export function stateReaderOf(
  { includeAllMessages }: Pick<Flags, 'includeAllMessages'>,
  env: Readonly<Record<string, string | undefined>>,
): StateReader {
  if (includeAllMessages === true || isOn(env['CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS'])) return 'host'
  return isOn(env['CLAUDE_CODE_SDK_READS_SESSION_STATE']) ? 'sdk' : 'nobody'
}

function isOn(value: string | undefined): boolean {
  return value === '1' || value === 'true'
}

/**
 * Lines about what changes while a session lives: whether it runs, waits for an answer or does nothing, and its permission mode (spec R-HOST-7).
 * Those of a run stand behind its first line, and `idle` behind its last.
 */
export class StateLines {
  readonly #write: (line: object) => void
  readonly #reader: StateReader
  #state = 'idle'
  #mode: string | undefined
  /** `opening`: a run has begun, and its first line was not written yet. */
  #run: 'none' | 'opening' | 'open' = 'none'
  #ids: readonly string[] = []

  /** @param reader Who receives `session_state_changed`. */
  constructor(write: (line: object) => void, reader: StateReader) {
    this.#write = write
    this.#reader = reader
  }

  /** Whether a run has begun and has no last line. */
  get isOpen(): boolean {
    return this.#run !== 'none'
  }

  /** The mode that the session begins with: its first line tells it. */
  setInitialMode({ snapshot }: Pick<Session, 'snapshot'>): void {
    this.#mode = snapshot.permissionMode
  }

  /** A run begins, by these messages. */
  onRunStart(ids: readonly string[]): void {
    this.#run = 'opening'
    this.#ids = ids
  }

  /** Its first line is written. Gives the messages that it begins with. */
  onInitWritten(): readonly string[] {
    const ids = this.#ids
    this.#run = 'open'
    this.#ids = []
    return ids
  }

  /** Its last line is written. */
  onRunEnd(): void {
    this.#run = 'none'
  }

  update({ id, snapshot }: Pick<Session, 'id' | 'snapshot'>): void {
    const { status, permissionMode } = snapshot
    const known = { uuid: randomUUID(), session_id: id }
    if (this.#run === 'opening') return
    // Of a session elsewhere it may be known that it is over before its last line came.
    const now = this.#run === 'open' && status === 'idle' ? 'running' : status
    const state = this.#run === 'none' && now === 'running' ? this.#state : now
    if (state !== this.#state && state !== 'closed') {
      this.#state = state
      const forSdk = this.#reader === 'sdk' && { sdk_host_only: true }
      if (this.#reader !== 'nobody')
        this.#write({ type: 'system', subtype: 'session_state_changed', state, ...forSdk, ...known })
    }
    if (this.#mode === permissionMode) return
    this.#mode = permissionMode
    this.#write({ type: 'system', subtype: 'status', status: null, permissionMode, ...known, uuid: randomUUID() })
  }
}
