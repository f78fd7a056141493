import type { RunEvent } from '@halting/core'
import { printable } from '../io/figures.ts'
import type { Output } from '../io/output.ts'
import { RetainedAnswer } from './retained-answer.ts'

/** Streams the answer of the model to the terminal. */
export interface AnswerStream {
  onEvent(event: RunEvent): void
  /** Whether the text was the last thing written. */
  has(text: string): boolean
}

/** For pipes and files, which receive only the final answer. */
export const noStream: AnswerStream = { onEvent: () => undefined, has: () => false }

export function streamAnswer(output: Output): AnswerStream {
  let lastText = ''
  let block = 0
  const answer = new RetainedAnswer()
  /** The answer that remains the answer of the run unless the model continues; later text waits until then. */
  let retained: string | undefined
  let waiting: { readonly index: number; readonly text: string }[] = []
  const write = (index: number, text: string): void => {
    if (index !== block) output.endLine()
    block = index
    const shown = printable(lastText.trim() === '' ? text.trimStart() : text)
    lastText += text
    if (shown !== '') output.out(shown)
  }
  /** Called when the retained answer is superseded: writes the waiting text. */
  const release = (): void => {
    retained = undefined
    for (const { index, text } of waiting) write(index, text)
    waiting = []
    output.endLine()
  }
  return {
    onEvent(event) {
      const change = answer.onEvent(event)
      if (change === 'begins') retained = lastText
      if (change === 'ends') release()
      switch (event.type) {
        case 'model_start':
          ;[lastText, block, waiting] = ['', 0, []]
          return
        case 'model_update':
          if (event.update.type === 'text_delta') {
            if (retained === undefined) write(event.update.index, event.update.text)
            else waiting.push(event.update)
          }
          // The long input of a call may follow; the live line reports it.
          if (event.update.type === 'block') output.endLine()
          return
        case 'model_end':
          output.endLine()
          return
        default:
      }
    },
    has: (text) => text.trim() !== '' && text.trim() === (retained ?? lastText).trim(),
  }
}
