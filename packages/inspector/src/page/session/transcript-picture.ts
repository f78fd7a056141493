import { counted, many } from '@halting/analysis/words'
import type { CallPart, TranscriptPart } from '@halting/analysis/view'
import { stacked, code, paragraph, tight, type Block } from '../picture/block.ts'
import type { Picture } from '../picture/picture.ts'
import { callLine } from './part-words.ts'

/** The visible parts of the transcript, from this index on. */
export interface PicturedTranscript {
  readonly parts: readonly TranscriptPart[]
  readonly from: number
  /** Number of parts of the run. */
  readonly count: number
  /** Whether a part, by index, is unfolded. */
  readonly isOpen: (number: number) => boolean
}

/** The maximum number of parts in a picture. */
const maxParts = 40
const [maxLines, maxFolded] = [16, 4_000] as const

export function pictureOfTranscript({ parts, from, count, isOpen }: PicturedTranscript): Picture {
  const shownParts = parts.slice(0, maxParts)
  const last = from + shownParts.length
  return {
    title: 'Transcript',
    about: [`Parts ${counted(from + 1)} to ${counted(last)} of ${counted(count)}.`],
    width: 960,
    blocks: [
      ...shownParts.map((part, index) => partBlock(part, isOpen(from + index))),
      ...(last < count ? [paragraph(`${counted(count - last)} later parts are not in this picture.`)] : []),
    ],
  }
}

function partBlock(part: TranscriptPart, isOpen: boolean): Block {
  const title = (text: string): Block => paragraph(text, { color: 'soft', size: 12, isBold: true })
  switch (part.kind) {
    case 'person':
      return stacked([title(part.by), paragraph(part.text, { maxLines })], tight)
    case 'answer':
      return stacked([title('answer'), paragraph(part.text, { maxLines })], tight)
    case 'thinking':
      return isOpen ? stacked([title('thinking'), paragraph(part.text, { maxLines })], tight) : title('thinking')
    case 'note':
      return stacked([
        paragraph(part.text, { maxLines }),
        ...(isOpen && part.more !== undefined ? [paragraph(part.more, { maxLines })] : []),
      ])
    case 'check': {
      const line = paragraph(part.text, { size: 13, ...(part.status === 'met' ? {} : { color: 'bad' as const }) })
      return isOpen && part.more !== '' ? stacked([line, code(part.more.slice(0, maxFolded))]) : line
    }
    case 'call':
      return callBlock(part, isOpen)
  }
}

function callBlock(part: CallPart, isOpen: boolean): Block {
  const { name, input: shortInput, failure, facts } = callLine(part)
  const line = paragraph([name, shortInput, failure, facts].filter((text) => text !== '').join(' · '), {
    size: 13,
    ...(failure === '' ? {} : { color: 'bad' }),
  })
  if (!isOpen) return line
  const { input, changes, result, isError, agent } = part
  const folded = (title: string, text: string): readonly Block[] =>
    text === ''
      ? []
      : [
          paragraph(title, { color: 'soft', size: 12 }),
          code(text.length > maxFolded ? `${text.slice(0, maxFolded)}…` : text),
        ]
  return stacked([
    line,
    ...folded('Input', input),
    ...folded('Changes', changes.join('\n')),
    ...folded(isError ? 'Error' : 'Result', result ?? ''),
    ...(agent.length === 0 ? [] : [paragraph(`Work of the subagent: ${many(agent.length, 'part')}`, { size: 13 })]),
  ])
}
