import { duration, durationOrNone, loopRounds } from '../flags/values.ts'
import type { LoopTerms } from './loop-record.ts'

/** The parsed argument of `/loop`. */
export type LoopArgument =
  | { readonly kind: 'show' }
  | { readonly kind: 'on' }
  | { readonly kind: 'off' }
  | { readonly kind: 'begin'; readonly terms: Pick<LoopTerms, 'prompt' | 'everyMs' | 'rounds' | 'forMs'> }
  | { readonly kind: 'wrong'; readonly says: string }

export const loopUsage =
  '/loop 10m x5 PROMPT repeats a prompt every 10 minutes, 5 times · /loop 10m for 2h PROMPT for 2 hours · /loop on continues · /loop off ends it'

/** The error for a loop without a bound, in a session where a budget or a goal can be one. */
export const loopNeedsBound =
  'A loop needs a bound: rounds (/loop 10m x5 PROMPT), time (/loop 10m for 2h PROMPT), a budget of the session (/limits usd 5) or a goal (/until npm test).'

/** Parses `10m x5 for 2h PROMPT`: first the interval, then bounds in any order. */
export function parseLoopArgument(argument: string): LoopArgument {
  const trimmed = argument.trim()
  if (trimmed === '') return { kind: 'show' }
  if (/^on$/i.test(trimmed)) return { kind: 'on' }
  if (/^(?:off|none|stop)$/i.test(trimmed)) return { kind: 'off' }
  const [, time = '', afterTime = ''] = /^(\S+)(?:\s+([\s\S]*))?$/.exec(trimmed) ?? []
  const every = durationOrNone(time)
  if (!('value' in every)) {
    const isTime = /^-?\d/.test(time)
    const why = isTime ? `${time} is not ${every.expected}.` : 'Give the interval first.'
    return { kind: 'wrong', says: `${why} ${loopUsage}` }
  }
  let rest = afterTime
  let [rounds, forMs]: [number | undefined, number | undefined] = [undefined, undefined]
  for (;;) {
    const bound = /^(?:x(\d+)|for\s+(\d\S*))(?:\s+|$)/i.exec(rest)
    if (bound === null) break
    const [all, count, length] = bound
    const read = count === undefined ? duration(length ?? '') : loopRounds(count)
    // `for 3 files …` is the start of a prompt, not a bound.
    if (!('value' in read) && count === undefined) break
    if (!('value' in read)) return { kind: 'wrong', says: `x${count} is not ${read.expected}. ${loopUsage}` }
    if (count === undefined) forMs = read.value
    else rounds = read.value
    rest = rest.slice(all.length)
  }
  const prompt = rest.trim()
  if (prompt === '') return { kind: 'wrong', says: `The prompt is missing. ${loopUsage}` }
  const bounds = { ...(rounds !== undefined && { rounds }), ...(forMs !== undefined && { forMs }) }
  return { kind: 'begin', terms: { prompt, everyMs: every.value, ...bounds } }
}
