import type {
  CalibratedFigure,
  CalibratedGroup,
  CalibratedLimit,
  LostRuns,
  RefusedLimit,
} from '../calibration/calibrated-limit.ts'
import type { ShareInterval } from '../calibration/intervals.ts'
import { counted, many, money } from './figures.ts'

// Calibrated limits in words, for the terminal, reports and the page.

/** Names of a limit. */
interface LimitNames {
  /** In words. */
  readonly label: string
  /** As a flag of a run. */
  readonly flag: string
  /** In settings, below `limits`. */
  readonly setting: 'maxRunUsd' | 'maxTokens' | 'maxDuration' | 'maxTurns'
}

/** Names of the limits, by the figure that they limit. */
export const calibratedLimitNames: { readonly [figure in CalibratedFigure]: LimitNames } = {
  usd: { label: 'dollars of a run', flag: '--max-run-usd', setting: 'maxRunUsd' },
  tokens: { label: 'tokens', flag: '--max-tokens', setting: 'maxTokens' },
  activeMs: { label: 'time', flag: '--max-duration', setting: 'maxDuration' },
  turns: { label: 'turns', flag: '--max-turns', setting: 'maxTurns' },
}

/** A limit as flags and settings accept it: a duration is a text with units. */
export function limitValue(figure: CalibratedFigure, limit: number): number | string {
  return figure === 'activeMs' ? unitsOf(limit) : limit
}

/** A limit, or an amount that is saved, in words: `$1.20`, `1,300,000`, `12m`, `41`. */
export function figureText(figure: CalibratedFigure, value: number): string {
  switch (figure) {
    case 'usd':
      return value >= 100 ? `$${counted(value)}` : money(value)
    case 'activeMs':
      return unitsOf(value)
    case 'tokens':
    case 'turns':
      return counted(value)
  }
}

/** `1h10m`, `12m`, `45s`; to the second, or to the minute from ten hours on. */
function unitsOf(ms: number): string {
  const all = Math.round(ms / 1_000)
  const [hours, minutes, seconds] = [Math.floor(all / 3_600), Math.floor(all / 60) % 60, all % 60]
  const parts = [
    ...(hours > 0 ? [`${hours}h`] : []),
    ...(minutes > 0 ? [`${minutes}m`] : []),
    ...(seconds > 0 && hours < 10 ? [`${seconds}s`] : []),
  ]
  return parts.length === 0 ? '0s' : parts.join('')
}

/** A share in percent: `2 %`, `1.6 %`, `0 %`; at least `0.01 %` if it is positive. */
export function shareText(share: number): string {
  const percent = share * 100
  const digits = percent >= 10 ? 0 : percent >= 1 ? 1 : 2
  const text = String(Number(percent.toFixed(digits)))
  return `${percent > 0 && text === '0' ? '0.01' : text} %`
}

/** `0.4–6.1 %`, `31–59 %`. */
export function intervalText({ low, high }: ShareInterval): string {
  const percent = (share: number): string => String(Number((share * 100).toFixed(share < 0.0995 ? 1 : 0)))
  return `${percent(low)}–${percent(high)} %`
}

/** The loss of solved runs: `1 of 64 (1.6 %; 0–8.4 %)`. */
export function lostText({ runs, of, share, interval }: LostRuns): string {
  return `${counted(runs)} of ${counted(of)} (${shareText(share)}; ${intervalText(interval)})`
}

/** The expected loss of future solved runs: `1.5 % (0.1–5.6 %)`. */
export function expectedLossText({ share, interval }: CalibratedLimit['toExpect']): string {
  return `${shareText(share)} (${intervalText(interval)})`
}

/** Why there is no limit on a figure: `too few solved runs: 12, needs 50`. */
export function noLimitText({ why, solved, needed }: Pick<RefusedLimit, 'why' | 'solved' | 'needed'>): string {
  switch (why) {
    case 'few':
      return `too few solved runs: ${counted(solved)} of ${counted(needed)} needed`
    case 'unpriced':
      return `too few solved runs with a price: ${counted(solved)} of ${counted(needed)} needed`
    case 'unused':
      return 'the solved runs used none'
  }
}

/** How many runs of a group are solved, and who graded them: `64 of 103 runs solved: 12 graded by you, 52 guesses`. */
export function solvedText({ runs, solved, ungraded }: CalibratedGroup): string {
  const { all, byPerson, byGoal, guessed } = solved
  const by = [
    ...(byPerson > 0 ? [`${counted(byPerson)} graded by you`] : []),
    ...(byGoal > 0 ? [`${counted(byGoal)} by their goals`] : []),
    ...(guessed > 0 ? [guessed === 1 ? '1 guess' : `${counted(guessed)} guesses`] : []),
  ]
  const unknown = ungraded === 0 ? '' : `; ${counted(ungraded)} ungraded`
  return `${counted(all)} of ${many(runs, 'run')} solved${by.length === 0 ? '' : `: ${by.join(', ')}`}${unknown}`
}

/** A warning if most grades of a group are guesses; '' otherwise. */
export function guessWarning({ solved: { all, guessed } }: Pick<CalibratedGroup, 'solved'>): string {
  if (all === 0 || guessed * 2 <= all) return ''
  const which = guessed === all ? 'All of these grades are' : `${shareText(guessed / all)} of these grades are`
  return `${which} guesses: the run completed, and nobody said otherwise. Wrong answers count as solved then, and limits come out too high. Grade runs with halting grade SESSION good|bad, or give them a goal.`
}

/** A warning that runs of one session resemble each other; '' if sessions have fewer than two solved runs each, on average. */
export function sessionsWarning({ solved: { all, sessions } }: Pick<CalibratedGroup, 'solved'>): string {
  if (all === 0 || all < sessions * 2) return ''
  return `These ${counted(all)} solved runs are of ${many(sessions, 'session')}. Runs of one session resemble each other, so the intervals are too narrow, and a limit may lose more than it says.`
}
