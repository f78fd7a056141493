// Holds rules of docs/spec: R-MEDIA-13 to R-MEDIA-15. With the real library, and with ones that fail as it may.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFitImage, createPrepareContent, type Sharp, type SharpImage } from '@halting/agent'
import { defaultMediaLimits, imageFactsOf, type ImageBlock } from '@halting/core/adapters'
import type { MessageContent } from '@halting/core'
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { codingTools } from '../support/harness.ts'

const grey = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: { r: 90, g: 90, b: 90 } } })

/** Pixels of every colour, which no format compresses. */
const noise = (side: number) => {
  const pixels = Buffer.alloc(side * side * 3)
  let seed = 1
  for (let index = 0; index < pixels.length; index++) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    pixels[index] = seed >>> 24
  }
  return sharp(pixels, { raw: { width: side, height: side, channels: 3 } })
}

const bytesOf = ({ source }: ImageBlock): Buffer => Buffer.from(source.data ?? '', 'base64')
const fit = createFitImage()
const without = createFitImage({ library: async () => undefined })

async function fitted(bytes: Uint8Array, fitter = fit) {
  const image = await fitter(bytes)
  if (image.kind === 'refused') throw new Error(image.why)
  const facts = imageFactsOf(bytesOf(image.block))
  expect(facts?.type).toBe(image.type)
  expect(image.block.source.media_type).toBe(image.type)
  expect(image.block.source.data?.length).toBeLessThanOrEqual(defaultMediaLimits.imageEncodedBytes)
  return { type: image.type, size: facts?.size, isSmaller: image.isSmaller, bytes: bytesOf(image.block) }
}

describe('an image', () => {
  test('that fits stays byte for byte unchanged', async () => {
    const bytes = await grey(2_000, 10).png().toBuffer()
    const { isSmaller, bytes: sent } = await fitted(bytes)
    expect([isSmaller, sent.equals(bytes)]).toEqual([false, true])
  })

  test.each([
    ['png', 'image/png'],
    ['webp', 'image/png'],
    ['gif', 'image/png'],
    ['jpeg', 'image/jpeg'],
  ] as const)('of many pixels gets 2,000 on its longer side (%s)', async (format, type) => {
    const { size, ...rest } = await fitted(await grey(4_000, 1_000).toFormat(format).toBuffer())
    expect([rest.type, size, rest.isSmaller]).toEqual([type, { width: 2_000, height: 500 }, true])
  })

  test('of 9000x6000 px, which a service would refuse, is reduced', async () => {
    const { size } = await fitted(await grey(9_000, 6_000).png().toBuffer())
    expect(size).toEqual({ width: 2_000, height: 1_333 })
  })

  test('of many bytes becomes a JPEG below 5 MB', async () => {
    const bytes = await noise(1_900).png({ compressionLevel: 0 }).toBuffer()
    expect(bytes.length).toBeGreaterThan(5 * 1024 * 1024)
    const { type, size } = await fitted(bytes)
    expect([type, size]).toEqual(['image/jpeg', { width: 1_900, height: 1_900 }])
  })

  test('is rotated as its metadata says', async () => {
    const lying = await grey(3_000, 1_000).jpeg().withMetadata({ orientation: 6 }).toBuffer()
    expect((await fitted(lying)).size).toEqual({ width: 667, height: 2_000 })
  })

  test('that is transparent stays so as a PNG', async () => {
    const clear = sharp({
      create: { width: 3_000, height: 9, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } },
    })
    const { bytes } = await fitted(await clear.png().toBuffer())
    expect((await sharp(bytes).stats()).isOpaque).toBe(false)
  })
})

describe('without the library', () => {
  test('an image that a service accepts is unchanged', async () => {
    const bytes = await grey(4_000, 4_000).png().toBuffer()
    const { isSmaller, size } = await fitted(bytes, without)
    expect([isSmaller, size]).toEqual([false, { width: 4_000, height: 4_000 }])
  })

  test('any other is refused with the problem and advice', async () => {
    expect(await without(await grey(9_000, 10).png().toBuffer())).toEqual({
      kind: 'refused',
      why: 'The image is 9000x10 px; at most 8000x8000 are accepted. Make it smaller, or install sharp (npm i sharp) to have images resized automatically.',
    })
  })
})

