import { randomUUID } from 'node:crypto'
import type { Session } from '@halting/agent/session'

/**
 * Lines about what changes while a session lives: whether it runs, waits for an answer or does nothing, and its permission mode (spec R-HOST-7).
 * Those of a run stand behind its first line, and `idle` behind its last.
 */
export class StateLines {
  readonly #write: (line: object) => void
  #state = 'idle'
  #mode: string | undefined
  /** `opening`: a run has begun, and its first line was not written yet. */
  #run: 'none' | 'opening' | 'open' = 'none'
  #ids: readonly string[] = []

  constructor(write: (line: object) => void) {
    this.#write = write
  }

  /** Whether a run has begun and has no last line. */
  get isOpen(): boolean {
    return this.#run !== 'none'
  }

  /** The mode that the session begins with: its first line tells it. */
  know({ snapshot }: Pick<Session, 'snapshot'>): void {
    this.#mode = snapshot.permissionMode
  }

  /** A run begins, by these messages. */
  begin(ids: readonly string[]): void {
    this.#run = 'opening'
    this.#ids = ids
  }

  /** Its first line is written. Gives the messages that it begins with. */
  begun(): readonly string[] {
    const ids = this.#ids
    this.#run = 'open'
    this.#ids = []
    return ids
  }

  /** Its last line is written. */
  end(): void {
    this.#run = 'none'
  }

  tell({ id, snapshot }: Pick<Session, 'id' | 'snapshot'>): void {
    const { status, permissionMode } = snapshot
    const known = { uuid: randomUUID(), session_id: id }
    if (this.#run === 'opening') return
    // Of a session elsewhere it may be known that it is over before its last line came.
    const now = this.#run === 'open' && status === 'idle' ? 'running' : status
    const state = this.#run === 'none' && now === 'running' ? this.#state : now
    if (state !== this.#state && state !== 'closed') {
      this.#state = state
      this.#write({ type: 'system', subtype: 'session_state_changed', state, ...known })
    }
    if (this.#mode === permissionMode) return
    this.#mode = permissionMode
    this.#write({ type: 'system', subtype: 'status', status: null, permissionMode, ...known, uuid: randomUUID() })
  }
}
