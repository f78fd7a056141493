import type { RunEvent } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { stopwatch } from '../../io/figures.ts'
import type { Style } from '../../io/style.ts'
import { countdownText, toolWaitIn } from '../../frontends/wait-text.ts'
import { foldedLines } from './lines.ts'
import { headLines } from './tool-block.ts'
import { toolTitle, type ToolTitle } from './tool-title.ts'

/** Running calls of the main loop, with the end of their output (spec R-TERM-22). */
export interface RunningTools {
  onEvent(event: RunEvent): void
  /** Called when the call has its result. A replayed record may have no end event. */
  onResult(callId: string): void
  lines(width: number, style: Style): readonly string[]
}

interface Running {
  readonly title: ToolTitle
  readonly since: number
  tail: string
  /** What the call waits for, and until when on the clock of this view. */
  wait?: { readonly what: string; readonly untilMs: number }
}

const maxShown = 4
const maxTailLines = 3

export function followTools(now: () => number, cwd: string): RunningTools {
  const running = new Map<string, Running>()
  return {
    onEvent(event) {
      switch (event.type) {
        case 'tool_start':
          running.set(event.callId, { title: toolTitle(event.name, event.input, cwd), since: now(), tail: '' })
          return
        case 'tool_update': {
          const call = running.get(event.callId)
          if (call === undefined) return
          if (isJsonObject(event.data) && typeof event.data['tail'] === 'string') call.tail = event.data['tail']
          const wait = toolWaitIn(event.data)
          if (wait !== undefined) call.wait = { what: wait.what, untilMs: now() + wait.leftMs }
          return
        }
        case 'tool_end':
          running.delete(event.callId)
          return
        case 'run_end':
          running.clear()
          return
        default:
      }
    },
    onResult: (callId) => void running.delete(callId),
    lines(width, style) {
      const calls = [...running.values()]
      const shown = calls
        .slice(0, maxShown)
        .flatMap(({ title, since, tail, wait }) => [
          ...headLines(title, stopwatch(now() - since), style.dim('⏺'), width, style),
          ...waitLines(wait, now(), width).map(style.dim),
          ...tailLines(tail, width).map(style.dim),
        ])
      const more = calls.length - maxShown
      return more > 0 ? [...shown, style.dim(`  and ${more} more`)] : shown
    },
  }
}

/** A countdown: `waiting for bash_1 to end, 9:48 left`. */
function waitLines(wait: Running['wait'], now: number, width: number): readonly string[] {
  if (wait === undefined) return []
  return foldedLines(countdownText(wait.what, wait.untilMs - now), width - 2).map((line) => `  ${line}`)
}

function tailLines(tail: string, width: number): readonly string[] {
  if (tail.trim() === '') return []
  return foldedLines(tail.trimEnd(), width - 2)
    .slice(-maxTailLines)
    .map((line) => `  ${line}`)
}
