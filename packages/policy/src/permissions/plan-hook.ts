import type { Hook } from '@halting/core'
import {
  earlierPlanModeOff,
  earlierPlanModeOn,
  planModeOff,
  planModeOn,
  planModeWords,
  type PlanWords,
} from './plan-texts.ts'

/** Tells the model at the start of a run that it is in plan mode, once, and in a later run that it is not any more. */
export function planModeHook(mode: () => string, words: PlanWords): Hook {
  return {
    id: 'halting:plan-mode',
    triggers: ['beforeExecution'],
    handle(context) {
      const said = context
        .state()
        .messages()
        .findLast(({ role, content }) => role === 'user' && markIn(content) !== undefined)
      const isTold = said !== undefined && markIn(said.content) === true
      const isOn = mode() === 'plan'
      if (isOn === isTold) return undefined
      const text = isOn ? `${planModeOn}\n\n${planModeWords(words)}` : planModeOff
      return context.withMessageBeforePrompt(text)
    },
  }
}

/** Whether the last mark of a message says that plan mode is on; undefined where it has none. */
function markIn(content: unknown): boolean | undefined {
  const text = JSON.stringify(content)
  const last = (...marks: readonly string[]): number => Math.max(...marks.map((mark) => text.lastIndexOf(mark)))
  const [on, off] = [last(planModeOn, earlierPlanModeOn), last(planModeOff, earlierPlanModeOff)]
  return on < 0 && off < 0 ? undefined : on > off
}
