import { type OtherLimits, type Trajectory, type WhatIf, whatIfPriced } from '@halting/analysis'
import { money } from '@halting/analysis/words'
import { limitNames, limitWords } from './limits.ts'

/** A turn of the run, or several that are drawn as one bar. */
export interface TurnBar {
  /** Number of the first turn. */
  readonly from: number
  readonly to: number
  /** Height of the bar: dollars, or tokens if nothing has a price. */
  readonly height: number
  /** The share that other limits would have left, from 0 to 1. */
  readonly kept: number
}

/** The maximum number of bars. */
const maxBars = 240

/** The turns of a run, and where other limits would have stopped it. */
export function turnBars({ turns }: Trajectory, answer: WhatIf): readonly TurnBar[] {
  const isPriced = turns.some(({ payments }) => payments.some(({ nanos }) => nanos > 0))
  const counted: { spent: number; beganMs: number; endMs: number }[] = []
  let beganMs = 0
  for (const { isTold, payments, endMs } of turns) {
    const amount = payments.reduce((sum, { nanos, tokens }) => sum + (isPriced ? nanos / 1e9 : tokens), 0)
    const last = counted.at(-1)
    // Further attempts of a turn are part of it.
    if (isTold || last === undefined) counted.push({ spent: amount, beganMs, endMs })
    else {
      last.spent += amount
      last.endMs = Math.max(last.endMs, endMs)
    }
    beganMs = Math.max(beganMs, endMs)
  }
  const keptOf = (index: number): number => {
    if (answer.verdict !== 'stops' || index < answer.kept.turns - 1) return 1
    if (index >= answer.kept.turns) return 0
    const turn = counted[index]
    if (turn === undefined || answer.by?.limit !== 'maxDurationMs') return 1
    const length = turn.endMs - turn.beganMs
    return length <= 0 ? 1 : Math.max(0, Math.min(1, (answer.kept.activeMs - turn.beganMs) / length))
  }
  const together = Math.max(1, Math.ceil(counted.length / maxBars))
  const bars: TurnBar[] = []
  for (let begin = 0; begin < counted.length; begin += together) {
    const group = counted.slice(begin, begin + together)
    const keptShare = group.reduce((sum, _, offset) => sum + keptOf(begin + offset), 0) / group.length
    bars.push({
      from: begin + 1,
      to: begin + group.length,
      height: group.reduce((sum, { spent }) => sum + spent, 0),
      kept: keptShare,
    })
  }
  return bars
}

/** Where the run stops, in bars from the left; null when it does not stop. */
export function stopPlace(bars: readonly TurnBar[]): number | null {
  const cut = bars.findIndex(({ kept }) => kept < 1)
  return cut < 0 ? null : cut + (bars[cut]?.kept ?? 0)
}

/** Where one limit alone would have stopped the run. */
export interface LimitStop {
  /** The limit with its value: `Turns 8`. */
  readonly label: string
  /** Position in bars from the left. */
  readonly place: number
  readonly answer: WhatIf
}

/** Where each of the selected limits alone stops the run, the earliest first; limits without effect are left out. */
export function limitStops(
  trajectory: Trajectory,
  limits: OtherLimits,
  unpriced: readonly string[],
): readonly LimitStop[] {
  const named = limitNames.flatMap((name) => {
    const value = limits[name]
    const { label, format } = limitWords[name]
    return typeof value === 'number' ? [{ label: `${label} ${format(value)}`, limits: { [name]: value } }] : []
  })
  const all = [
    ...named,
    ...(limits.noProgress === true ? [{ label: 'No progress', limits: { noProgress: true } }] : []),
  ]
  return all
    .flatMap(({ label, limits: alone }) => {
      const answer = whatIfPriced(trajectory, alone, unpriced)
      const place = stopPlace(turnBars(trajectory, answer))
      return place === null ? [] : [{ label, place, answer }]
    })
    .toSorted((a, b) => a.place - b.place)
}

/** The meaning of the height of bars, in words. */
export function heightWords({ turns }: Trajectory): string {
  const nanos = turns.flatMap(({ payments }) => payments).reduce((sum, payment) => sum + payment.nanos, 0)
  return nanos > 0
    ? `The height of a bar is what its turn cost; all of them cost ${money(nanos / 1e9)}.`
    : 'The height of a bar is the tokens of its turn.'
}
