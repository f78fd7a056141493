import { elapsed, many } from '@halting/analysis/words'
import type { CallPart } from '@halting/analysis/view'
import { shownText } from '../common/shown-text.ts'

/** The line that says what a call is: the page and its picture have the same words. */
export interface CallLine {
  readonly name: string
  /** What it was given, in short. */
  readonly given: string
  /** What went wrong with it; '' for nothing. */
  readonly wrong: '' | 'failed' | 'no result recorded'
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
    given: shownText(briefly(input), 160),
    wrong: result === null ? 'no result recorded' : isError ? 'failed' : '',
    facts: facts.join(', '),
  }
}

/** The texts of an input, on one line, without the signs of JSON between them. */
function briefly(input: string): string {
  return input
    .slice(0, 2_000)
    .replaceAll(/[{}[\]"\s]+/g, ' ')
    .replaceAll(/ (?=[:,] )/g, '')
    .trim()
}
