import { counted, elapsed, many, money, visible } from '@halting/analysis/words'
import type { Range, RangeDimension } from './filter.ts'
import { figureNames, type FigureName } from './row-kinds.ts'

/** A figure as text, with a unit if it needs one. */
export function figureText(figure: FigureName, value: number): string {
  if (figure === 'costUsd') return money(value)
  return figure === 'activeMs' ? elapsed(value) : counted(value)
}

/** The cost, with the models that are not included because they have no price: `no price`, `$0.0123 without gpt-x`. */
export function costWithGaps(costUsd: number, unpriced: readonly string[]): string {
  if (unpriced.length === 0) return money(costUsd)
  return costUsd === 0 ? 'no price' : `${money(costUsd)} without ${unpriced.map((model) => visible(model)).join(', ')}`
}

/** `$0.10 to $0.20`, `below 5 turns`, `10 turns or more`. */
export function rangeText(dimension: RangeDimension, { from, below }: Range): string {
  const text = (value: number): string => (dimension === 'changedAt' ? dayAndTime(value) : edgeText(dimension, value))
  const unit =
    dimension === 'changedAt' || dimension === 'costUsd' || dimension === 'activeMs' ? '' : ` ${figureNames[dimension]}`
  if (from === undefined) return below === undefined ? 'any' : `below ${text(below)}${unit}`
  return below === undefined ? `${text(from)}${unit} or more` : `${text(from)} to ${text(below)}${unit}`
}

/** The bound of a range with as many digits as it needs: `$0.00002` and not `$0.0000`. */
export function edgeText(figure: FigureName, value: number): string {
  const isSmall = figure === 'costUsd' && value > 0 && value < 0.0001
  return isSmall ? `$${value.toFixed(9).replace(/0+$/, '')}` : figureText(figure, value)
}

/** `2026-11-23 14:05`, in the time zone of the browser. */
export function dayAndTime(at: number): string {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return 'unknown'
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
}

/** `5 sessions`, `1 of 5 sessions`. */
export function shownOf(shown: number, all: number): string {
  return shown === all ? many(all, 'session') : `${counted(shown)} of ${many(all, 'session')}`
}
