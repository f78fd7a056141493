import { defaultMediaLimits, imageFactsOf, mediaProblem, messageOf } from '@halting/core/adapters'
import type { ImageBlock, ImageFacts, MediaLimits } from '@halting/core/adapters'
import { loadSharp, type Sharp } from './sharp.ts'
import * as texts from './fit-image-texts.ts'

/** An image that a service accepts, or why it cannot be sent. */
export type FittedImage =
  | {
      readonly kind: 'image'
      /** The image. */
      readonly block: ImageBlock
      /** Media type of the image: `image/png`. */
      readonly type: string
      /** Whether the image was reduced. */
      readonly isSmaller: boolean
    }
  | {
      readonly kind: 'refused'
      /** Why the image cannot be sent. */
      readonly why: string
    }

/** Adapts an image to the limits of a service. */
export type FitImage = (bytes: Uint8Array) => Promise<FittedImage>

/** Options of `createFitImage`. */
export interface FitImageOptions {
  /** Limits of the service (default: those of the Messages API). */
  readonly limits?: MediaLimits
  /** Returns the library that reduces images, or undefined if none exists (default: `sharp` if installed). */
  readonly library?: () => Promise<Sharp | undefined>
}

/**
 * Images above 2,000 px or 5 MB encoded are reduced with `sharp`. Without it, an image that the service accepts is
 * unchanged, and any other is refused with the reason.
 */
export function createFitImage({ limits = defaultMediaLimits, library = loadSharp }: FitImageOptions = {}): FitImage {
  return async (bytes) => {
    const facts = imageFactsOf(bytes)
    if (facts === undefined) return { kind: 'refused', why: texts.notImage }
    const asItIs: FittedImage = { kind: 'image', block: blockOf(bytes, facts.type), type: facts.type, isSmaller: false }
    if (isSmall(bytes, facts, limits)) return asItIs
    const made = await inTurn(() => madeSmaller(bytes, facts, limits, library))
    if (made.kind === 'image') return made
    const advice = made.why === undefined ? texts.imageAdvice : texts.makeSmaller
    const problem = mediaProblem(asItIs.block, { ...limits, advice })
    if (problem === undefined) return asItIs
    return { kind: 'refused', why: made.why === undefined ? problem : `${problem} ${made.why}` }
  }
}

let last: Promise<unknown> = Promise.resolve()

/**
 * Runs one task at a time in this process: a decoded image may take a gigabyte, and calls that read run in parallel.
 */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const turn = last.then(work)
  last = turn.catch(() => undefined)
  return turn
}

function blockOf(bytes: Uint8Array, type: string): ImageBlock {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  return { type: 'image', source: { type: 'base64', media_type: type, data } }
}

function isSmall(bytes: Uint8Array, { size }: ImageFacts, limits: MediaLimits): boolean {
  const { width, height } = size ?? { width: 0, height: 0 }
  return Math.max(width, height) <= limits.sidePxOfMany && isShort(bytes, limits)
}

function isShort({ length }: Uint8Array, { imageEncodedBytes }: MediaLimits): boolean {
  return Math.ceil(length / 3) * 4 <= imageEncodedBytes
}

const maxSeconds = 20
/** Sizes to try, as fractions of the limit. Halving the side quarters the bytes. */
const parts = [1, 0.5, 0.25] as const
const qualities = [85, 70, 50, 30] as const

type MadeSmaller =
  | Extract<FittedImage, { readonly kind: 'image' }>
  | { readonly kind: 'not'; readonly why: string | undefined }

async function madeSmaller(
  bytes: Uint8Array,
  { type }: ImageFacts,
  limits: MediaLimits,
  library: () => Promise<Sharp | undefined>,
): Promise<MadeSmaller> {
  const sharp = await library()
  if (sharp === undefined) return { kind: 'not', why: undefined }
  try {
    for (const part of parts) {
      const side = Math.floor(limits.sidePxOfMany * part)
      const resized = () =>
        sharp(bytes)
          .timeout({ seconds: maxSeconds })
          .rotate()
          .resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true })
      // PNG preserves sharp drawings and text, and transparency. For photos this format is too large.
      if (type !== 'image/jpeg') {
        const png = await resized().png().toBuffer()
        if (isShort(png, limits)) return smaller(png, 'image/png')
      }
      for (const quality of qualities) {
        const jpeg = await resized().flatten({ background: '#ffffff' }).jpeg({ quality }).toBuffer()
        if (isShort(jpeg, limits)) return smaller(jpeg, 'image/jpeg')
      }
    }
    return { kind: 'not', why: texts.stillTooLarge }
  } catch (thrown) {
    return { kind: 'not', why: texts.resizeFailed(messageOf(thrown)) }
  }
}

function smaller(bytes: Uint8Array, type: string): MadeSmaller {
  return { kind: 'image', block: blockOf(bytes, type), type, isSmaller: true }
}
