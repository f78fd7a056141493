import {
  durationMs,
  isUuid,
  longestDurationMs,
  largestBudgetUsd,
  maxGoalTriesAllowed,
  maxStablePasses,
  parseWaitMs,
} from '@halting/core/adapters'
import { type AutoCompact, isShare, leastWindowTokens } from '@halting/agent/session-settings'
import { nearest } from './nearest.ts'

/** A parsed value, or what would be valid. */
export type Reading<Value> =
  | { readonly value: Value }
  | { readonly expected: string; readonly meant?: string | undefined }

export function text(given: string): Reading<string> {
  return { value: given }
}

export function filledText(given: string): Reading<string> {
  return given.trim() === '' ? { expected: 'a value that is not empty' } : { value: given }
}

export function wholeNumber(given: string): Reading<number> {
  const value = Number(given)
  return /^\d+$/.test(given) && value >= 1 && Number.isSafeInteger(value)
    ? { value }
    : { expected: 'a whole number of at least 1' }
}

/** Number of sessions on a page of a cluster. */
export function pageSize(given: string): Reading<number> {
  return wholeNumberUpTo(1_000, given)
}

/** How often an answer may be sent back. The bound guarantees that runs stop. */
export function goalTries(given: string): Reading<number> {
  return wholeNumberUpTo(maxGoalTriesAllowed, given)
}

/** Number of consecutive passes that a check needs. */
export function passes(given: string): Reading<number> {
  return wholeNumberUpTo(maxStablePasses, given)
}

function wholeNumberUpTo(most: number, given: string): Reading<number> {
  const read = wholeNumber(given)
  return 'value' in read && read.value <= most ? read : { expected: `a whole number from 1 to ${most}` }
}

/** One command; it can contain commas and spaces. */
export function command(given: string): Reading<readonly string[]> {
  return given.trim() === '' ? { expected: 'a command in quotes, such as "npm test"' } : { value: [given] }
}

export function portNumber(given: string): Reading<number> {
  const value = Number(given)
  return /^\d+$/.test(given) && value <= 65_535 ? { value } : { expected: 'a port from 0 (any that is free) to 65535' }
}

/** The address of a service, without a trailing slash. */
export function urlAddress(given: string): Reading<string> {
  const url = URL.canParse(given) ? new URL(given) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol)
    ? { value: given.replace(/\/+$/, '') }
    : { expected: 'an address such as http://127.0.0.1:8080' }
}

const multiples: Readonly<Record<string, number>> = { '': 1, k: 1_000, m: 1_000_000 }

/** Parses `200000`, `200k` or `1.5m`. */
export function tokens(given: string): Reading<number> {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)([km]?)$/i.exec(given) ?? []
  const value = Math.round(Number(digits) * (multiples[unit.toLowerCase()] ?? Number.NaN))
  return value >= 1 && Number.isSafeInteger(value)
    ? { value }
    : { expected: 'a number of tokens, such as 200000 or 200k' }
}

export function windowTokens(given: string): Reading<number> {
  const read = tokens(given)
  return 'value' in read && read.value >= leastWindowTokens
    ? read
    : { expected: `a number of tokens of at least ${leastWindowTokens}, such as 200000 or 200k` }
}

/** Parses `auto`, `off`, `80%`, `150000`, `150k` or `150ktokens`. */
export function autoCompact(given: string): Reading<AutoCompact> {
  if (given === 'auto' || given === 'off') return { value: given }
  const [, share] = /^(\d+(?:\.\d+)?)%$/.exec(given) ?? []
  if (share !== undefined && isShare(Number(share))) return { value: `${Number(share)}%` }
  const read = windowTokens(given.replace(/ ?tokens$/, ''))
  if ('value' in read) return read
  const expected = `auto, off, a share of the window from 1% to 100%, or at least ${leastWindowTokens} tokens such as 150000 or 150k`
  const meant = /^\d+$/.test(given) && isShare(Number(given)) ? `${given}%` : nearest(given, ['auto', 'off'], 2)
  return { expected, meant }
}

/** The API requires at least 1,024 unless thinking is off. */
export function thinkingTokens(given: string): Reading<number> {
  const value = Number(given)
  return /^\d+$/.test(given) && (value === 0 || value >= 1_024) && Number.isSafeInteger(value)
    ? { value }
    : { expected: 'a number of tokens of at least 1024, or 0 for none' }
}

export function dollars(given: string): Reading<number> {
  const value = Number(given)
  return /^\d*\.?\d+$/.test(given) && value > 0 && Number.isFinite(value)
    ? { value }
    : { expected: 'a number of US dollars above 0, such as 0.50' }
}

/** Parses `2%` or `0.02`: a share above 0 and below 1. */
export function lossShare(given: string): Reading<number> {
  const [, digits = '', percent] = /^(\d*\.?\d+) ?(%?)$/.exec(given) ?? []
  const value = percent === '%' ? Number(digits) / 100 : Number(digits)
  if (digits !== '' && value > 0 && value < 1) return { value }
  const isPercent = percent === '' && value >= 1 && value < 100
  return {
    expected: 'a share above 0% and below 100%, such as 2% or 0.02',
    meant: isPercent ? `${digits}%` : undefined,
  }
}

