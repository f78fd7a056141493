import { randomUUID } from 'node:crypto'
import type { Session } from '@halting/core/session'
import type { Flags } from '../flags/flags.ts'

/** `sdk`: an SDK that does not forward these lines; `host`: the program that drives this one. */
export type StateReader = 'nobody' | 'sdk' | 'host'

/** Who receives state lines, according to a flag and to variables that hosts of coding agents set. */
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
 * Reports the state of a session and its permission mode when they change (spec R-HOST-7).
 * The lines of a run follow its first line; `idle` follows its last line.
 */
export class StateLines {
  readonly #write: (line: object) => void
  readonly #reader: StateReader
  #state = 'idle'
  #mode: string | undefined
  /** `opening`: a run has started, and its first line is not written yet. */
  #run: 'none' | 'opening' | 'open' = 'none'
  #ids: readonly string[] = []

  /** @param reader Who receives `session_state_changed`. */
  constructor(write: (line: object) => void, reader: StateReader) {
    this.#write = write
    this.#reader = reader
  }

  /** Whether a run has started and its last line is not written. */
  get isOpen(): boolean {
    return this.#run !== 'none'
  }

  /** Sets the initial mode, which the first line reports. */
  setInitialMode({ snapshot }: Pick<Session, 'snapshot'>): void {
    this.#mode = snapshot.permissionMode
  }

  /** A run has started with these messages. */
  onRunStart(ids: readonly string[]): void {
    this.#run = 'opening'
    this.#ids = ids
  }

  /** Called when the first line of the run is written. Returns the messages that the run started with. */
  onInitWritten(): readonly string[] {
    const ids = this.#ids
    this.#run = 'open'
    this.#ids = []
    return ids
  }

  /** Called when the last line of the run is written. */
  onRunEnd(): void {
    this.#run = 'none'
  }

  update({ id, snapshot }: Pick<Session, 'id' | 'snapshot'>): void {
    const { status, permissionMode } = snapshot
    const known = { uuid: randomUUID(), session_id: id }
    if (this.#run === 'opening') return
    // A remote session may be known to be idle before its last line arrives.
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
