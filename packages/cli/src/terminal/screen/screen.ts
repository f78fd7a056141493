import type { NotificationChannel } from '@halting/policy/settings'
import { isKeyRelease } from '@earendil-works/pi-tui/dist/keys.js'
import { createInput, type Input } from './input.ts'
import { mainScreen, type MainScreen } from './main-screen.ts'
import { type Background, createModes, type Report, reportOf } from './modes.ts'
import type { Block, Component, Screen } from './screen-port.ts'
import { plainText } from './strip.ts'
import { type EndSignal, type Size, systemTimers, type TerminalPort, type Timers } from './terminal-port.ts'
import { linesAt } from './lines-at.ts'
import { rowText } from './row.ts'

export interface ScreenOptions {
  readonly timers?: Timers
  /**
   * Called for a signal that ends the process. If absent, the terminal is restored, and the signal has its default
   * effect. A second signal always has its default effect.
   */
  readonly onSignal?: (signal: EndSignal) => void
}

/** What a terminal screen offers in addition to the port. */
export interface TerminalScreen extends Screen {
  /** The background of the terminal; undefined if it does not report one within 100 ms. */
  readonly background: Promise<Background | undefined>
}

const frameMs = 16
const quietMs = 50
const answerMs = 100
const drain = { quietMs: 50, longestMs: 500 }
/** Creates the screen. It writes nothing while another program has the terminal. */
export function createScreen(terminal: TerminalPort, options: ScreenOptions = {}): TerminalScreen {
  return new RootScreen(terminal, options)
}

class RootScreen implements TerminalScreen {
  focus: Screen['focus'] = 'unknown'
  readonly background: Promise<Background | undefined>
  readonly #terminal: TerminalPort
  readonly #timers: Timers
  readonly #onSignal: ((signal: EndSignal) => void) | undefined
  readonly #modes = createModes()
  readonly #main: MainScreen
  readonly #full = fullScreen()
  readonly #listeners = new Set<(data: string) => boolean>()
  readonly #overlays: Component[] = []
  #input: Input | undefined
  readonly #pending: Block[] = []
  #live: readonly Component[] = []
  #focus: Component | undefined
  /** Whether this program, and no other one, writes to the terminal. */
  #hasTerminal = false
  #isStarted = false
  #isLent = false
  /** The bytes that set the title; '' before it is set. */
  #title = ''
  #lastFrame = Number.NEGATIVE_INFINITY
  #callOffFrame: (() => void) | undefined
  #callOffResize: (() => void) | undefined
  #unhook: (() => void)[] = []
  #stopped: Promise<void> | undefined
  #resolveBackground: (background?: Background) => void = () => {}

  constructor(terminal: TerminalPort, { timers = systemTimers, onSignal }: ScreenOptions) {
    this.#terminal = terminal
    this.#timers = timers
    this.#onSignal = onSignal
    this.#main = mainScreen(sizeOf(terminal), terminal)
    this.background = new Promise((resolve) => {
      this.#resolveBackground = resolve
    })
  }

  get columns(): number {
    return this.#terminal.columns
  }

  get rows(): number {
    return this.#terminal.rows
  }

  print(block: Block): void {
    this.#pending.push(block)
    this.requestFrame()
  }

  setLive(components: readonly Component[]): void {
    this.#live = components
    this.requestFrame()
  }

