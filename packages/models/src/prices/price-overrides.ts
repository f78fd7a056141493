import { ConfigurationError } from '@halting/core'
import type { Prices } from '@halting/core'
import { bareId } from './catalogue.ts'
import type { ModelPrice, PriceTier } from './catalogue.ts'
import { priceTable } from './price-table.ts'

/** Prices by model id that override the snapshot. An entry replaces the whole entry of the snapshot. */
export type PriceOverrides = Readonly<Record<string, ModelPrice>>

/** Rates of a tier, and whether each is required. */
const tierFields = {
  input: 'required',
  output: 'required',
  cacheRead: 'optional',
  cacheWrite: 'optional',
  cacheWrite1h: 'optional',
} as const satisfies Record<keyof PriceTier, 'required' | 'optional'>

const rateNames = Object.keys(tierFields)
const modelFields = [...rateNames, 'webSearch', 'tiers']
const ownTierFields = [...rateNames, 'inputTokensAbove']

/** A lower price is probably per token, not per million: no model is that cheap. */
const leastDollars = 0.001

type Fields = { readonly [field: string]: unknown }

/**
 * Validates user-defined prices: `{ "<model id>": { "input": 3, "output": 15, "webSearch": 10, "tiers": [ … ] } }`.
 * @throws ConfigurationError that lists all problems at once.
 */
export function parsePriceOverrides(value: unknown): PriceOverrides {
  const problems: string[] = []
  if (!isFields(value))
    throw new ConfigurationError(`Prices must be an object of prices by model ID (received ${describe(value)}).`)
  const ids = new Map<string, string>()
  for (const [id, price] of Object.entries(value)) {
    const same = ids.get(bareId(id))
    if (same !== undefined) problems.push(`"${same}" and "${id}" are the same model: give its price once.`)
    if (id.trim() !== id || id === '') problems.push(`"${id}" is not a valid model ID.`)
    ids.set(bareId(id), id)
    checkModel(price, `The price of ${id}`, problems)
  }
  if (problems.length > 0) throw new ConfigurationError(problems.join('\n'))
  // Every field was validated, and there are no others.
  return value as PriceOverrides
}

/** Merges prices, highest precedence first: the first entry of each model applies. */
export function mergePriceOverrides(places: readonly PriceOverrides[]): PriceOverrides {
  const merged = new Map<string, ModelPrice>()
  for (const prices of places) {
    for (const [id, price] of Object.entries(prices)) if (!merged.has(bareId(id))) merged.set(bareId(id), price)
  }
  return Object.fromEntries(merged)
}

function checkModel(price: unknown, what: string, problems: string[]): void {
  if (!isFields(price)) return void problems.push(`${what} must be an object like { "input": 3, "output": 15 }.`)
  checkNames(price, modelFields, what, problems)
  checkRates(price, what, problems)
  checkDollars(price['webSearch'], `${what}: webSearch`, 'US dollars per thousand searches', problems)
  const { tiers } = price
  if (tiers === undefined) return
  if (!Array.isArray(tiers)) return void problems.push(`${what}: tiers must be a list, not ${describe(tiers)}.`)
  let above = 0
  for (const [index, tier] of tiers.entries()) {
    above = checkTier(tier, above, `${what}, tier ${index + 1}`, problems)
  }
}

/** Returns the prompt size above which the next tier must start. */
function checkTier(tier: unknown, above: number, what: string, problems: string[]): number {
  if (!isFields(tier)) {
    problems.push(`${what} must be an object like { "inputTokensAbove": 200000, "input": 6, "output": 22.5 }.`)
    return above
  }
  checkNames(tier, ownTierFields, what, problems)
  checkRates(tier, what, problems)
  const { inputTokensAbove: begins } = tier
  if (typeof begins !== 'number' || !Number.isSafeInteger(begins) || begins <= 0) {
    problems.push(`${what}: inputTokensAbove is ${describe(begins)}. Give a whole number of tokens above 0.`)
    return above
  }
  if (begins <= above) {
    problems.push(`${what}: inputTokensAbove is ${begins}, which is not above ${above}. List tiers from low to high.`)
  }
  return begins
}

function checkRates(price: Fields, what: string, problems: string[]): void {
  const unit = 'US dollars per million tokens'
  for (const [name, presence] of Object.entries(tierFields)) {
    if (presence === 'required' && price[name] === undefined) problems.push(`${what} has no ${name}. Give ${unit}.`)
    const isThere = checkDollars(price[name], `${what}: ${name}`, unit, problems)
    if (isThere && price[name] !== 0 && Number(price[name]) < leastDollars) {
      problems.push(`${what}: ${name} is ${describe(price[name])}, which looks like dollars per token. Give ${unit}.`)
    }
  }
}

/** Returns true for a valid amount, and reports an invalid one. */
function checkDollars(value: unknown, what: string, unit: string, problems: string[]): boolean {
  if (value === undefined) return false
  if (typeof value === 'number' && value >= 0 && value !== Infinity) return true
  problems.push(`${what} is ${describe(value)}. Give ${unit}, 0 or more.`)
  return false
}

function checkNames(fields: Fields, known: readonly string[], what: string, problems: string[]): void {
  for (const name of Object.keys(fields)) {
    if (!known.includes(name)) problems.push(`${what} has no field ${name}. ${hint(name, known)}`)
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function describe(value: unknown): string {
  if (typeof value === 'number') return String(value)
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

/** Returns a hint with the closest known name, or all of them if none is close. */
function hint(given: string, known: readonly string[]): string {
  const plain = given.replaceAll(/[^a-z0-9]/gi, '').toLowerCase()
  const steps = (name: string): number => distance(plain, name.toLowerCase())
  const nearest = known.reduce((best, name) => (steps(name) < steps(best) ? name : best))
  const isNear = steps(nearest) <= Math.max(2, plain.length / 2)
  return isNear ? `Did you mean ${nearest}?` : `Its fields are ${known.join(', ')}.`
}

/** Returns the edit distance of two texts. */
function distance(from: string, to: string): number {
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const changed = from[row - 1] === to[column - 1] ? 0 : 1
      const best = Math.min(last[column] ?? 0, current[column - 1] ?? 0) + 1
      current.push(Math.min(best, (last[column - 1] ?? 0) + changed))
    }
    last = current
  }
  return last[to.length] ?? 0
}

/**
 * Creates prices from the snapshot and overrides. Ids are exact, but `claude-x` equals `anthropic/claude-x`, and
 * `gpt-x` equals `openai/gpt-x`. Most models have the prices of the snapshot; use this for others.
 * @throws ConfigurationError for invalid prices.
 */
export function createPrices(overrides: PriceOverrides = {}): Prices {
  return priceTable(new Map(Object.entries(parsePriceOverrides(overrides)).map(([id, price]) => [bareId(id), price])))
}
