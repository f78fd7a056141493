import { isOpenAiModelName } from '../services.ts'
import { snapshotTable } from './snapshot.ts'

/** US dollars a million tokens. */
export interface PriceTier {
  /** An input token that is not cached. */
  readonly input: number
  /** An output token. */
  readonly output: number
  /** A token read from the cache; `input` when absent. */
  readonly cacheRead?: number
  /** A token written to the cache for five minutes; `input` when absent. */
  readonly cacheWrite?: number
  /** A token written for an hour; twice `input` when absent, or `input` where writing costs nothing extra. */
  readonly cacheWrite1h?: number
}

/** Prices of a model, in US dollars a million tokens. */
export interface ModelPrice extends PriceTier {
  /** US dollars a thousand web searches that the service makes by itself; 10 when absent. */
  readonly webSearch?: number
  /** Other rates for a whole request whose prompt is longer than so many tokens. */
  readonly tiers?: readonly (PriceTier & {
    /** The rates apply to prompts of more tokens than this. */
    readonly inputTokensAbove: number
  })[]
}

export interface ModelFigures {
  /** Size of the model's window in tokens. */
  readonly contextWindow: number
  /** Most tokens of one reply. */
  readonly maxOutputTokens: number
}

/** One tier, in whole millionths of a millionth of a dollar: of a token, or of a search. */
export interface Rates {
  /** Holds for prompts longer than this. */
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

/** The fee of Anthropic's and of OpenAI's API, in US dollars a thousand searches. */
const usualWebSearch = 10

/**
 * What OpenAI bills as found by a search of these models, whatever it was, in tokens of input. It may be in the usage
 * as well; then a search costs less than it is counted as.
 */
const tokensOfSearch: ReadonlyMap<string, number> = new Map([
  ['openai/gpt-4o-mini', 8_000],
  ['openai/gpt-4.1-mini', 8_000],
])

/** The tiers of a model, lowest first; undefined for a model that nobody gave a price. */
export function findRates(model: string, overrides: ReadonlyMap<string, ModelPrice>): readonly Rates[] | undefined {
  const price = overrides.get(bareId(model)) ?? find(model)?.price
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

/** `claude-x` and `anthropic/claude-x` are one model, and so are `gpt-x` and `openai/gpt-x`. */
export function bareId(model: string): string {
  const [, ofOpenAi] = /^openai\/(.+)$/.exec(model) ?? []
  return ofOpenAi !== undefined && isOpenAiModelName(ofOpenAi) ? ofOpenAi : model.replace(/^anthropic\//, '')
}

/** The price of a model: that of the overrides, else that of the snapshot; undefined for a model that has none. */
export function priceOf(model: string, overrides: Readonly<Record<string, ModelPrice>> = {}): ModelPrice | undefined {
  const id = bareId(model)
  const [, price] = Object.entries(overrides).find(([other]) => bareId(other) === id) ?? []
  return price ?? find(model)?.price
}

/** What the snapshot knows of a model's sizes. */
export function figuresOf(model: string): ModelFigures | undefined {
  const entry = find(model)
  return entry && { contextWindow: entry.contextWindow, maxOutputTokens: entry.maxOutputTokens }
}

function find(model: string): Entry | undefined {
  return entryOf(model) ?? entryOf(`${isOpenAiModelName(model) ? 'openai' : 'anthropic'}/${model}`)
}

/** A start asks for one or two of them. */
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
/** Those that were asked for. */
const entries = new Map<string, Entry>()
let lines: ReadonlyMap<string, string> | undefined

/** The snapshot, by id. */
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
  // A dollar a million tokens is a millionth of a dollar a token.
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

/** Of each the id comes first. */
function snapshotLines(): readonly string[] {
  return snapshotTable
    .trim()
    .split('\n')
    .map((line) => line.trim())
}

/** `id, window, longest reply, in, out, read, write`, and for each tier `> prompt size, in, out, read, write`. */
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

/** Google's fee for a thousand grounded requests to models before Gemini 3, from which on it is for each query; the dearer one for names that do not say. */
const googleRequest = 35

/** US dollars a thousand searches; `input` is the price of a million tokens. */
function searchFeeOf(id: string, input: number): number {
  if (id.startsWith('anthropic/')) return usualWebSearch
  if (id.startsWith('google/gemini-')) return /gemini-\d/.test(id) && !/gemini-[12]/.test(id) ? 14 : googleRequest
  if (id.startsWith('xai/')) return usualWebSearch
  // Other services bill their searches in ways of their own, and report none in the usage.
  if (!id.startsWith('openai/')) return 0
  return usualWebSearch + ((tokensOfSearch.get(id) ?? 0) * 1_000 * input) / 1e6
}

/** A 0 beside an input that costs something means that there is no such rate: those tokens are billed as input. */
function tierOf([
  input = Number.NaN,
  output = Number.NaN,
  cacheRead = 0,
  cacheWrite = 0,
]: readonly number[]): PriceTier {
  return { input, output, ...(cacheRead > 0 && { cacheRead }), ...(cacheWrite > 0 && { cacheWrite }) }
}
