import { inert } from './inert.ts'
import { fittedLines } from './page.ts'
import { columnsOf } from './columns.ts'

/** The two streams of the program, and what becomes of them when nobody reads. */
export interface Output {
  /** Whether stdout and stderr are a terminal. */
  readonly isTerminal: { readonly stdout: boolean; readonly stderr: boolean }
  /** Columns of the terminal; 100 where there is none. */
  readonly width: number
  /** Whether something stands on the line of the terminal that the cursor is in. */
  readonly isLineTaken: boolean
  /** Why stdout takes nothing any more: its reader has gone, or it failed (a full disk). What is written then is dropped. */
  readonly broken: 'reader gone' | 'failed' | undefined
  /** Calls once, when stdout breaks. */
  onBroken(listener: () => void): void
  /** From now on what is written goes through `redact` first: keys of the program itself are shown to nobody. */
  redactWith(redact: (text: string) => string): void
  out(text: string): void
  err(text: string): void
  /**
   * Puts a line of at most `width - 1` columns on the terminal of stderr, in place of the one that stands there; '' for none. It goes before anything
   * else is written. It is left out where there is no terminal, and while something else is in the middle of a line.
   */
  showLive(line: string): void
  /** What was promised is written. Once it has left the program, a reader that goes breaks nothing: what is written then is dropped. */
  allowReaderToLeave(): void
  /** Ends the line on the terminal that stdout is in the middle of. */
  endLine(): void
  /** Resolves when all that was written has left the program. */
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
    // Whoever reads stderr reads it on a terminal, sooner or later.
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
  // There is nobody left to tell.
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
      // What goes to a program or a file is what it is.
      const shown = stdout.isTTY ? sanitizedFor(stdout, text) : text
      screen.before(stdout, shown)
      stdout.write(shown)
    },
    err,
    showLive: (line) => screen.showLive(sanitizedFor(stderr, redact(line))),
    allowReaderToLeave() {
      // A reader may be gone before a next write: what left at once is known at once.
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

/** Messages of the program in lines of the terminal; what a message lists below itself stays as it is. */
function wrapMessages(text: string, width: number): string {
  return text.replaceAll(/^halting: .*$/gm, (line) => fittedLines(line, width))
}

/** The exit code of a program whose stdout broke: what SIGPIPE would give, or a failure. */
export function brokenExitCode(broken: NonNullable<Output['broken']>): number {
  return broken === 'reader gone' ? 141 : 1
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  // A stream that failed is as empty as it will get; its error comes a moment after its callback.
  return new Promise((resolve) => {
    if (stream.destroyed) setImmediate(resolve)
    else stream.write('', () => setImmediate(resolve))
  })
}

/** What stands on the terminal: the line that is being written, or the live line. */
interface LiveLineScreen {
  readonly width: number
  /** Something stands on the line that the cursor is in: the live line, or what is being written. */
  readonly isLineTaken: boolean
  /** What was written ended without a line feed. */
  readonly isWithinLine: boolean
  /** To be called before a text is written to a stream: the live line goes, and what another stream is in the middle of ends. */
  before(stream: NodeJS.WriteStream, text: string): void
  showLive(line: string): void
}

/**
 * S1: the live line is on stderr, and there only on a terminal that can erase a line.
 * S2: it is gone before anything else is written, also when it takes several rows since the terminal was made narrower.
 * S3: it never stands behind a line that is not ended.
 */
function createLiveLineScreen(stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream): LiveLineScreen {
  const canErase = stderr.isTTY && process.env['TERM'] !== 'dumb'
  let live = ''
  /** The stream that is in the middle of a line. */
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
  // Also when the program leaves at once.
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
  return inert(text, { styled: stream.isTTY && isColoured })
}
