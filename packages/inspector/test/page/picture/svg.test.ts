import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { escapeXml, SvgWriter } from '../../../src/page/picture/svg.ts'

describe('pictures as SVG', () => {
  it('contain what was drawn, with its names', () => {
    const svg = new SvgWriter(100, 50, '#fff', 'A <b> & "c"')
      .rect(1, 2.345, 3, 4, 'red', 'first & last')
      .line(
        [
          { x: 0, y: 0 },
          { x: 10, y: 5.5 },
        ],
        { color: 'blue', isDashed: true },
      )
      .text(5, 6, '<script>alert(1)</script>', { color: 'black', anchor: 'end' })
      .clipped(0, 0, 10, 10, () => undefined)
      .end()
    expect(svg).toContain('<title>A &lt;b&gt; &amp; &quot;c&quot;</title>')
    expect(svg).toContain('<rect x="1" y="2.35" width="3" height="4" fill="red"><title>first &amp; last</title></rect>')
    expect(svg).toContain(
      '<polyline points="0,0 10,5.5" fill="none" stroke="blue" stroke-width="1.5" stroke-dasharray="6 4"/>',
    )
    expect(svg).toContain('>&lt;script&gt;alert(1)&lt;/script&gt;</text>')
    expect(svg).toContain('viewBox="0 0 100 50"')
  })

  it('draw a value that is not a number', () => {
    const svg = new SvgWriter(10, 10, '#fff', 'x').rect(Number.NaN, Infinity, -3, 1, 'red').end()
    expect(svg).toContain('<rect x="0" y="0" width="0" height="1" fill="red"/>')
  })

  it('escape any text, and drop what XML cannot express', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffff)), (units) => {
        const text = escapeXml(`${String.fromCharCode(...units)}\u0000\uD800<&>"`)
        expect(text).not.toMatch(/[<>"]|&(?!amp;|lt;|gt;|quot;)/)
        expect(text).not.toMatch(/\p{Surrogate}|[^\P{Cc}\t\n\r\u007F-\u009F]/u)
      }),
    )
  })
})
