import { columnsOf } from './columns.ts'

/** What stands on the terminal: the line that is being written, or the live line. */
export interface Screen {
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
export function createScreen(stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream): Screen {
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
