import type { StatusLineCommand, StatusLineSize } from '@halting/agent/hooks'
import type { SessionEvent } from '@halting/core/session'
import type { JsonObject } from '@halting/core'
import { oneLine } from '../../io/figures.ts'
import { rowText } from '../screen/row.ts'
import { stripToColours } from '../screen/strip.ts'
import { withoutTimes } from './input.ts'

interface Options {
  readonly command: Pick<StatusLineCommand, 'run' | 'end'>
  readonly padding?: number
  /** Milliseconds after which the command runs again without a change. */
  readonly refreshMs?: number
  readonly input: () => JsonObject
  readonly size: () => StatusLineSize
  /** Called when displayed data has changed. */
  readonly changed: () => void
  readonly note: (text: string) => void
}

/** The output of a status line command for a session. */
export interface StatusLine {
  /** Whether the command printed something. */
  readonly isShown: boolean
  /** Lines of at most `width` columns; none if it printed nothing, or failed. */
  render(width: number): readonly string[]
  onEvent(event: SessionEvent): void
  close(): Promise<void>
}

/** Minimum interval between runs, in milliseconds. */
const everyMs = 300
const maxLines = 3
/** Minimum number of terminal rows for several lines; smaller terminals show one line. */
const rowsForAll = 16

export function createStatusLine(options: Options): StatusLine {
  const { command, padding = 0, refreshMs, size, changed, note } = options
  let lines: readonly string[] = []
  let before = ''
  let isDue = true
  let hasReported = false
  let drawnWidth = 0

  async function run(): Promise<void> {
    const input = options.input()
    const now = `${withoutTimes(input)}${JSON.stringify(size())}`
    if (now === before && !isDue) return
    ;[before, isDue] = [now, false]
    const result = await command.run(input, size())
    if (result.kind === 'ended') return
    if (result.kind === 'failed') reportFailure(result.why)
    const next = result.kind === 'printed' ? linesOf(result.text) : []
    if (next.join('\n') === lines.join('\n')) return
    lines = next
    changed()
  }
  /** Reports a failure once per session, because the command would fail again with each change. */
  function reportFailure(why: string): void {
    if (hasReported) return
    hasReported = true
    note(`The statusLine command failed (${oneLine(why, 300)}). Showing the default line.`)
  }
  const pace = createPace({ work: run, everyMs })
  const due = (): void => {
    isDue = true
    pace.ask()
  }
  const refreshing = refreshMs === undefined ? undefined : setInterval(due, refreshMs).unref()
  pace.ask()
  return {
    get isShown() {
      return lines.length > 0
    },
    render(width) {
      if (width !== drawnWidth) {
        drawnWidth = width
        pace.ask()
      }
      const room = ' '.repeat(1 + Math.min(padding, Math.floor(width / 4)))
      return lines.slice(0, size().rows < rowsForAll ? 1 : maxLines).map((line) => rowText(room + line, width))
    },
    onEvent({ type }) {
      if (type !== 'message') pace.ask()
    },
    async close() {
      pace.stop()
      clearInterval(refreshing)
      await command.end()
    },
  }
}

/** The first visible lines, with colours as the only sequences. */
function linesOf(text: string): readonly string[] {
  const shown = stripToColours(text)
    .split('\n')
    .map((line) => line.trimEnd())
  // oxlint-disable-next-line no-control-regex -- colours alone show nothing
  return shown.filter((line) => line.replaceAll(/\u001B\[[\d;:]*m/g, '').trim() !== '').slice(0, maxLines)
}

interface PaceOptions {
  /** Does the work once. Rejections are ignored. */
  readonly work: () => Promise<void>
  /** Minimum interval between starts, in milliseconds. */
  readonly everyMs: number
}

/** Limits how often work is done. */
export interface Pace {
  /** Requests the work. Requests while the work is running are combined into one. */
  ask(): void
  /** Starts no more work. */
  stop(): void
}

/** Runs the work one at a time, and starts it at most once per `everyMs` (spec R-LIM-42). */
export function createPace({ work, everyMs }: PaceOptions): Pace {
  let timer: NodeJS.Timeout | undefined
  let [isWorking, isAsked, isStopped] = [false, false, false]
  let nextAt = -Infinity

  function begin(): void {
    timer = undefined
    isAsked = false
    isWorking = true
    nextAt = performance.now() + everyMs
    void work()
      .catch(() => undefined)
      .finally(() => {
        isWorking = false
        if (isAsked) plan()
      })
  }
  function plan(): void {
    if (isStopped || isWorking || timer !== undefined) return
    timer = setTimeout(begin, Math.max(0, Math.ceil(nextAt - performance.now())))
  }
  return {
    ask() {
      isAsked = true
      plan()
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
