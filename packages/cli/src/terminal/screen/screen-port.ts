import type { NotificationChannel } from '@halting/policy/settings'

/** Something that is drawn: the interface of pi-tui's components. Lines may hold SGR, and are at most `width` columns wide. */
export interface Component {
  render(width: number): readonly string[]
  handleInput?(data: string): void
  invalidate?(): void
}

/** Text that is finished. It is asked for its lines when it is printed, and again where a resize prints a screenful anew. */
export interface Block {
  render(width: number): readonly string[]
}

/**
 * The terminal as the program uses it (TERMINAL.md, "Renderer"): finished blocks go into its own scrollback once; below them stands what changes. Nothing else of the
 * program writes to the terminal.
 */
export interface Screen {
  readonly columns: number
  readonly rows: number
  /** Whether a person looks at the terminal; `unknown` until it has reported that. */
  readonly focus: 'here' | 'away' | 'unknown'
  /** Prints it above what changes. */
  print(block: Block): void
  /** What stands below, from top to bottom; at most `rows - 1` lines are shown of it, the last ones. */
  setLive(components: readonly Component[]): void
  /** Who gets the keys. */
  setFocus(component: Component | undefined): void
  /** Something that is shown has changed. Frames are drawn 16 ms apart at least. */
  requestFrame(): void
  /** Takes the whole screen for this component, with the keys; gives the way back. What is printed meanwhile is printed then. */
  takeOver(component: Component): () => void
  /** Calls back with each key before the focus gets it; true from it: it was handled. */
  onKey(listener: (data: string) => boolean): () => void
  /** Calls whoever looks elsewhere, the way that the channel says. */
  notify(text: string, channel: NotificationChannel): void
  setTitle(text: string): void
  /** Puts text on the clipboard, by OSC 52: also from another machine, where the terminal allows it. */
  copy(text: string): void
  /** Draws all of it anew, with a screenful of what was printed. */
  redraw(): void
  /** Gives the terminal back and stops the process, as Ctrl+Z does to any program; takes the terminal again when it goes on (`fg`). */
  suspend(): void
  /** Gives the terminal to another program, such as an editor, and takes it again when that has ended. */
  lend<T>(work: () => Promise<T>): Promise<T>
  start(): void
  /** The terminal is as it was. Again is harmless. */
  stop(): Promise<void>
}
