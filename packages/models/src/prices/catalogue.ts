import { isOpenAiModelName } from '../services.ts'
import { snapshotTable } from './snapshot.ts'

/** Prices in US dollars per million tokens. */
export interface PriceTier {
  /** Uncached input. */
  readonly input: number
  /** Output. */
  readonly output: number
  /** Cache reads (default: `input`). */
  readonly cacheRead?: number
  /** Cache writes for five minutes (default: `input`). */
  readonly cacheWrite?: number
  /** Cache writes for an hour (default: twice `input`, or `input` if cache writes cost nothing extra). */
  readonly cacheWrite1h?: number
}

/** Prices of a model in US dollars per million tokens. */
export interface ModelPrice extends PriceTier {
  /** US dollars per thousand web searches by the service (default: 10). */
  readonly webSearch?: number
  /** Other prices for whole requests with long prompts. */
  readonly tiers?: readonly (PriceTier & {
    /** The prices apply to prompts with more tokens than this. */
    readonly inputTokensAbove: number
  })[]
}

export interface ModelFigures {
  /** Context window in tokens. */
  readonly contextWindow: number
  /** Maximum tokens of a reply. */
  readonly maxOutputTokens: number
}

/** The rates of one tier per token or search, as integers in 10^-12 dollars. */
export interface Rates {
  /** Applies to prompts with more tokens than this. */
  readonly above: number
  readonly input: number
  readonly output: number
  readonly read: number
  readonly write5m: number
  readonly write1h: number
  readonly search: number
}

export interface Entry extends ModelFigures {
  readonly price: ModelPrice
}

/** Fee of Anthropic's and OpenAI's APIs in US dollars per thousand searches. */
const usualWebSearch = 10

/**
 * Input tokens that OpenAI bills as the result of each search by these models. The usage may include them, too; then a
 * search costs less than counted.
 */
const tokensOfSearch: ReadonlyMap<string, number> = new Map([
  ['openai/gpt-4o-mini', 8_000],
  ['openai/gpt-4.1-mini', 8_000],
])

/** Returns the tiers of a model, lowest first; undefined for a model without a price. */
export function findRates(model: string, overrides: ReadonlyMap<string, ModelPrice>): readonly Rates[] | undefined {
  const price = overrides.get(bareId(model)) ?? lookUp(model)?.price
  if (price === undefined) return undefined
  const before = rates.get(price)
  if (before !== undefined) return before
  const tiers = [{ ...price, inputTokensAbove: 0 }, ...(price.tiers ?? [])]
    .map((tier) => ratesOf(tier, price.webSearch ?? usualWebSearch))
    .toSorted((a, b) => a.above - b.above)
  rates.set(price, tiers)
  return tiers
}
const rates = new WeakMap<ModelPrice, readonly Rates[]>()

