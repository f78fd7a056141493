import type { Trajectory, WhatIf } from '@halting/core/steps'
import { money } from '../../figures.ts'
import type { ColorOf } from '../plots/plot-svg.ts'
import { SvgWriter } from '../common/svg.ts'

/** A turn of the run, or several that are drawn as one. */
export interface TurnBar {
  /** The first and the last turn. */
  readonly from: number
  readonly to: number
  /** What it is as high as: dollars, or tokens where nothing has a price. */
  readonly height: number
  /** How much of it other limits would have left, from 0 to 1. */
  readonly kept: number
}

/** As many as can be told apart in a small picture. */
const mostBars = 240

/** The turns of a run, and where other limits would have stopped it. */
export function turnBars({ turns }: Trajectory, answer: WhatIf): readonly TurnBar[] {
  const isPriced = turns.some(({ payments }) => payments.some(({ nanos }) => nanos > 0))
  const told: { spent: number; beganMs: number; endMs: number }[] = []
  let beganMs = 0
  for (const { isTold, payments, endMs } of turns) {
    const spent = payments.reduce((sum, { nanos, tokens }) => sum + (isPriced ? nanos / 1e9 : tokens), 0)
    const last = told.at(-1)
    // Further attempts of a turn are part of it.
    if (isTold || last === undefined) told.push({ spent, beganMs, endMs })
    else {
      last.spent += spent
      last.endMs = Math.max(last.endMs, endMs)
    }
    beganMs = Math.max(beganMs, endMs)
  }
  const keptOf = (index: number): number => {
    if (answer.verdict !== 'stops' || index < answer.kept.turns - 1) return 1
    if (index >= answer.kept.turns) return 0
    const turn = told[index]
    if (turn === undefined || answer.by?.limit !== 'maxDurationMs') return 1
    const length = turn.endMs - turn.beganMs
    return length <= 0 ? 1 : Math.max(0, Math.min(1, (answer.kept.activeMs - turn.beganMs) / length))
  }
  const together = Math.max(1, Math.ceil(told.length / mostBars))
  const bars: TurnBar[] = []
  for (let begin = 0; begin < told.length; begin += together) {
    const group = told.slice(begin, begin + together)
    const kept = group.reduce((sum, _, offset) => sum + keptOf(begin + offset), 0) / group.length
    bars.push({
      from: begin + 1,
      to: begin + group.length,
      height: group.reduce((sum, { spent }) => sum + spent, 0),
      kept,
    })
  }
  return bars
}

/** Where the run stops, in bars from the left; null where it does not. */
export function stopPlace(bars: readonly TurnBar[]): number | null {
  const cut = bars.findIndex(({ kept }) => kept < 1)
  return cut < 0 ? null : cut + (bars[cut]?.kept ?? 0)
}

const size = { width: 960, height: 240, left: 20, top: 64, bottom: 36 }

/** The same picture as the page shows, as a file. */
export function svgOfBars(title: string, sentence: string, bars: readonly TurnBar[], color: ColorOf): string {
  const svg = new SvgWriter(size.width, size.height, color('paper'), title)
  svg.text(size.left, 24, title, { color: color('ink'), size: 18, isBold: true })
  svg.text(size.left, 46, sentence, { color: color('ink') })
  const wide = (size.width - 2 * size.left) / Math.max(1, bars.length)
  const ground = size.height - size.bottom
  const highest = Math.max(...bars.map(({ height }) => height), 1e-12)
  for (const [index, { from, to, height, kept }] of bars.entries()) {
    const high = Math.max(2, (height / highest) * (ground - size.top))
    const x = size.left + index * wide
    const width = Math.max(1, wide - 1)
    const name = from === to ? `turn ${from}` : `turns ${from} to ${to}`
    svg.rect(x, ground - high, width, high, color('line'), `${name}: would not have been`)
    svg.rect(x, ground - high, width * kept, high, color('series-1'), `${name}: would have been`)
  }
  const stop = stopPlace(bars)
  if (stop !== null) {
    const x = size.left + stop * wide
    svg.line(
      [
        { x, y: size.top - 6 },
        { x, y: ground + 6 },
      ],
      { color: color('bad'), width: 2 },
      'would have stopped',
    )
  }
  svg.text(size.left, ground + 22, 'turn 1', { color: color('soft') })
  svg.text(size.width - size.left, ground + 22, `turn ${bars.at(-1)?.to ?? 0}`, { color: color('soft'), anchor: 'end' })
  return svg.end()
}

/** What the height of bars is, in words. */
export function heightWords({ turns }: Trajectory): string {
  const nanos = turns.flatMap(({ payments }) => payments).reduce((sum, payment) => sum + payment.nanos, 0)
  return nanos > 0
    ? `A bar is as high as its turn was dear; together they cost ${money(nanos / 1e9)}.`
    : 'A bar is as high as the tokens of its turn.'
}
