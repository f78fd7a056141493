// Tests R-MEDIA-1 to R-MEDIA-2a.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mediaProblem, type MediaLimits } from '../../src/entries/adapters.ts'
import { bytesOfBase64, textAt } from '../../src/model/media/bytes.ts'
import { imageFactsOf } from '../../src/model/media/image-facts.ts'
import { defaultMediaLimits } from '../../src/model/media/limits.ts'
import { isPdf, pdfPagesOf } from '../../src/model/media/pdf-pages.ts'
import type { ContentBlock } from '../../src/index.ts'
import { gifHead, imageOf, jpegHead, pdf, png, pngHead, webpHead } from '../support/images.ts'

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

describe('bytes of base64', () => {
  test('are the decoded bytes, at every offset', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const read = bytesOfBase64(base64(bytes))
        expect(read.length).toBe(bytes.length)
        expect(Array.from({ length: bytes.length + 2 }, (_, index) => read.at(index))).toEqual([
          ...bytes,
          undefined,
          undefined,
        ])
        expect(textAt(read, 0, 100)).toBe(Buffer.from(bytes).toString('latin1'))
      }),
    )
  })

  test('are unknown when the text is not base64', () => {
    expect([bytesOfBase64('!!!!').at(0), bytesOfBase64('éé').at(0), bytesOfBase64('').at(0)]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })
})

describe('an image is recognized by its own bytes', () => {
  test.each([
    ['png', png(3, 5), 'image/png'],
    ['gif', gifHead(3, 5), 'image/gif'],
    ['jpeg', jpegHead(3, 5), 'image/jpeg'],
    ['jpeg after a long profile', jpegHead(3, 5, 65_000), 'image/jpeg'],
    ['webp', webpHead('VP8 ', 3, 5), 'image/webp'],
    ['lossless webp', webpHead('VP8L', 3, 5), 'image/webp'],
    ['extended webp', webpHead('VP8X', 3, 5), 'image/webp'],
  ])('%s', (_name, bytes, type) => {
    const facts = { type, size: { width: 3, height: 5 } }
    expect([imageFactsOf(bytes), imageFactsOf(bytesOfBase64(base64(bytes)))]).toEqual([facts, facts])
  })

  test('with its own size at the limits of each kind', () => {
    expect(imageFactsOf(webpHead('VP8L', 16_383, 16_383))?.size).toEqual({ width: 16_383, height: 16_383 })
    expect(imageFactsOf(webpHead('VP8X', 16_777_216, 1))?.size).toEqual({ width: 16_777_216, height: 1 })
    expect(imageFactsOf(pngHead(4_294_967_295, 1))?.size).toEqual({ width: 4_294_967_295, height: 1 })
  })

  test('cut anywhere, keeps its kind or is unknown, without an error', () => {
    for (const bytes of [png(3, 5), gifHead(3, 5), jpegHead(3, 5), webpHead('VP8L', 3, 5)]) {
      const whole = imageFactsOf(bytes)
      for (let length = 0; length < bytes.length; length++) {
        const facts = imageFactsOf(bytes.subarray(0, length))
        expect([undefined, whole?.type]).toContain(facts?.type)
        expect([undefined, whole?.size]).toContainEqual(facts?.size)
      }
    }
  })
})

/** Headers of every kind, followed by anything. */
const anything = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc
    .tuple(
      fc.constantFrom(
        '\x89PNG\r\n\x1a\n',
        '\xff\xd8\xff',
        'GIF89a',
        'RIFF....WEBPVP8 ',
        'RIFF....WEBPVP8L',
        '%PDF-1.7',
      ),
      fc.uint8Array({ maxLength: 300 }),
    )
    .map(([head, rest]) => new Uint8Array([...Buffer.from(head, 'latin1'), ...rest])),
)

/** Bytes that count how often they are read. */
function counted(bytes: Uint8Array, length: number): { reads: number; length: number; at(index: number): number } {
  return {
    reads: 0,
    length,
    at(index) {
      this.reads++
      return bytes[index % Math.max(1, bytes.length)] ?? 0
    },
  }
}