/** Removes the service: `claude-x` equals `anthropic/claude-x`, and `gpt-x` equals `openai/gpt-x`. */
export function bareId(model: string): string {
  const [, ofOpenAi] = /^openai\/(.+)$/.exec(model) ?? []
  return ofOpenAi !== undefined && isOpenAiModelName(ofOpenAi) ? ofOpenAi : model.replace(/^anthropic\//, '')
}

/** Returns the price of a model from the overrides or the snapshot; undefined if it has none. */
export function priceOf(model: string, overrides: Readonly<Record<string, ModelPrice>> = {}): ModelPrice | undefined {
  const id = bareId(model)
  const [, price] = Object.entries(overrides).find(([other]) => bareId(other) === id) ?? []
  return price ?? lookUp(model)?.price
}

/** Returns the sizes of a model in the snapshot. */
export function figuresOf(model: string): ModelFigures | undefined {
  const entry = lookUp(model)
  return entry && { contextWindow: entry.contextWindow, maxOutputTokens: entry.maxOutputTokens }
}

function lookUp(model: string): Entry | undefined {
  return entryOf(model) ?? entryOf(`${isOpenAiModelName(model) ? 'openai' : 'anthropic'}/${model}`)
}

/** Parses one entry: a start needs only one or two. */
function entryOf(id: string): Entry | undefined {
  const known = entries.get(id)
  if (known !== undefined) return known
  lines ??= new Map(snapshotLines().map((line) => [line.slice(0, line.indexOf(' ')), line]))
  const line = lines.get(id)
  if (line === undefined) return undefined
  const entry = parseLine(line)
  entries.set(id, entry)
  return entry
}
/** Entries parsed so far. */
const entries = new Map<string, Entry>()
let lines: ReadonlyMap<string, string> | undefined

/** Returns the whole snapshot, by id. */
export function allEntries(): ReadonlyMap<string, Entry> {
  all ??= new Map(
    snapshotLines().flatMap((line) => {
      const id = line.slice(0, line.indexOf(' '))
      const entry = entryOf(id)
      return entry === undefined ? [] : [[id, entry]]
    }),
  )
  return all
}
let all: ReadonlyMap<string, Entry> | undefined

function ratesOf(tier: PriceTier & { readonly inputTokensAbove: number }, webSearch: number): Rates {
  const { input, output, cacheRead = input, cacheWrite, inputTokensAbove: above } = tier
  // A dollar per million tokens is a millionth of a dollar per token.
  const millionths = (dollars: number): number => Math.round(dollars * 1e6)
  return {
    above,
    input: millionths(input),
    output: millionths(output),
    read: millionths(cacheRead),
    write5m: millionths(cacheWrite ?? input),
    write1h: millionths(tier.cacheWrite1h ?? (cacheWrite === undefined ? input : 2 * input)),
    search: Math.round(webSearch * 1e9),
  }
}

/** Each line starts with its id. */
function snapshotLines(): readonly string[] {
  return snapshotTable
    .trim()
    .split('\n')
    .map((line) => line.trim())
}

/**
 * Parses `id, window, longest reply, in, out, read, write`, and for each tier `> prompt size, in, out, read, write`.
 */
function parseLine(line: string): Entry {
  const [base = '', ...tiers] = line.split('>')
  const [id = '', ...words] = base.trim().split(/\s+/)
  const [contextWindow = 0, maxOutputTokens = 0, ...first] = words.map(Number)
  const price = {
    ...tierOf(first),
    webSearch: searchFeeOf(id, first[0] ?? 0),
    tiers: tiers.map((text) => {
      const [inputTokensAbove = 0, ...rest] = text.trim().split(/\s+/).map(Number)
      return { inputTokensAbove, ...tierOf(rest) }
    }),
  }
  return { contextWindow, maxOutputTokens, price }
}

/**
 * Google's fee per thousand grounded requests for models before Gemini 3; newer ones are billed per query. Unclear
 * names get the higher fee.
 */
const googleRequest = 35

/** Returns US dollars per thousand searches; `input` is the price of a million tokens. */
function searchFeeOf(id: string, input: number): number {
  if (id.startsWith('anthropic/')) return usualWebSearch
  if (id.startsWith('google/gemini-')) return /gemini-\d/.test(id) && !/gemini-[12]/.test(id) ? 14 : googleRequest
  if (id.startsWith('xai/')) return usualWebSearch
  // Other services bill searches differently, and do not report them in the usage.
  if (!id.startsWith('openai/')) return 0
  return usualWebSearch + ((tokensOfSearch.get(id) ?? 0) * 1_000 * input) / 1e6
}

/**
 * Returns a tier. A zero next to a nonzero input price means that there is no such rate: those tokens are billed as
 * input.
 */
function tierOf([
  input = Number.NaN,
  output = Number.NaN,
  cacheRead = 0,
  cacheWrite = 0,
]: readonly number[]): PriceTier {
  return { input, output, ...(cacheRead > 0 && { cacheRead }), ...(cacheWrite > 0 && { cacheWrite }) }
}
