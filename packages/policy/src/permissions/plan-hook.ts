import type { Hook } from '@halting/core'
import { planModeWords, type PlanWords } from './plan-words.ts'

const begins = 'Plan mode is on (told by halting, not by the user).'
const ends =
  'Plan mode is over (told by halting, not by the user). Changes are allowed again, as far as the rules of the session allow them.'

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
      const isTold = said !== undefined && markIn(said.content) === begins
      const isOn = mode() === 'plan'
      if (isOn === isTold) return undefined
      const text = isOn ? `${begins}\n\n${planModeWords(words)}` : ends
      return context.withMessageBeforePrompt(text)
    },
  }
}

/** The last of both that a message holds. */
function markIn(content: unknown): string | undefined {
  const text = JSON.stringify(content)
  const [on, over] = [text.lastIndexOf(begins), text.lastIndexOf(ends)]
  if (on < 0 && over < 0) return undefined
  return on > over ? begins : ends
}
