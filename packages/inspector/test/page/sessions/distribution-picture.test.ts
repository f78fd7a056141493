import { describe, expect, it } from 'vitest'
import { histogramOf } from '../../../src/page/sessions/distribution.ts'
import { svgOfPicture } from '../../../src/page/picture/picture.ts'
import { pictureOfHistogram, pictureOfWords } from '../../../src/page/sessions/distribution-picture.ts'
import { madeFrom, textsOf } from '../support/picture-text.ts'

const titlesIn = (svg: string): readonly string[] =>
  [...svg.matchAll(/<rect [^>]*height="([\d.]+)"[^>]*><title>([^<]*)<\/title>/g)].map(
    ([, height = '', name = '']) => `${height} ${name}`,
  )

describe('a picture of a distribution', () => {
  it('has a bar for each range, as high as its count', () => {
    const of = { title: 'Turns', sessions: 4, about: ['All sessions.'] }
    const svg = svgOfPicture(pictureOfHistogram(of, 'turns', histogramOf([3, 4, 4, 6], 'turns')), madeFrom)
    expect(titlesIn(svg)).toEqual([
      '98 3 to 4 turns: 1 session',
      '196 4 to 5 turns: 2 sessions',
      '0 5 to 6 turns: 0 sessions',
      '98 6 to 7 turns: 1 session',
    ])
    expect(textsOf(svg)).toEqual([
      'Turns of 4 sessions',
      'a test · 2026-11-23 14:05 (UTC)',
      'All sessions.',
      'Scale: linear; the highest bar is 2 sessions.',
      '3',
      '7',
    ])
  })

  it('has the counts of words as text', () => {
    const of = { title: 'Models', sessions: 2, about: [] }
    const svg = svgOfPicture(pictureOfWords(of, [{ word: '<script>"&', count: 2, color: 'series-1' }]), madeFrom)
    expect(svg).toContain('<title>&lt;script&gt;&quot;&amp;: 2</title>')
    expect(svg).not.toContain('<script')
  })
})
