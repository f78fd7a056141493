import { describe, expect, it } from 'vitest'
import { histogramOf } from '../../../src/page/sessions/distribution.ts'
import { svgOfHistogram, svgOfWords } from '../../../src/page/sessions/distribution-svg.ts'

const named = (svg: string): readonly string[] =>
  [...svg.matchAll(/<rect [^>]*height="([\d.]+)"[^>]*><title>([^<]*)<\/title>/g)].map(
    ([, height = '', name = '']) => `${height} ${name}`,
  )

describe('a picture of a distribution', () => {
  it('has a bar for each range, as high as its count', () => {
    const svg = svgOfHistogram('Turns', 'turns', histogramOf([3, 4, 4, 6], 'turns'), (name) => name)
    expect(named(svg)).toEqual([
      '106 3 to 4 turns: 1 session',
      '212 4 to 5 turns: 2 sessions',
      '0 5 to 6 turns: 0 sessions',
      '106 6 to 7 turns: 1 session',
    ])
    expect(svg).toContain('>Turns, linear scale</text>')
    expect(svg).toContain('>highest bar: 2 sessions</text>')
  })

  it('has what words say as text', () => {
    const svg = svgOfWords('Models', [{ word: '<script>"&', count: 2, color: 'series-1' }], (name) => name)
    expect(svg).toContain('<title>&lt;script&gt;&quot;&amp;: 2 sessions</title>')
    expect(svg).not.toContain('<script')
  })
})
