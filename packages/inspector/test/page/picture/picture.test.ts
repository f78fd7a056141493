import { describe, expect, it } from 'vitest'
import { barRows } from '../../../src/page/picture/bars.ts'
import { stacked, sideBySide, code, heading, paragraph, tight } from '../../../src/page/picture/block.ts'
import { legendBlock } from '../../../src/page/picture/legend.ts'
import { svgOfPicture, type Picture } from '../../../src/page/picture/picture.ts'
import { table } from '../../../src/page/picture/table.ts'
import { hostileText } from '../../../../analysis/test/support/sessions.ts'
import { madeFrom, textsOf } from '../support/picture-text.ts'

const svgOf = (blocks: Picture['blocks'], more: Partial<Picture> = {}): string =>
  svgOfPicture({ title: 'A view', about: [], width: 600, blocks, ...more }, madeFrom)

const heightOf = (svg: string): number => Number(/height="(\d+)"/.exec(svg)?.[1])

describe('a picture of a view', () => {
  it('says what it shows and when it was made, and lays out its blocks in rows and columns', () => {
    const svg = svgOf(
      [
        heading('Limits'),
        sideBySide([stacked([paragraph('left'), paragraph('below it')], tight), paragraph('right')]),
        barRows([
          { label: 'turns', share: 0.5, value: '7 of 14', color: 'accent' },
          { label: 'time', share: null, value: '3 s, no limit', color: 'soft' },
        ]),
        legendBlock([{ label: 'model', color: 'kind-attempt' }]),
        code('  indented\n'),
      ],
      { about: ['Of a session.'] },
    )
    expect(textsOf(svg)).toEqual([
      'A view',
      'a test · 2026-11-23 14:05 (UTC)',
      'Of a session.',
      'Limits',
      'left',
      'below it',
      'right',
      'turns',
      '7 of 14',
      'time',
      '3 s, no limit',
      'model',
      '  indented',
    ])
    expect(svg).toContain('<title>turns: 7 of 14</title>')
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" width="600" /)
  })

  it('shows as many of ten thousand rows as are readable, and says how many are left out', () => {
    const rows = Array.from({ length: 10_000 }, (_, index) => [{ text: `session ${index}` }, { text: '1' }])
    const svg = svgOf([
      table({
        columns: [{ title: 'Session' }, { title: 'Turns', isNumber: true }],
        rows,
        total: { count: rows.length, name: 'sessions' },
      }),
    ])
    const texts = textsOf(svg)
    expect(texts.filter((text) => text.startsWith('session '))).toEqual(
      Array.from({ length: 200 }, (_, index) => `session ${index}`),
    )
    expect(texts.at(-1)).toBe('9,800 more sessions are not in this picture.')
    expect(heightOf(svg)).toBeLessThan(8_000)
  })

  it('shows the start of an endless text, and says so', () => {
    const endless = 'word '.repeat(100_000)
    const cells = [[{ text: endless }, { text: endless }]]
    const svg = svgOf(
      [
        paragraph(endless),
        code(endless.replaceAll(' ', '\n')),
        barRows([{ label: endless, share: 1, value: endless, color: 'bad' }]),
        legendBlock([{ label: endless, color: 'bad' }]),
        table({ columns: [{ title: endless }, { title: endless }], rows: cells, total: { count: 1, name: 'rows' } }),
      ],
      { title: endless, about: [endless] },
    )
    expect(svg.length).toBeLessThan(600_000)
    expect(heightOf(svg)).toBeLessThan(8_000)
    expect(textsOf(svg).filter((text) => text.endsWith('…')).length).toBeGreaterThan(6)
    expect(textsOf(svg)).toContain('… 19,700 more lines are not in this picture')
  })

  it('shows every character of an untrusted text and interprets none', () => {
    const text = hostileText
    const svg = svgOf(
      [
        paragraph(text),
        code(text),
        barRows([{ label: text, share: 1, value: text, color: 'bad' }]),
        legendBlock([{ label: text, color: 'bad' }]),
        table({ columns: [{ title: text }], rows: [[{ text, mark: 'bad' }]], total: { count: 1, name: 'rows' } }),
      ],
      { title: text, about: [text] },
    )
    expect(svg).not.toMatch(/<script|<img|<style|<!--|<a |onload="|onerror="/)
    expect(svg).not.toMatch(/[^\P{Cc}\n]|[\u202A-\u202E\u2066-\u2069\u2028\u2029]/u)
    expect(textsOf(svg).join('').replaceAll(' ', '')).toContain('⟦U+202E⟧txt.exe⟦U+202C⟧')
  })
})
