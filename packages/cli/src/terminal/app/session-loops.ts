import type { LoopingSession, LoopPorts, SessionLoop } from './loops.ts'

/** The loops of the open session. Their code is loaded only when there is one. */
export interface SessionLoops {
  of(open: LoopingSession): Promise<SessionLoop>
  /** The text for the status line; '' for none. */
  readonly text: string
  /** Whether its countdown is running. */
  readonly isWaiting: boolean
  /** Pauses a loop that waits for its next round; false if none is waiting. */
  pause(): boolean
  /** Called when another session is shown; reports an unfinished loop of that session. */
  show(open: LoopingSession): void
}

export function createSessionLoops(app: LoopPorts): SessionLoops {
  let shown: LoopingSession | undefined
  let loaded: SessionLoop | undefined
  let loading: Promise<SessionLoop> | undefined
  const load = async (open: LoopingSession): Promise<SessionLoop> => {
    const { SessionLoop: Loop } = await import('./loops.ts')
    const loop = new Loop(app, open)
    // Another session may be shown by now, so the loop is compared.
    if (open === shown) loaded = loop
    return loop
  }
  const of = (open: LoopingSession): Promise<SessionLoop> => (loading ??= load(open))
  const offer = async (open: LoopingSession): Promise<void> => {
    const [what] = (await (await of(open)).description()) ?? []
    if (what !== undefined && open === shown)
      app.note(`This session has a loop. ${what} · /loop on continues it · /loop off ends it`)
  }
  return {
    of,
    get text() {
      return loaded?.text ?? ''
    },
    get isWaiting() {
      return loaded?.isWaiting === true
    },
    pause: () => loaded?.pause() === true,
    show(open) {
      ;[shown, loaded, loading] = [open, undefined, undefined]
      if (open.local?.loops?.isThere() === true) void offer(open).catch((thrown: unknown) => app.fail(thrown))
    },
  }
}
