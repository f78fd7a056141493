import type { LoopingSession, LoopPorts, SessionLoop } from './loops.ts'

/** The loop of the session that is shown. What runs loops is loaded when there is one. */
export interface SessionLoops {
  of(open: LoopingSession): Promise<SessionLoop>
  /** What the status line shows of it; '' for nothing. */
  readonly text: string
  /** Its countdown moves. */
  readonly isWaiting: boolean
  /** Pauses it where it waits for its next round: false where it does not. */
  pause(): boolean
  /** Another session is shown. One whose loop did not end says so. */
  show(open: LoopingSession): void
}

export function createSessionLoops(app: LoopPorts): SessionLoops {
  let shown: LoopingSession | undefined
  let loaded: SessionLoop | undefined
  let loading: Promise<SessionLoop> | undefined
  const load = async (open: LoopingSession): Promise<SessionLoop> => {
    const { SessionLoop: Loop } = await import('./loops.ts')
    const loop = new Loop(app, open)
    // Another session may be shown by now.
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
