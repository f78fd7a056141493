import { Terminal } from '@xterm/headless'
import type { ProcessGuard, TerminalPort, Timers } from '../../src/terminal/screen/terminal-port.ts'

/** A terminal in memory: what a person would see, and what they type. */
export interface VirtualTerminal extends TerminalPort {
  /** Input that a person types, or the terminal sends. */
  type(data: string): void
  resize(columns: number, rows: number): void
  /** Resolves when everything written has arrived. */
  arrived(): Promise<void>
  /** The visible lines, without trailing spaces. */
  rowsShown(): readonly string[]
  /** The same as one text, without the empty lines at its end. */
  shown(): string
  /** All lines, including the scrollback, oldest first. */
  all(): readonly string[]
  /** Resolves when the text is visible. @throws after ten seconds, with the visible text. */
  waitFor(text: string | RegExp): Promise<void>
  /** Resolves when the text is in any line, even in the scrollback. */
  holds(text: string | RegExp): Promise<void>
  cursor(): { readonly row: number; readonly column: number }
  /** All bytes that were written. */
  readonly written: string
  readonly isRaw: boolean
  readonly isFullScreen: boolean
  /** Modes that are on, such as `bracketedPaste`. */
  readonly modes: {
    readonly bracketedPaste: boolean
    readonly focus: boolean
    readonly wrap: boolean
    readonly cursor: boolean
  }
  /** Handlers that the program registered for the end or stop of the process. */
  readonly processGuard: ProcessGuard | undefined
}

export interface VirtualTerminalOptions {
  readonly columns?: number
  readonly rows?: number
  readonly scrollback?: number
}

export function virtualTerminal({
  columns = 80,
  rows = 24,
  scrollback = 50_000,
}: VirtualTerminalOptions = {}): VirtualTerminal {
  const xterm = new Terminal({ cols: columns, rows, scrollback, allowProposedApi: true })
  const dataListeners = new Set<(data: string) => void>()
  const resizeListeners = new Set<() => void>()
  let written = ''
  let isRaw = false
  let processGuard: ProcessGuard | undefined
  const type = (data: string): void => {
    for (const listener of Array.from(dataListeners)) listener(data)
  }
  // The terminal answers queries.
  xterm.onData(type)
  const readLines = (first: number): readonly string[] => {
    const { active } = xterm.buffer
    return Array.from(
      { length: active.length - first },
      (_, at) => active.getLine(first + at)?.translateToString(true) ?? '',
    )
  }
  const rowsShown = (): readonly string[] => readLines(xterm.buffer.active.baseY)
  const arrived = (): Promise<void> => new Promise((resolve) => xterm.write('', resolve))
  const waitForText = async (text: string | RegExp, where: () => string): Promise<void> => {
    const deadline = performance.now() + 10_000
    const isThere = (): boolean => (typeof text === 'string' ? where().includes(text) : text.test(where()))
    for (await arrived(); !isThere(); await arrived()) {
      if (performance.now() > deadline) throw new Error(`${String(text)} is not there. There is:\n${where()}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  const shown = (): string => rowsShown().join('\n').trimEnd()
  return {
    get columns() {
      return xterm.cols
    },
    get rows() {
      return xterm.rows
    },
    reflow: 'xterm.js',
    get written() {
      return written
    },
    get isRaw() {
      return isRaw
    },
    get isFullScreen() {
      return xterm.buffer.active.type === 'alternate'
    },
    get modes() {
      const { bracketedPasteMode, sendFocusMode, wraparoundMode } = xterm.modes
      const cursor = written.lastIndexOf('\u001B[?25h') >= written.lastIndexOf('\u001B[?25l')
      return { bracketedPaste: bracketedPasteMode, focus: sendFocusMode, wrap: wraparoundMode, cursor }
    },
    get processGuard() {
      return processGuard
    },
    write(data) {
      written += data
      xterm.write(data)
    },
    onData(listener) {
      dataListeners.add(listener)
      return () => dataListeners.delete(listener)
    },
    onResize(listener) {
      resizeListeners.add(listener)
      return () => resizeListeners.delete(listener)
    },
    setRaw(on) {
      isRaw = on
    },
    guard(guard) {
      processGuard = guard
      return () => (processGuard = undefined)
    },
    suspend() {
      processGuard?.leave()
    },
    type,
    resize(newColumns, newRows) {
      xterm.resize(newColumns, newRows)
      for (const listener of Array.from(resizeListeners)) listener()
    },
    arrived,
    rowsShown,
    shown,
    all: () => readLines(0),
    waitFor: (text) => waitForText(text, shown),
    holds: (text) => waitForText(text, () => readLines(0).join('\n')),
    cursor: () => ({ row: xterm.buffer.active.cursorY, column: xterm.buffer.active.cursorX }),
  }
}

export interface ManualTimers extends Timers {
  /** Advances the clock, and calls due timers in order. */
  pass(ms: number): void
}

/** A clock that advances only when the test says so. */
export function manualTimers(): ManualTimers {
  let time = 0
  let due: { at: number; call: () => void }[] = []
  return {
    now: () => time,
    after(ms, call) {
      const entry = { at: time + ms, call }
      due.push(entry)
      return () => (due = due.filter((each) => each !== entry))
    },
    pass(ms) {
      const end = time + ms
      for (;;) {
        const next = due.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0]
        if (next === undefined) break
        due = due.filter((each) => each !== next)
        time = Math.max(time, next.at)
        next.call()
      }
      time = end
    },
  }
}
