/** The billed units of one request. Each kind has its own rate. */
export interface Bill {
  readonly input: number
  readonly read: number
  readonly write5m: number
  readonly write1h: number
  readonly output: number
  readonly searches: number
  /** The longest prompt that was read at once. It determines the price tier. */
  readonly promptTokens: number
}

/** In whole picodollars: a token costs as many millions of them as a million tokens cost dollars. */
interface Tariff {
  /** Applies to prompts longer than this. */
  readonly above: number
  readonly input: bigint
  readonly read: bigint
  readonly write5m: bigint
  readonly write1h: bigint
  readonly output: bigint
  /** Per search. */
  readonly search: bigint
}

const search = 10_000_000_000n

/** The service's own price list, written independently of the tested code. */
const tariffs: { readonly [model: string]: readonly [Tariff, ...Tariff[]] } = {
  'claude-opus-5-5': [
    {
      above: 0,
      input: 4_000_000n,
      read: 200_000n,
      write5m: 5_000_000n,
      write1h: 8_000_000n,
      output: 20_000_000n,
      search,
    },
  ],
  'claude-haiku-4-5': [
    {
      above: 0,
      input: 1_000_000n,
      read: 100_000n,
      write5m: 1_250_000n,
      write1h: 2_000_000n,
      output: 5_000_000n,
      search,
    },
  ],
  'claude-fable-5': [
    {
      above: 0,
      input: 10_000_000n,
      read: 1_000_000n,
      write5m: 12_500_000n,
      write1h: 20_000_000n,
      output: 50_000_000n,
      search,
    },
  ],
  // Cache writes have no surcharge.
  'openai/gpt-4.1': [
    {
      above: 0,
      input: 2_000_000n,
      read: 500_000n,
      write5m: 2_000_000n,
      write1h: 2_000_000n,
      output: 8_000_000n,
      search,
    },
  ],
  tiered: [
    {
      above: 0,
      input: 1_000_000n,
      read: 100_000n,
      write5m: 1_250_000n,
      write1h: 2_000_000n,
      output: 5_000_000n,
      search,
    },
    {
      above: 1_500,
      input: 3_000_001n,
      read: 300_000n,
      write5m: 3_750_000n,
      write1h: 6_000_000n,
      output: 9_999_999n,
      search,
    },
  ],
}

/**
 * The same prices in the format of the tested side, for the model that is not in the snapshot: dollars per million
 * tokens.
 */
export const tieredPrice = {
  input: 1,
  output: 5,
  cacheRead: 0.1,
  cacheWrite: 1.25,
  cacheWrite1h: 2,
  tiers: [
    {
      inputTokensAbove: 1_500,
      input: 3.000001,
      output: 9.999999,
      cacheRead: 0.3,
      cacheWrite: 3.75,
      cacheWrite1h: 6,
    },
  ],
} as const

/** Adds up the bill exactly. */
export interface Meter {
  charge(model: string, bill: Bill): void
  /** Whole picodollars. */
  readonly picodollars: bigint
  readonly tokens: number
}

export function createMeter(): Meter {
  let picodollars = 0n
  let tokens = 0
  return {
    charge(model, bill) {
      picodollars += priceOf(model, bill)
      tokens += bill.input + bill.read + bill.write5m + bill.write1h + bill.output
    },
    get picodollars() {
      return picodollars
    },
    get tokens() {
      return tokens
    },
  }
}

export function priceOf(model: string, bill: Bill): bigint {
  const list = tariffs[model]
  if (list === undefined) throw new Error(`This service has no model ${model}.`)
  const tariff = list.findLast(({ above }) => above < bill.promptTokens) ?? list[0]
  return (
    tariff.input * BigInt(bill.input) +
    tariff.read * BigInt(bill.read) +
    tariff.write5m * BigInt(bill.write5m) +
    tariff.write1h * BigInt(bill.write1h) +
    tariff.output * BigInt(bill.output) +
    tariff.search * BigInt(bill.searches)
  )
}
