import type { SuggestedLimit } from '@halting/analysis'
import { many, visible, spentText, verdictText } from '@halting/analysis/words'
import type { PastRun, StoppedRun } from './folder.ts'
import { limitNames, limitWords, lostText, type LimitName } from './limits.ts'

// Texts of the what-if view over all sessions, shared by the page and its picture.

export function nothingSuggested(runs: number): string {
  return `No limit would have saved anything in ${many(runs, 'run')} without losing something.`
}

/** A limit without losses, and its effect. */
export function suggestedText({ limits, saved, stops }: SuggestedLimit): {
  readonly limit: string
  readonly effect: string
} {
  return { limit: limitText(limits), effect: `stops ${many(stops, 'run')}, saves ${spentText(saved)}` }
}

function limitText(limits: SuggestedLimit['limits']): string {
  if (limits.noProgress === true) return 'No progress (--no-progress)'
  return limitNames
    .flatMap((name) => {
      const value = limits[name]
      return typeof value === 'number' ? [`${limitWords[name].label} ${limitWords[name].format(value)}`] : []
    })
    .join(', ')
}

export function stoppedTitle(name: LimitName, value: number, runs: number): string {
  return `${limitWords[name].label} ${limitWords[name].format(value)}: stops ${many(runs, 'run')}`
}

export function runName({ title, key }: PastRun): string {
  return visible(title === '' ? key : title)
}

/** The effect of a limit on one run. */
export function stoppedText({ run, answer }: StoppedRun): string {
  return `run ${run.run}: ${verdictText(answer, run.unpriced)} Saves ${spentText(answer.saved)}; loses ${lostText(answer.lost)}.`
}