describe('any bytes', () => {
  test('are read without an error', () => {
    fc.assert(
      fc.property(anything, fc.boolean(), (bytes, isPng) => {
        const data = base64(bytes)
        const type = isPng ? 'image/png' : 'image/jpeg'
        imageFactsOf(bytes)
        pdfPagesOf(bytes)
        expect(['string', 'undefined']).toContain(typeof mediaProblem(imageOf(Buffer.from(bytes), type)))
        const document = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } } as const
        expect(['string', 'undefined']).toContain(typeof mediaProblem(document))
      }),
    )
  })

  test('of any length are read at a bounded number of positions', () => {
    fc.assert(
      fc.property(anything, (bytes) => {
        const many = counted(bytes, 50_000_000)
        imageFactsOf(many)
        // Twelve for the type, and at most four for each of 2,000 segments.
        expect(many.reads).toBeLessThan(8_100)
      }),
    )
    const endless = counted(new Uint8Array([0xff]), 50_000_000)
    imageFactsOf({ length: endless.length, at: (index) => (index < 2 ? [0xff, 0xd8][index] : endless.at(index)) })
    expect(endless.reads).toBeLessThan(8_100)
    const document = counted(Buffer.from('/Type /Page /Type /Pages /Count 3 << '), 50_000_000)
    expect(pdfPagesOf(document)).toBeGreaterThan(0)
    expect(document.reads).toBe(2 * 1024 * 1024)
  })

  test('have no facts when they are not media', () => {
    const blocks: unknown[] = [
      { type: 'image' },
      { type: 'image', source: null },
      { type: 'image', source: { type: 'base64' } },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'plain' } },
      { type: 'document', source: 7 },
      { type: 'document' },
      { type: 'text', text: 'x' },
    ]
    for (const block of blocks) expect(mediaProblem(block as ContentBlock)).toBe(undefined)
  })
})

describe('the pages of a PDF', () => {
  const text = (body: string): Buffer => Buffer.from(`%PDF-1.7\n${body}`)

  test.each([
    ['its page objects', text('<</Type/Page/Parent 1 0 R>> <</Type /Page>>'), 2],
    ['the count of its tree', text('<< /Count 250 /Type /Pages >>'), 250],
    ['the highest of its trees', text('<</Type/Pages/Count 20>> <</Type/Pages /Count 300>>'), 300],
    ['its linearized head', text('<< /Linearized 1 /L 9 /N 42 >>'), 42],
    ['no count of an outline', text('<< /Type /Outlines /Count 900 >> << /Type /Page >>'), 1],
    ['no count after its own dictionary', text('<< /Type /Pages >> << /Count 900 >> << /Type /Page >>'), 1],
    ['no compressed object', text('7 0 obj << /Type /ObjStm >> stream'), undefined],
    ['a tree at the end of a large file', Buffer.concat([text(''), Buffer.alloc(5_000_000), pdf(7)]), 7],
  ])('are counted for %s', (_name, bytes, pages) => {
    expect([isPdf(bytes), pdfPagesOf(bytes), pdfPagesOf(bytesOfBase64(base64(bytes)))]).toEqual([true, pages, pages])
  })
})

describe('reports what a service would refuse, with the fix', () => {
  const document = (bytes: Buffer): ContentBlock => ({
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: bytes.toString('base64') },
  })
  const types = 'image/png, image/jpeg, image/gif, image/webp'

  test.each<[ContentBlock, Partial<MediaLimits>, string | undefined]>([
    [imageOf(pngHead(8_000, 8_000)), {}, undefined],
    [imageOf(pngHead(9_000, 6_000)), {}, 'The image is 9000x6000 px; at most 8000x8000 are accepted. Make it smaller.'],
    [imageOf(pngHead(9_000, 6_000)), { imageSidePx: 9_000 }, undefined],
    [
      imageOf(Buffer.concat([png(2, 2), Buffer.alloc(4 * 1024 * 1024)])),
      { advice: 'Install sharp.' },
      'The image has 5.4 MB encoded; at most 5 MB are accepted. Install sharp.',
    ],
    [imageOf(gifHead(2, 2)), {}, 'The image is declared as image/png, but its content is image/gif.'],
    [
      imageOf(gifHead(2, 2), 'image/gif'),
      { imageTypes: ['image/png'] },
      'The image is image/gif; image/png are accepted. Convert it.',
    ],
    [
      imageOf(Buffer.from('BM and more'), 'image/bmp'),
      {},
      `The image is in an unknown format (declared as image/bmp); ${types} are accepted. Convert it.`,
    ],
    [imageOf(Buffer.from('BM and more'), 'image/bmp'), { imageTypes: ['image/bmp'] }, undefined],
    [
      imageOf(Buffer.from('nothing')),
      {},
      `The image is in an unknown format (declared as image/png); ${types} are accepted. Convert it.`,
    ],
    [document(pdf(100)), {}, undefined],
    [document(pdf(101)), {}, 'The PDF has 101 pages; at most 100 are accepted. Send a part of it.'],
    [document(pdf(101)), { pdfPages: 600 }, undefined],
    [
      document(Buffer.from('PK and more')),
      {},
      'The document is declared as application/pdf, but its content is not a PDF.',
    ],
    [
      document(Buffer.concat([pdf(1), Buffer.alloc(3 * 1024 * 1024)])),
      { encodedBytes: 3 * 1024 * 1024 },
      'The document has 4.1 MB encoded; at most 3 MB are accepted. Send a part of it.',
    ],
  ])('%#', (block, limits, problem) => {
    expect(mediaProblem(block, { ...defaultMediaLimits, ...limits })).toBe(problem)
  })
})
