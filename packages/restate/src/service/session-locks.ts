/** The lock of an attempt on a session. */
export interface SessionLock {
  /** Sets how to end the work when another attempt continues the session. The last function counts. */
  readonly leaveBy: (leave: () => void) => void
  /** Call this when the work is over. Calling it again has no effect. */
  readonly release: () => void
}

/** The attempt that works at a session in this process. */
interface LockOwner {
  /** Ends its work, once. */
  leave: () => void
  readonly left: Promise<void>
}

/**
 * Locks on sessions. H1: in this process, one attempt at a time works at a session, because two attempts must not work
 * in one folder. H2: the engine begins a new attempt only after it has given up the previous one. So a new attempt ends
 * the previous one, even if that does not know yet that it is lost. H3: an attempt that is lost while it waits does not
 * begin.
 */
export class SessionLocks {
  readonly #owners = new Map<string, LockOwner>()

  /**
   * Waits until no other attempt in this process works at the session.
   * @throws Error if `gone` is aborted meanwhile.
   */
  async acquire(sessionId: string, gone: AbortSignal): Promise<SessionLock> {
    const before = this.#owners.get(sessionId)
    let settle = (): void => {}
    const left = new Promise<void>((resolve) => (settle = resolve))
    const owner: LockOwner = { leave: () => {}, left }
    const release = (): void => {
      if (this.#owners.get(sessionId) === owner) this.#owners.delete(sessionId)
      settle()
    }
    this.#owners.set(sessionId, owner)
    let mustLeave = false
    owner.leave = () => (mustLeave = true)
    before?.leave()
    await before?.left
    const isGone = (): boolean => gone.aborted || mustLeave
    if (isGone()) {
      release()
      throw new Error('The engine goes on with this session elsewhere.')
    }
    return {
      leaveBy(leave) {
        let hasLeft = false
        owner.leave = () => {
          mustLeave = true
          if (hasLeft) return
          hasLeft = true
          leave()
        }
        gone.addEventListener('abort', () => owner.leave())
        if (isGone()) owner.leave()
      },
      release,
    }
  }
}
