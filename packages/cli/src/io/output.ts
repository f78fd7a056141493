import { sanitizeTerminalText } from './sanitize-terminal-text.ts'
import { wrapLines } from './page.ts'
import { columnsOf } from './columns.ts'

/** The two output streams of the program. */
export interface Output {
  /** Whether stdout and stderr are terminals. */
  readonly isTerminal: { readonly stdout: boolean; readonly stderr: boolean }
  /** Columns of the terminal; 100 without one. */
  readonly width: number
  /** Whether the line of the cursor on the terminal has text in it. */
  readonly isLineTaken: boolean
  /** Why stdout no longer accepts output: its reader left, or it failed (for example, a full disk). Later output is dropped. */
  readonly broken: 'reader gone' | 'failed' | undefined
  /** Calls the listener once, when stdout breaks. */
  onBroken(listener: () => void): void
  /** Passes all further output through `redact`, so that the program's own keys are never shown. */
  redactWith(redact: (text: string) => string): void
  out(text: string): void
  err(text: string): void
  /**
   * Shows a line of at most `width - 1` columns on the terminal of stderr, in place of the previous live line; '' removes it. The line is removed before
   * any other output. It is not shown without a terminal, or while another line is incomplete.
   */
  showLive(line: string): void
  /**
   * Declares that all required output is written. Once it has left the program, a reader that closes the pipe is not a
   * failure, and later output is dropped.
   */
  allowReaderToLeave(): void
  /** Ends the line that stdout has left incomplete on the terminal. */
  endLine(): void
  /** Resolves when all output has left the program. */
  flush(): Promise<void>
}

export function createOutput(stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream): Output {
  const listeners: (() => void)[] = []
  const screen = createLiveLineScreen(stdout, stderr)
  let broken: Output['broken']
  let mayLeave = false
  let hasLeft = false
  let redact = (text: string): string => text
  const err = (given: string): void => {
    const text = redact(given)
    // Sanitized even if stderr is not a terminal, because its text is usually displayed on one later.
    const shown = sanitizedFor(stderr, stderr.isTTY ? wrapMessages(text, screen.width) : text)
    screen.before(stderr, shown)
    stderr.write(shown)
  }
  stdout.on('error', (error) => {
    if (broken !== undefined || hasLeft) return
    const isGone = 'code' in error && error.code === 'EPIPE'
    hasLeft = isGone && mayLeave
    if (hasLeft) return
    broken = isGone ? 'reader gone' : 'failed'
    if (!isGone) err(`halting: stdout cannot be written: ${error.message}\n`)
    for (const listener of listeners.splice(0)) listener()
  })
  // There is no other stream to report the error to.
  stderr.on('error', () => undefined)
  return {
    isTerminal: { stdout: stdout.isTTY, stderr: stderr.isTTY },
    get width() {
      return screen.width
    },
    get isLineTaken() {
      return screen.isLineTaken
    },
    get broken() {
      return broken
    },
    onBroken(listener) {
      if (broken === undefined) listeners.push(listener)
      else listener()
    },
    redactWith(by) {
      redact = by
    },
    out(given) {
      if (broken !== undefined || hasLeft) return
      const text = redact(given)
      // Output to a program or a file is written unchanged.
      const shown = stdout.isTTY ? sanitizedFor(stdout, text) : text
      screen.before(stdout, shown)
      stdout.write(shown)
    },
    err,
    showLive: (line) => screen.showLive(sanitizedFor(stderr, redact(line))),
    allowReaderToLeave() {
      // The reader may leave before the next write, so output that left immediately is noted immediately.
      if (stdout.writableLength === 0) mayLeave ||= stdout.errored === null
      else
        stdout.write('', (error) => {
          mayLeave ||= !error
        })
    },
    endLine() {
      if (broken === undefined && screen.isWithinLine) this.out('\n')
    },
    async flush() {
      await Promise.all([flushed(stdout), flushed(stderr)])
    },
  }
}

/** Wraps messages of the program to the terminal; lines that a message lists below itself stay unchanged. */
function wrapMessages(text: string, width: number): string {
  return text.replaceAll(/^halting: .*$/gm, (line) => wrapLines(line, width))
}

/** The exit code after stdout broke: that of SIGPIPE if the reader left, else 1. */
export function brokenExitCode(broken: NonNullable<Output['broken']>): number {
  return broken === 'reader gone' ? 141 : 1
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  // A failed stream never drains; its error event follows the callback.
  return new Promise((resolve) => {
    if (stream.destroyed) setImmediate(resolve)
    else stream.write('', () => setImmediate(resolve))
  })
}

/** The last line of the terminal: an incomplete line of output, or the live line. */
interface LiveLineScreen {
  readonly width: number
  /** Whether the line of the cursor has text: the live line, or incomplete output. */
  readonly isLineTaken: boolean
  /** Whether the last output ended without a line feed. */
  readonly isWithinLine: boolean
  /** Call before writing to a stream: removes the live line, and ends the line that another stream left incomplete. */
  before(stream: NodeJS.WriteStream, text: string): void
  showLive(line: string): void
}

/**
 * S1: the live line is written to stderr, and only on a terminal that can erase lines.
 * S2: it is removed before any other output, even if it wraps to several rows after the terminal became narrower.
 * S3: it is never appended to an incomplete line.
 */
function createLiveLineScreen(stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream): LiveLineScreen {
  const canErase = stderr.isTTY && process.env['TERM'] !== 'dumb'
  let live = ''
  /** The stream whose last line is incomplete. */
  let writing: NodeJS.WriteStream | undefined
  const width = (): number => [stdout.columns, stderr.columns].find((columns) => columns > 0) ?? 100
  const erasure = (): string => {
    const rows = Math.ceil(columnsOf(live) / width())
    return `\r\u001B[2K${'\u001B[1A\u001B[2K'.repeat(Math.max(0, rows - 1))}`
  }
  const showLive = (line: string): void => {
    if (!canErase || writing !== undefined || line === live) return
    stderr.write(`${live === '' ? '' : erasure()}${line}`)
    live = line
  }
  // Registered so that the live line is also removed if the program exits at once.
  if (canErase) process.once('exit', () => showLive(''))
  return {
    get width() {
      return width()
    },
    get isLineTaken() {
      return live !== '' || writing !== undefined
    },
    get isWithinLine() {
      return writing !== undefined
    },
    before(stream, text) {
      if (!stream.isTTY || text === '') return
      showLive('')
      if (writing !== undefined && writing !== stream) writing.write('\n')
      writing = text.endsWith('\n') ? undefined : stream
    },
    showLive,
  }
}

function sanitizedFor(stream: NodeJS.WriteStream, text: string): string {
  const isColoured = (process.env['NO_COLOR'] ?? '') === '' && process.env['TERM'] !== 'dumb'
  return sanitizeTerminalText(text, { styled: stream.isTTY && isColoured })
}