/** Parses an amount that was spent; 0 is valid. */
export function spentDollars(given: string): Reading<number> {
  const value = Number(given)
  return /^\d*\.?\d+$/.test(given) && value <= largestBudgetUsd
    ? { value }
    : { expected: `a number of US dollars from 0 to ${largestBudgetUsd}, such as 0.50` }
}

/** Parses `20`, or `5:claude-opus-*` for matching models. */
export function standingBudget(given: string): Reading<readonly string[]> {
  const [usd = '', ...model] = given.split(':')
  const isModel = model.length === 0 || /^\S+$/.test(model.join(':'))
  return 'value' in dollars(usd) && isModel
    ? { value: [given] }
    : { expected: 'a number of US dollars above 0, optionally with a model: 20 or 5:claude-opus-*' }
}

/** Parses `90s`, `10m` or `1h30m` into milliseconds. */
export function duration(given: string): Reading<number> {
  const value = durationMs(given) ?? 0
  return value >= 1 && value <= longestDurationMs
    ? { value }
    : { expected: 'a duration with a unit, such as 90s, 10m or 1h30m (at most 24 days)' }
}

const shortestRetentionMs = 3_600_000

/** Parses `30d`, `2w` or `12h` into milliseconds; at least one hour. */
export function retention(given: string): Reading<number> {
  const [, count = '', unit] = /^(\d{1,5})([hdw])$/.exec(given.trim()) ?? []
  const value = Number(count) * shortestRetentionMs * (unit === 'w' ? 168 : unit === 'd' ? 24 : 1)
  return value >= shortestRetentionMs ? { value } : { expected: 'hours, days or weeks, at least 1h, such as 30d' }
}

/** Like `duration`, but also accepts `0` and `0s`. */
export function durationOrNone(given: string): Reading<number> {
  if (given.trim() === '0' || durationMs(given) === 0) return { value: 0 }
  const read = duration(given)
  return 'value' in read
    ? read
    : { expected: 'a duration with a unit, such as 90s, 10m or 1h30m (at most 24 days), or 0' }
}

/** Maximum number of rounds of a loop. */
export const maxRounds = 1_000_000

/** Parses the number of rounds of a loop. */
export function loopRounds(given: string): Reading<number> {
  return wholeNumberUpTo(maxRounds, given)
}

/** Parses the maximum wait for services into milliseconds; `none` is 0. */
export function waitTime(given: string): Reading<number> {
  const value = parseWaitMs(given)
  return value === undefined
    ? { expected: 'a duration with a unit, such as 90s or 8h (at most 744h), or none' }
    : { value }
}

export function uuid(given: string): Reading<string> {
  return isUuid(given)
    ? { value: given.toLowerCase() }
    : { expected: 'a UUID, such as 3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93' }
}

/** Creates a reader that accepts these words, and exposes them as `choices`. */
export function choice<Choice extends string>(
  choices: readonly Choice[],
): ((given: string) => Reading<Choice>) & { readonly choices: readonly Choice[] } {
  const read = (given: string): Reading<Choice> => {
    const value = choices.find((one) => one === given)
    if (value !== undefined) return { value }
    return { expected: `one of ${choices.join(', ')}`, meant: nearest(given, choices) }
  }
  return Object.assign(read, { choices })
}

/** The words that a reader accepts; undefined if it is not limited to words. */
export function choicesOf(read: (given: string) => Reading<unknown>): readonly string[] | undefined {
  if (!('choices' in read) || !Array.isArray(read.choices)) return undefined
  return read.choices.filter((each) => typeof each === 'string')
}

/** Splits values at commas or spaces, except within parentheses: `Bash(git log *),Read`. */
export function list(given: string): Reading<readonly string[]> {
  const values: string[] = []
  let depth = 0
  let current = ''
  for (const character of given) {
    if (character === '(') depth++
    if (character === ')') depth--
    if (depth > 0 || !/[,\s]/.test(character)) current += character
    else {
      if (current !== '') values.push(current)
      current = ''
    }
  }
  if (current !== '') values.push(current)
  return depth === 0 ? { value: values } : { expected: 'a list with balanced parentheses' }
}

/** Accepts the argument as one value, since paths can contain commas and spaces. */
export function single(given: string): Reading<readonly string[]> {
  return given === '' ? { expected: 'a value that is not empty' } : { value: [given] }
}

/** A public key of an engine, as its server prints it. */
export function identityKey(given: string): Reading<readonly string[]> {
  return /^publickeyv1_[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(given)
    ? { value: [given] }
    : { expected: 'a public key of the engine, such as publickeyv1_...' }
}

const knownFinishReasons: readonly string[] =
  'end_turn max_tokens stop_sequence tool_use pause_turn refusal model_context_window_exceeded'.split(' ')

export function finishReasons(given: string): Reading<readonly string[]> {
  const read = list(given)
  if ('expected' in read) return read
  const expected = `a list of ${knownFinishReasons.join(', ')}`
  if (read.value.length === 0) return { expected }
  const wrong = read.value.find((reason) => !knownFinishReasons.includes(reason))
  if (wrong === undefined) return read
  return { expected, meant: nearest(wrong, knownFinishReasons) }
}
