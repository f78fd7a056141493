import type { SessionView } from '@halting/analysis/view'
import { stacked, sideBySide, heading, paragraph, tight, type Block } from '../picture/block.ts'
import type { Picture } from '../picture/picture.ts'
import { table, maxPictureRows, type PictureCell } from '../picture/table.ts'
import { turnAt, type ComparedFigure } from './differences.ts'
import { callTexts, pairMark, pairText, sideTexts, turnLines, turnName } from './pair-words.ts'
import type { ShownPairs } from './turn-pairs.tsx'
import type { ComparedTurn } from './turns.ts'

/** The comparison as shown on the page. */
export interface PicturedComparison {
  readonly views: readonly [SessionView, SessionView]
  /** The compared runs of each session, in words. */
  readonly runs: readonly [string, string]
  readonly figures: readonly ComparedFigure[]
  /** The first difference, in words. */
  readonly divergence: string
  readonly first: readonly ComparedTurn[]
  readonly second: readonly ComparedTurn[]
}

/** A picture of two sessions, turn by turn. */
export function pictureOfComparison(
  { views, runs, figures, divergence, first, second }: PicturedComparison,
  { pairs, isOnlyDifferent, chosen }: ShownPairs,
): Picture {
  const [one, other] = views
  return {
    title: 'Two sessions, turn by turn',
    about: isOnlyDifferent ? ['Only the turns that differ.'] : [],
    width: 1_200,
    blocks: [
      sideBySide([head('First', one, runs[0]), head('Second', other, runs[1])]),
      table({
        columns: [
          { title: '' },
          { title: 'First', isNumber: true },
          { title: 'Second', isNumber: true },
          { title: changeTitle, isNumber: true },
        ],
        rows: figures.map(({ name, ...texts }) =>
          [name, texts.first, texts.second, texts.change].map((text) => ({ text })),
        ),
        total: { count: figures.length, name: 'figures' },
      }),
      paragraph(divergence, { isBold: true }),
      table({
        columns: [{ title: 'First' }, { title: '' }, { title: 'Second' }],
        rows: pairs
          .slice(0, maxPictureRows)
          .map(({ pair, differences }): readonly PictureCell[] => [
            { text: sideText(turnAt(first, pair.first), first) },
            { text: `${pairMark(pair, differences)} ${pairText(pair, differences)}` },
            { text: sideText(turnAt(second, pair.second), second) },
          ]),
        total: { count: pairs.length, name: 'pairs of turns' },
        maxLines: 8,
      }),
      ...(chosen === undefined
        ? []
        : [
            heading('The selected pair of turns'),
            paragraph(pairText(chosen.pair, chosen.differences)),
            sideBySide([
              wholeTurn(first, turnAt(first, chosen.pair.first), turnAt(second, chosen.pair.second)),
              wholeTurn(second, turnAt(second, chosen.pair.second), turnAt(first, chosen.pair.first)),
            ]),
          ]),
    ],
  }
}

export const changeTitle = 'Change'

function head(name: string, view: SessionView, runs: string): Block {
  const { title, from } = sideTexts(view)
  const style = { color: 'soft', size: 13 } as const
  return stacked([
    heading(`${name}: ${title}`),
    paragraph(from, style),
    ...(runs === '' ? [] : [paragraph(runs, style)]),
  ])
}

function sideText(turn: ComparedTurn | undefined, turns: readonly ComparedTurn[]): string {
  if (turn === undefined) return ''
  const [model, calls, own, soFar] = turnLines(turn)
  return [`${turnName(turn, turns)} ${model}`, calls, own, soFar].map((line) => line.replaceAll(/\s+/g, ' ')).join('\n')
}

/** The maximum number of calls shown for one turn. */
const maxCalls = 60

function wholeTurn(
  turns: readonly ComparedTurn[],
  turn: ComparedTurn | undefined,
  counterpart: ComparedTurn | undefined,
): Block {
  if (turn === undefined) return paragraph('No turn here.', { color: 'soft' })
  const [model, , own, soFar] = turnLines(turn)
  const calls = callTexts(turn, counterpart)
  return stacked(
    [
      paragraph(`${turnName(turn, turns)}: ${model}`, { isBold: true }),
      paragraph(`${own}; ${soFar}`),
      ...(calls.length === 0 ? [paragraph('An answer without tool calls.')] : []),
      ...calls
        .slice(0, maxCalls)
        .map(({ text, differs }) => paragraph(`• ${text}${differs === '' ? '' : ` ${differs}`}`)),
      ...(calls.length > maxCalls ? [paragraph(`${calls.length - maxCalls} more calls are not in this picture.`)] : []),
    ],
    tight,
  )
}
