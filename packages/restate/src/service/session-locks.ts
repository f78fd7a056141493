/** An attempt's hold on a session. */
export interface SessionLock {
  /** How the work is ended when somebody else goes on with the session: the last one that was given counts. */
  readonly leaveBy: (leave: () => void) => void
  /** The work is over. Again is harmless. */
  readonly release: () => void
}

/** Who works at a session in this process. */
interface LockOwner {
  /** Ends what it does there, once. */
  leave: () => void
  readonly left: Promise<void>
}

/**
 * H1: one attempt at a time works at a session in this process: two must not work in one folder. H2: the engine begins a new attempt only where it has given up the
 * one before, so who comes ends that one, also where nobody has told it that it is lost. H3: who was lost as it waited does not begin.
 */
export class SessionLocks {
  readonly #owners = new Map<string, LockOwner>()

  /**
   * Waits until nobody in this process works at the session.
   * @throws Error where `gone` was aborted meanwhile.
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
