import type { RunEvent } from '@halting/core'
import { printable } from '../io/figures.ts'
import type { Output } from '../io/output.ts'
import { RetainedAnswer } from './retained-answer.ts'

/** What the model writes, on the terminal as it comes. */
export interface AnswerStream {
  onEvent(event: RunEvent): void
  /** Whether the text stands there already, as the last that was written. */
  has(text: string): boolean
}

/** For pipes and files, whose reader wants the answer alone: that is known when the run has ended. */
export const noStream: AnswerStream = { onEvent: () => undefined, has: () => false }

export function streamAnswer(output: Output): AnswerStream {
  let written = ''
  let block = 0
  const answer = new RetainedAnswer()
  /** The answer that stays that of the run while it stands: what the model writes meanwhile waits. */
  let retained: string | undefined
  let waiting: { readonly index: number; readonly text: string }[] = []
  const write = (index: number, text: string): void => {
    if (index !== block) output.endLine()
    block = index
    const shown = printable(written.trim() === '' ? text.trimStart() : text)
    written += text
    if (shown !== '') output.out(shown)
  }
  /** The model went on: what waited is a step, or the answer that comes after it is. */
  const release = (): void => {
    retained = undefined
    for (const { index, text } of waiting) write(index, text)
    waiting = []
    output.endLine()
  }
  return {
    onEvent(event) {
      const change = answer.onEvent(event)
      if (change === 'begins') retained = written
      if (change === 'ends') release()
      switch (event.type) {
        case 'model_start':
          ;[written, block, waiting] = ['', 0, []]
          return
        case 'model_update':
          if (event.update.type === 'text_delta') {
            if (retained === undefined) write(event.update.index, event.update.text)
            else waiting.push(event.update)
          }
          // What comes next may be the long input of a call: the live line tells of it.
          if (event.update.type === 'block') output.endLine()
          return
        case 'model_end':
          output.endLine()
          return
        default:
      }
    },
    has: (text) => text.trim() !== '' && text.trim() === (retained ?? written).trim(),
  }
}
