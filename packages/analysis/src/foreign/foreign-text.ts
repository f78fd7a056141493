import { programNames, type ForeignSession, type LongLine, type Skipped } from './session.ts'
import { many, money } from '../words/figures.ts'

/** A sentence on what was skipped in files of other programs; '' for nothing. */
export function skippedText(all: readonly Skipped[]): string {
  const sum = (count: (skipped: Skipped) => number): number => all.reduce((total, each) => total + count(each), 0)
  const unknown = sum((each) => each.unknown)
  const kinds = [...new Set(all.flatMap((each) => each.kinds))].slice(0, 5)
  const damaged = sum(({ damaged: count }) => count)
  const tooLong = all.flatMap((each) => each.tooLong)
  const stray = sum(({ strayResults }) => strayResults)
  const copied = sum(({ copied: count }) => count)
  const parts = [
    ...(unknown > 0 ? [`${many(unknown, 'record')} of unknown kinds (${kinds.join(', ')})`] : []),
    ...(damaged > 0 ? [many(damaged, 'damaged line')] : []),
    ...(tooLong.length > 0 ? [`${many(tooLong.length, 'line')} too long to be read (${firstOf(tooLong)})`] : []),
    ...(stray > 0 ? [`${many(stray, 'result')} without a call`] : []),
    ...(copied > 0 ? [`${many(copied, 'line')} copied from another of these sessions`] : []),
  ]
  const without = sum(({ withoutFigures }) => withoutFigures)
  return [
    ...(parts.length > 0 ? [`Skipped: ${parts.join(', ')}.`] : []),
    ...(without > 0 ? [`No figures are recorded for ${many(without, 'request')}.`] : []),
  ].join(' ')
}

/** Locations of the first of these lines. */
function firstOf(lines: readonly LongLine[]): string {
  return lines
    .slice(0, 3)
    .map(({ file, line }) => `line ${line} of ${file}`)
    .join(', ')
}

/** A sentence on models without a price; '' when all have one. */
export function unpricedText(models: readonly string[]): string {
  const all = [...new Set(models)].map((model) => (model === '' ? 'a model without a name' : model))
  return all.length === 0
    ? ''
    : `No price is known for ${all.join(', ')}, so its cost is not included. Set a price with modelPrices in your settings.`
}

/** Compares the cost that a program recorded with ours; '' when it recorded none. */
export function recordedText(
  sessions: readonly {
    /** The session. */
    readonly foreign: ForeignSession
    /** US dollars, at the prices of this machine. */
    readonly costUsd: number
  }[],
): string {
  const withCost = sessions.filter(({ foreign }) => foreign.recordedUsd !== undefined)
  const [first] = withCost
  if (first === undefined) return ''
  const recorded = withCost.reduce((sum, { foreign }) => sum + (foreign.recordedUsd ?? 0), 0)
  const own = withCost.reduce((sum, { costUsd }) => sum + costUsd, 0)
  const name = programNames[first.foreign.program]
  // Differences far below a cent are rounding.
  const isSame = Math.abs(recorded - own) < 1e-6
  const where = sessions.length > 1 ? ` for ${many(withCost.length, 'session')}` : ''
  return isSame
    ? `${name} counted ${money(recorded)}${where}, the same as computed here.`
    : `${name} counted ${money(recorded)}${where}; with the prices known here it is ${money(own)}.`
}
