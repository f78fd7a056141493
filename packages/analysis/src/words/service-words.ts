import type { AccountedEnding } from '../account/account.ts'
import type {
  OpenServiceWait,
  RecordedServiceWait,
  ServiceRefusal,
  ServiceWaitEnd,
  ServiceWaitFigures,
} from '../account/service-waits.ts'
import { localTime } from '../what-if/standing-limits.ts'
import { minuteText } from './budget-words.ts'
import type { LimitPauseFigures, OpenLimitPause, RecordedLimitPause } from '../account/limit-pauses.ts'
import { counted, elapsed, limitLabels, many, moneyAtMost } from './figures.ts'

// Waits for services in words, for the terminal, exports, reports and the page.

/** A time in milliseconds since 1970, to the minute in the time zone of this machine: `2026-11-29 14:05`. */
export function localMinute(ms: number): string {
  return minuteText(localTime(ms))
}

/** The model that refused, and how: `claude-x (429 rate_limit)`. */
export function refusalText({ model, kind, status }: Pick<ServiceRefusal, 'model' | 'kind' | 'status'>): string {
  const how = [...(status === null ? [] : [String(status)]), ...(kind === '' ? [] : [kind])].join(' ')
  const name = model === '' ? 'the service' : model
  return how === '' ? name : `${name} (${how})`
}

const endTexts = {
  over: '',
  retried: ', until a retry was requested',
  model: ', until another model was chosen',
  stopped: ', until the run was stopped',
  aborted: ', until the run was aborted',
} as const satisfies { readonly [outcome in ServiceWaitEnd]: string }

/** A wait that has ended: `Waited 1 h for claude-x (429 rate_limit)`. */
export function serviceWaitText({ waitedMs, outcome, ...refusal }: RecordedServiceWait): string {
  return `Waited ${elapsed(waitedMs)} for ${refusalText(refusal)}${endTexts[outcome]}`
}

/** `once`, `twice`, `3 times`. */
function timesText(count: number): string {
  return count === 1 ? 'once' : count === 2 ? 'twice' : `${counted(count)} times`
}

const earlyEndTexts = {
  retried: 'a requested retry',
  model: 'a model change',
  stopped: 'a stop request',
  aborted: 'an abort',
} as const satisfies { readonly [outcome in Exclude<ServiceWaitEnd, 'over'>]: string }

/** The number of causes that are named. */
const maxCauses = 5

/** The waits of a run for services, a sentence each; empty for a run that never waited. */
export function serviceWaitFacts(figures: ServiceWaitFigures | undefined): readonly string[] {
  if (figures === undefined || figures.waits === 0) return []
  const { waits, ms, maxMs, causes, ends } = figures
  const [first] = causes
  const isOne = causes.length === 1 && first !== undefined
  const whom = isOne ? ` ${refusalText(first)}` : ' services'
  const early = (['retried', 'model', 'stopped', 'aborted'] as const).filter((end) => ends[end] > 0)
  return [
    `Waited ${elapsed(ms)}${maxMs === null ? '' : ` of at most ${elapsed(maxMs)}`} for${whom}, ${timesText(waits)}. This does not count as active time.`,
    ...(isOne
      ? []
      : causes
          .slice(0, maxCauses)
          .map((cause) => `${refusalText(cause)}: ${elapsed(cause.ms)}, ${timesText(cause.waits)}.`)),
    ...(causes.length > maxCauses ? [`${counted(causes.length - maxCauses)} more causes.`] : []),
    ...early.map((end) => `Ended early by ${earlyEndTexts[end]}: ${timesText(ends[end])}.`),
  ]
}

/** An open wait, with the message of the service: `Waiting for claude-x (429 rate_limit) until 2026-11-29 14:05: too many requests.` */
export function openWaitText({ untilMs, message, ...refusal }: OpenServiceWait, now: number): string {
  const details = message === '' ? '' : `: ${message.replace(/[.\s]+$/, '')}`
  const past = untilMs <= now ? ' (already past)' : `, for ${elapsed(untilMs - now)} more`
  return `Waiting for ${refusalText(refusal)} until ${localMinute(untilMs)}${past}${details}.`
}

/** When the service that ended a run accepts requests again; undefined when it did not say. */
export function retryAtText({ retryAt }: Pick<AccountedEnding, 'retryAt'>, now: number): string | undefined {
  if (retryAt === undefined) return undefined
  const at = Date.parse(retryAt)
  return at <= now
    ? `The service accepts requests again since ${localMinute(at)}.`
    : `The service accepts requests again at ${localMinute(at)}, in ${elapsed(at - now)}.`
}

/** A value of a limit in words. */
function limitValue(limit: OpenLimitPause['limit'], value: number): string {
  if (limit === 'maxDurationMs') return elapsed(value)
  return limit === 'maxBudgetUsd' || limit === 'maxRunUsd' ? moneyAtMost(value) : counted(value)
}

/** `the limit of turns (20 of 20)`. */
function limitAt({ limit, used, of }: OpenLimitPause): string {
  return `the limit of ${limitLabels[limit]} (${limitValue(limit, used)} of ${limitValue(limit, of)})`
}

/** A pause that has ended: `Paused 3 min at the limit of turns (20 of 20): raised to 40`. */
export function limitPauseText(pause: RecordedLimitPause): string {
  return `Paused ${elapsed(pause.waitedMs)} at ${limitAt(pause)}: ${pauseEndText(pause)}`
}

function pauseEndText({ outcome, limit, to }: RecordedLimitPause): string {
  switch (outcome) {
    case 'raised':
      return typeof to === 'number' ? `raised to ${limitValue(limit, to)}` : 'the limit was removed'
    case 'ended':
      return 'the answer was to end the run'
    case 'over':
      return 'nobody answered in time'
    case 'stopped':
      return 'the run was stopped'
    case 'aborted':
      return 'the run was aborted'
  }
}

/** The number of pauses that are listed, the last ones. */
const maxPauses = 5

/** The ended pauses of a run, a sentence each; empty for a run that never paused. */
export function limitPauseFacts(figures: LimitPauseFigures | undefined): readonly string[] {
  if (figures === undefined || figures.pauses.length === 0) return []
  const { pauses, ms } = figures
  const earlier = pauses.length - maxPauses
  return [
    ...(earlier > 0 ? [`${many(earlier, 'earlier pause')} at a limit.`] : []),
    ...pauses.slice(-maxPauses).map((pause) => `${limitPauseText(pause)}.`),
    `Pauses took ${elapsed(ms)} in total. This does not count as active time.`,
  ]
}

/** An open pause: `Paused at the limit of turns (20 of 20) until 2026-11-29 14:05.` */
export function openPauseText(pause: OpenLimitPause, now: number): string {
  const { untilMs } = pause
  const until = untilMs === null ? ' until someone answers' : ` until ${localMinute(untilMs)}`
  return `Paused at ${limitAt(pause)}${until}${untilMs !== null && untilMs <= now ? ' (already past)' : ''}.`
}