  setFocus(component: Component | undefined): void {
    if (this.#focus !== undefined) setFocused(this.#focus, false)
    this.#focus = component
    if (component !== undefined) setFocused(component, true)
    this.requestFrame()
  }

  requestFrame(): void {
    if (!this.#hasTerminal || this.#callOffFrame !== undefined || this.#callOffResize !== undefined) return
    const wait = Math.max(0, this.#lastFrame + frameMs - this.#timers.now())
    this.#callOffFrame = this.#timers.after(wait, () => this.#frame())
  }

  takeOver(component: Component): () => void {
    this.#overlays.push(component)
    if (this.#overlays.length === 1 && this.#hasTerminal) this.#terminal.write(this.#full.enter())
    this.requestFrame()
    return () => {
      const at = this.#overlays.indexOf(component)
      if (at < 0) return
      this.#overlays.splice(at, 1)
      if (this.#overlays.length === 0 && this.#hasTerminal) this.#leaveFullScreen()
      this.requestFrame()
    }
  }

  onKey(listener: (data: string) => boolean): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  notify(text: string, channel: NotificationChannel): void {
    if (this.#hasTerminal) this.#write(notificationOf(titleOf(text), channel))
  }

  setTitle(text: string): void {
    this.#title = `\u001B]2;${titleOf(text)}\u0007`
    if (this.#hasTerminal) this.#terminal.write(this.#title)
  }

  async lend<T>(work: () => Promise<T>): Promise<T> {
    this.#leave()
    this.#isLent = true
    try {
      return await work()
    } finally {
      this.#isLent = false
      this.#takeTerminal()
    }
  }

  copy(text: string): void {
    if (this.#hasTerminal) this.#terminal.write(`\u001B]52;c;${Buffer.from(text).toString('base64')}\u0007`)
  }

  redraw(): void {
    if (!this.#hasTerminal) return
    if (this.#overlays.length > 0) this.#redrawFull()
    else this.#redraw()
    this.requestFrame()
  }

  suspend(): void {
    this.#terminal.suspend()
  }

  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#input = createInput(this.#timers, (piece) => this.#take(piece))
    this.#unhook = [
      this.#terminal.guard({
        leave: () => this.#leave(),
        resume: () => this.#takeTerminal(),
        onSignal: this.#onSignal,
        isLent: () => this.#isLent,
      }),
      this.#terminal.onData((data) => this.#input?.feed(data)),
      this.#terminal.onResize(() => this.#resized()),
      this.#timers.after(answerMs, () => this.#resolveBackground()),
    ]
    this.#takeTerminal()
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    if (!this.#isStarted) return
    this.#writeLeave()
    await this.#inputDrained()
    this.#terminal.setRaw(false)
    for (const each of this.#unhook.splice(0)) each()
    this.#input?.close()
    this.#resolveBackground()
  }

  /** Discards input meant for this program, and pending reports, which would otherwise reach the shell. */
  #inputDrained(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        callOff()
        callOffLongest()
        stopListening()
        resolve()
      }
      let callOff = this.#timers.after(drain.quietMs, done)
      const callOffLongest = this.#timers.after(drain.longestMs, done)
      const stopListening = this.#terminal.onData(() => {
        callOff()
        callOff = this.#timers.after(drain.quietMs, done)
      })
    })
  }

  /** Releases the terminal immediately: when the process ends or stops, or when another program uses the terminal. */
  #leave(): void {
    if (!this.#hasTerminal) return
    try {
      this.#writeLeave()
    } finally {
      this.#terminal.setRaw(false)
    }
  }

  #writeLeave(): void {
    if (!this.#hasTerminal) return
    this.#callOffFrame?.()
    this.#callOffResize?.()
    this.#callOffFrame = this.#callOffResize = undefined
    if (this.#overlays.length > 0) this.#terminal.write(this.#full.leave())
    // The terminal is restored even if a block cannot be rendered.
    try {
      if (!this.#main.isDrawnFor(sizeOf(this))) this.#write(this.#main.redraw([], sizeOf(this)))
      this.#write(this.#main.draw(this.#pending.splice(0), [], sizeOf(this)))
    } finally {
      this.#hasTerminal = false
      this.#terminal.write(this.#modes.off())
    }
  }

  #takeTerminal(): void {
    if (this.#stopped !== undefined || this.#isLent) return
    this.#writeLeave()
    this.#terminal.setRaw(true)
    this.#hasTerminal = true
    // Other programs may have written to the terminal.
    this.#write(this.#main.forget(sizeOf(this)))
    this.#terminal.write(this.#modes.on() + this.#title)
    if (this.#overlays.length > 0) this.#terminal.write(this.#full.enter())
    this.requestFrame()
  }

  #leaveFullScreen(): void {
    this.#terminal.write(this.#full.leave() + (this.#main.showsCursor ? '\u001B[?25h' : ''))
    if (!this.#main.isDrawnFor(sizeOf(this))) this.#redraw()
  }

  #take(piece: string): void {
    const report = reportOf(piece)
    if (report !== undefined) this.#report(report)
    else if (!isKeyRelease(piece) || piece.startsWith('\u001B[200~')) this.#key(piece)
  }

  #report(report: Report): void {
    const bytes = this.#modes.answered(report)
    if (bytes !== '' && this.#hasTerminal) this.#terminal.write(bytes)
    if (report.type === 'cursor') this.#main.cursorIsIn(report.row)
    if (report.type === 'focus') this.focus = report.hasFocus ? 'here' : 'away'
    if (report.type === 'background') this.#resolveBackground(report.background)
    if (report.type === 'attributes') this.#resolveBackground()
  }

  #key(data: string): void {
    if (!this.#hasTerminal) return
    for (const listener of Array.from(this.#listeners)) {
      if (listener(data)) {
        this.requestFrame()
        return
      }
    }
    const component = this.#overlays.at(-1) ?? this.#focus
    component?.handleInput?.(data)
    this.requestFrame()
  }

  #resized(): void {
    if (!this.#hasTerminal) return
    this.#main.resized(sizeOf(this))
    this.#callOffFrame?.()
    this.#callOffFrame = undefined
    this.#callOffResize?.()
    this.#callOffResize = this.#timers.after(quietMs, () => {
      this.#callOffResize = undefined
      for (const each of [...this.#live, ...this.#overlays]) each.invalidate?.()
      if (this.#overlays.length > 0) this.#redrawFull()
      else if (!this.#main.isDrawnFor(sizeOf(this))) this.#redraw()
      this.requestFrame()
    })
  }

  #redraw(): void {
    this.#write(this.#main.redraw(this.#live, sizeOf(this)))
  }

  #redrawFull(): void {
    this.#full.forget()
    this.#write('\u001B[2J')
  }

  #write(bytes: string): void {
    if (bytes !== '') this.#terminal.write(bytes)
  }

  #frame(): void {
    this.#callOffFrame = undefined
    if (!this.#hasTerminal) return
    this.#lastFrame = this.#timers.now()
    const overlay = this.#overlays.at(-1)
    this.#write(
      overlay === undefined
        ? this.#main.draw(this.#pending.splice(0), this.#live, sizeOf(this))
        : this.#full.draw(overlay, this.columns, this.rows),
    )
  }
}

const bell = '\u0007'

/** The bytes of a notification. Terminals ignore unknown sequences. */
function notificationOf(text: string, channel: NotificationChannel): string {
  const byIterm = `\u001B]9;${text}${bell}`
  switch (channel) {
    case 'auto':
    case 'iterm2_with_bell':
      return bell + byIterm
    case 'terminal_bell':
      return bell
    case 'iterm2':
      return byIterm
    case 'kitty':
      return `\u001B]99;;${text}\u001B\\`
    case 'ghostty':
      return `\u001B]777;notify;halting;${text}${bell}`
    case 'notifications_disabled':
      return ''
  }
}

/** The title on one line, limited to a length that terminals accept. */
function titleOf(text: string): string {
  return plainText(text).replaceAll(/\s+/g, ' ').trim().slice(0, 200)
}

/** Components of the library that show a cursor have this field. */
function setFocused(component: Component, isFocused: boolean): void {
  if ('focused' in component) component.focused = isFocused
}

function sizeOf({ columns, rows }: Size): Size {
  return { columns, rows }
}

/** The alternate screen, for components that fill the terminal: the transcript, a diff. The main screen reappears after it. */
interface FullScreen {
  enter(): string
  leave(): string
  /** The bytes that show the component. */
  draw(component: Component, columns: number, rows: number): string
  /** Call this when the content of the screen is unknown. */
  forget(): void
}

function fullScreen(): FullScreen {
  let shown: readonly string[] = []
  return {
    enter() {
      shown = []
      return '\u001B[?1049h\u001B[2J\u001B[?25l'
    },
    leave: () => '\u001B[?1049l',
    draw(component, columns, rows) {
      const lines = linesAt(component, columns - 1).slice(0, rows)
      const texts = Array.from({ length: rows }, (_, row) => rowText(lines[row] ?? '', columns - 1))
      const changes = texts.map((text, row) =>
        text === (shown[row] ?? '') ? '' : `\u001B[${row + 1};1H\u001B[K${text}`,
      )
      shown = texts
      const bytes = changes.join('')
      return bytes === '' ? '' : `\u001B[?2026h\u001B[?7l${bytes}\u001B[?7h\u001B[?2026l`
    },
    forget() {
      shown = []
    },
  }
}
