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
  /** Milliseconds after which it is run again although nothing changed. */
  readonly refreshMs?: number
  readonly input: () => JsonObject
  readonly size: () => StatusLineSize
  /** What is shown is another. */
  readonly changed: () => void
  readonly note: (text: string) => void
}

/** What the command of a person prints about a session, while that is shown. */
export interface StatusLine {
  /** The command printed something. */
  readonly isShown: boolean
  /** In lines of at most so many columns; none where it printed nothing, or failed. */
  render(width: number): readonly string[]
  onEvent(event: SessionEvent): void
  close(): Promise<void>
}

/** Milliseconds from one run to the next, at least. */
const everyMs = 300
const mostLines = 3
/** Where the terminal has fewer rows, one line is shown. */
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
    const ran = await command.run(input, size())
    if (ran.kind === 'ended') return
    if (ran.kind === 'failed') reportFailure(ran.why)
    const next = ran.kind === 'printed' ? linesOf(ran.text) : []
    if (next.join('\n') === lines.join('\n')) return
    lines = next
    changed()
  }
  /** Once in a session: a command that fails fails again with the next change. */
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
      return lines.slice(0, size().rows < rowsForAll ? 1 : mostLines).map((line) => rowText(room + line, width))
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

/** The first lines that show something; of sequences only colours are left. */
function linesOf(text: string): readonly string[] {
  const shown = stripToColours(text)
    .split('\n')
    .map((line) => line.trimEnd())
  // oxlint-disable-next-line no-control-regex -- colours alone show nothing
  return shown.filter((line) => line.replaceAll(/\u001B\[[\d;:]*m/g, '').trim() !== '').slice(0, mostLines)
}

interface PaceOptions {
  /** Does it once. What it rejects with is its own affair. */
  readonly work: () => Promise<void>
  /** Milliseconds from one start to the next, at least. */
  readonly everyMs: number
}

/** Work that is asked for more often than it may be done. */
export interface Pace {
  /** Has it done soon. What is asked for meanwhile is done once, with what stands then. */
  ask(): void
  /** Nothing begins any more. */
  stop(): void
}

/** Does one at a time, and begins none sooner than `everyMs` after the one before (spec R-LIM-42). */
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
