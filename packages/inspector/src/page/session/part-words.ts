import { elapsed, many } from '@halting/analysis/words'
import type { CallPart } from '@halting/analysis/view'
import { shownText } from '../common/shown-text.ts'

/** The summary line of a call, shared by the page and its picture. */
export interface CallLine {
  readonly name: string
  /** A short form of its input. */
  readonly input: string
  /** The failure; '' for none. */
  readonly failure: '' | 'failed' | 'no result recorded'
  readonly facts: string
}

export function callLine({ name, input, result, isError, durationMs, changes, agent }: CallPart): CallLine {
  const facts = [
    ...(durationMs === null ? [] : [elapsed(durationMs)]),
    ...(changes.length === 0 ? [] : [many(changes.filter((line) => /^[+-]/.test(line)).length, 'changed line')]),
    ...(agent.length === 0 ? [] : [many(agent.length, 'part')]),
  ]
  return {
    name: shownText(name, 100),
    input: shownText(inputSummaryOf(input), 160),
    failure: result === null ? 'no result recorded' : isError ? 'failed' : '',
    facts: facts.join(', '),
  }
}

/** The texts of a JSON input on one line, without the punctuation. */
function inputSummaryOf(input: string): string {
  return input
    .slice(0, 2_000)
    .replaceAll(/[{}[\]"\s]+/g, ' ')
    .replaceAll(/ (?=[:,] )/g, '')
    .trim()
}
