import { programNames, type ForeignSession, type LongLine, type Skipped } from './session.ts'
import { many, money } from '../words/figures.ts'

/** What was passed over in files of other programs, in a sentence; '' for nothing. */
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

/** Some of these lines by name. */
function firstOf(lines: readonly LongLine[]): string {
  return lines
    .slice(0, 3)
    .map(({ file, line }) => `line ${line} of ${file}`)
    .join(', ')
}

/** What models cost that have no price; '' where all have one. */
export function unpricedText(models: readonly string[]): string {
  const all = [...new Set(models)].map((model) => (model === '' ? 'a model without a name' : model))
  return all.length === 0
    ? ''
    : `No price is known for ${all.join(', ')}, so its cost is not included. Set a price with modelPrices in your settings.`
}

/** What a program has counted itself, beside what we count; '' where it did not. */
export function recordedText(
  sessions: readonly {
    /** The session. */
    readonly foreign: ForeignSession
    /** US dollars, at the prices of this machine. */
    readonly costUsd: number
  }[],
): string {
  const told = sessions.filter(({ foreign }) => foreign.recordedUsd !== undefined)
  const [first] = told
  if (first === undefined) return ''
  const recorded = told.reduce((sum, { foreign }) => sum + (foreign.recordedUsd ?? 0), 0)
  const own = told.reduce((sum, { costUsd }) => sum + costUsd, 0)
  const name = programNames[first.foreign.program]
  // Of a cent in ten thousand nobody wants to know.
  const isSame = Math.abs(recorded - own) < 1e-6
  const where = sessions.length > 1 ? ` for ${many(told.length, 'session')}` : ''
  return isSame
    ? `${name} counted ${money(recorded)}${where}, the same as computed here.`
    : `${name} counted ${money(recorded)}${where}; with the prices known here it is ${money(own)}.`
}
