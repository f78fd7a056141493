import type { RunEvent } from '@halting/core'
import { printable } from '../io/figures.ts'
import type { Output } from '../io/output.ts'

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
  const write = (index: number, text: string): void => {
    if (index !== block) output.endLine()
    block = index
    const shown = printable(written.trim() === '' ? text.trimStart() : text)
    written += text
    if (shown !== '') output.out(shown)
  }
  return {
    onEvent(event) {
      switch (event.type) {
        case 'model_start':
          ;[written, block] = ['', 0]
          return
        case 'model_update':
          if (event.update.type === 'text_delta') write(event.update.index, event.update.text)
          // What comes next may be the long input of a call: the live line tells of it.
          if (event.update.type === 'block') output.endLine()
          return
        case 'model_end':
          output.endLine()
          return
        default:
      }
    },
    has: (text) => text.trim() !== '' && text.trim() === written.trim(),
  }
}