describe('a library that fails', () => {
  const failing = (toBuffer: () => Promise<Uint8Array>): Sharp => {
    const image: SharpImage = {
      timeout: () => image,
      rotate: () => image,
      resize: () => image,
      flatten: () => image,
      jpeg: () => image,
      png: () => image,
      toBuffer,
    }
    return () => image
  }

  test('is reported; an image that a service accepts is unchanged', async () => {
    const broken = createFitImage({ library: async () => failing(() => Promise.reject(new Error('no memory'))) })
    expect(await broken(await grey(9_000, 10).png().toBuffer())).toMatchObject({
      kind: 'refused',
      // No advice to install what is installed.
      why: 'The image is 9000x10 px; at most 8000x8000 are accepted. Make it smaller. Resizing failed: no memory.',
    })
    expect(await broken(await grey(3_000, 10).png().toBuffer())).toMatchObject({ kind: 'image', isSmaller: false })
  })

  test('to make it small enough says so', async () => {
    const useless = createFitImage({ library: async () => failing(async () => Buffer.alloc(6_000_000)) })
    expect(await useless(await grey(9_000, 10).jpeg().toBuffer())).toMatchObject({
      why: expect.stringMatching(/Resizing could not make it small enough\.$/) as string,
    })
  })

  test('receives one image after another: many large ones would use up the memory', async () => {
    let [atWork, most] = [0, 0]
    const slow = async () => {
      most = Math.max(most, ++atWork)
      await new Promise((resolve) => setImmediate(resolve))
      atWork--
      throw new Error('no memory')
    }
    const fitter = createFitImage({ library: async () => failing(slow) })
    const bytes = await grey(3_000, 10).png().toBuffer()
    await Promise.all([fitter(bytes), fitter(bytes), fitter(bytes)])
    expect(most).toBe(1)
  })

  test('because the file is truncated is reported', async () => {
    const cut = (await noise(400).jpeg().toBuffer()).subarray(0, 300)
    const wide = Buffer.from(cut)
    const frame = wide.indexOf(Buffer.from([0xff, 0xc0]))
    wide.writeUInt16BE(60_000, frame + 7)
    expect(await fit(wide)).toMatchObject({
      why: expect.stringMatching(/Resizing failed: /) as string,
    })
  })
})

test('Read shows a reduced large image', async () => {
  const { use, cwd } = codingTools()
  writeFileSync(join(cwd, 'photo.png'), await noise(2_400).png().toBuffer())
  const { output, details, isError } = await use('Read', { file_path: 'photo.png' })
  const [block] = output.content as readonly ImageBlock[]
  expect([isError, details['madeSmaller'], details['mediaType']]).toEqual([false, true, 'image/jpeg'])
  expect(block === undefined ? undefined : imageFactsOf(bytesOf(block))?.size).toEqual({ width: 2_000, height: 2_000 })
})

describe('a prompt', () => {
  const prepare = createPrepareContent()
  const imageOf = (bytes: Buffer): ImageBlock => ({
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: bytes.toString('base64') },
  })

  test('has its large images reduced, and nothing else changed', async () => {
    const small = imageOf(await grey(5, 5).png().toBuffer())
    const large = imageOf(await grey(9_000, 10).png().toBuffer())
    const address = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } } as const
    const content: MessageContent = [{ type: 'text', text: 'look' }, small, large, address]
    const prepared = await prepare(content)
    expect([prepared[0], prepared[1], prepared[3]]).toEqual([content[0], small, address])
    expect(imageFactsOf(bytesOf(prepared[2] as ImageBlock))?.size).toEqual({ width: 2_000, height: 2 })
  })

  test('without images is unchanged', async () => {
    const content: MessageContent = [imageOf(Buffer.from('no image')), imageOf(await grey(5, 5).png().toBuffer())]
    expect(await prepare(content)).toBe(content)
    expect(await prepare('text')).toBe('text')
  })
})
