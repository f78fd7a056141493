import { columnsOf } from '../io/columns.ts'
import { elapsed, many, money, oneLine, timeLeft } from '../io/figures.ts'
import type { LoopEnd, LoopRound } from './loop-end.ts'
import type { LoopView } from './prompt-loop.ts'

/** The beginning of the error for a loop without a bound; the possible bounds follow. */
export const needsBound = 'A loop needs a bound'

/** `10 min`, `1 h 30 min`, `5 s` */
export function durationText(ms: number): string {
  return elapsed(ms)
    .replace(/\.0 s$/, ' s')
    .replace(/ 0 s$/, '')
}

/** `round 3 of 10` */
export function roundName(round: number, rounds: number | undefined): string {
  return rounds === undefined ? `round ${round}` : `round ${round} of ${rounds}`
}

/** `round 3 of 10 · goal_unmet · $0.12 · next at 14:20`; `next`: what happens next, '' for nothing. */
export function roundLine(
  { round, reason, costUsd, goalMet }: LoopRound,
  { rounds, next }: { readonly rounds: number | undefined; readonly next: string },
): string {
  const goal = goalMet === undefined ? '' : goalMet === true ? 'goal met' : 'goal not met'
  return joined([roundName(round, rounds), reason, reason === 'goal_unmet' ? '' : goal, money(costUsd), next])
}

/** `loop: The goal is met · 3 rounds · $0.36` */
export function endLine({ message }: LoopEnd, rounds: readonly LoopRound[]): string {
  const usd = rounds.reduce((sum, { costUsd }) => sum + costUsd, 0)
  return joined([`loop: ${message}`, many(rounds.length, 'round'), money(usd)])
}

/** `loop: round 4 of 10 in 9:12` */
export function viewText({ phase, round, leftMs }: LoopView, rounds: number | undefined, columns: number): string {
  const texts = {
    waiting:
      leftMs > 0 ? `${roundName(round + 1, rounds)} in ${timeLeft(leftMs)}` : `${roundName(round + 1, rounds)} next`,
    round: roundName(round, rounds),
    paused: `paused after ${roundName(round, rounds)}, /loop on continues it`,
    ended: '',
  }
  const text = texts[phase] === '' ? '' : `loop: ${texts[phase]}`
  return columnsOf(text) <= columns ? text : oneLine(text, columns)
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(' · ')
}
