import type { NotificationChannel } from '@halting/policy/settings'

/** Something that is drawn, compatible with components of pi-tui. Lines may contain SGR sequences, and are at most `width` columns wide. */
export interface Component {
  render(width: number): readonly string[]
  handleInput?(data: string): void
  invalidate?(): void
}

/** A finished text. It is rendered when it is printed, and again when a resize reprints the screen. */
export interface Block {
  render(width: number): readonly string[]
}

/**
 * The terminal as the program uses it (TERMINAL.md, "Renderer"): finished blocks go into its scrollback once, and changing components are drawn below
 * them.
 * Nothing else writes to the terminal.
 */
export interface Screen {
  readonly columns: number
  readonly rows: number
  /** Whether the terminal has the focus; `unknown` until it reports it. */
  readonly focus: 'here' | 'away' | 'unknown'
  /** Prints a block above the changing components. */
  print(block: Block): void
  /** Sets the components below, from top to bottom. At most the last `rows - 1` lines are drawn. */
  setLive(components: readonly Component[]): void
  /** Sets the component that receives keys. */
  setFocus(component: Component | undefined): void
  /** Call this when a component has changed. Frames are at least 16 ms apart. */
  requestFrame(): void
  /**
   * Shows a component on the whole screen and sends it all keys. Returns a function that restores the screen; blocks
   * printed in the meantime appear then.
   */
  takeOver(component: Component): () => void
  /** Calls back with each key before the focused component; true: the key was handled. */
  onKey(listener: (data: string) => boolean): () => void
  /** Alerts a person whose terminal is not in focus, through this channel. */
  notify(text: string, channel: NotificationChannel): void
  setTitle(text: string): void
  /** Copies text to the clipboard with OSC 52, which also works remotely if the terminal allows it. */
  copy(text: string): void
  /** Redraws everything, with a screenful of printed blocks. */
  redraw(): void
  /** Releases the terminal and suspends the process, like Ctrl+Z; takes the terminal again on `fg`. */
  suspend(): void
  /** Lends the terminal to another program, such as an editor, until that ends. */
  lend<T>(work: () => Promise<T>): Promise<T>
  start(): void
  /** Restores the terminal. May be called again. */
  stop(): Promise<void>
}
