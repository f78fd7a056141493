import { ConfigurationError } from '../../values/errors.ts'
import { fieldsOf, refuse } from '../../values/given.ts'
import { sizeAdvice } from './media-texts.ts'

/** What a service takes of images and documents; the defaults are what every service of the Messages API takes. */
export interface MediaLimits {
  /** Kinds of images, as `media_type` names them. */
  readonly imageTypes: readonly string[]
  /** Pixels of an image on its longer side; 8,000. */
  readonly imageSidePx: number
  /** Bytes of an image as base64; 5 MB. */
  readonly imageEncodedBytes: number
  /** Above so many images in a request the next limit applies to each; 20. */
  readonly manyImages: number
  /** Pixels on the longer side where there are many; 2,000. */
  readonly sidePxOfMany: number
  /** Images in a request; 100. */
  readonly images: number
  /** Pages of all PDF documents in a request; 100. */
  readonly pdfPages: number
  /** Bytes of all images and documents in a request as base64; 28 MB of the 32 MB that a request may have. */
  readonly encodedBytes: number
  /** What to do about one that is too large, for people; said behind what is wrong with it. */
  readonly advice: string
}

const megabyte = 1024 * 1024

/** What every service of the Messages API takes. */
export const defaultMediaLimits: MediaLimits = Object.freeze<MediaLimits>({
  imageTypes: Object.freeze(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
  imageSidePx: 8_000,
  imageEncodedBytes: 5 * megabyte,
  manyImages: 20,
  sidePxOfMany: 2_000,
  images: 100,
  pdfPages: 100,
  encodedBytes: 28 * megabyte,
  advice: sizeAdvice,
})

/** The defaults, and what was chosen in their place. */
export function mediaLimitsWith(chosen?: Partial<MediaLimits>): MediaLimits {
  return chosen === undefined ? defaultMediaLimits : { ...defaultMediaLimits, ...chosen }
}

/** @throws ConfigurationError for what are no limits. */
export function isMediaLimits(name: string, given: unknown): void {
  const fields = fieldsOf(given)
  if (fields === undefined) refuse(name, 'an object such as { pdfPages: 600 }', given)
  for (const [limit, value] of Object.entries(fields)) {
    const standard: unknown = Object.hasOwn(defaultMediaLimits, limit)
      ? defaultMediaLimits[limit as keyof MediaLimits]
      : undefined
    if (standard === undefined)
      throw new ConfigurationError(`${name} has no ${limit}: there are ${Object.keys(defaultMediaLimits).join(', ')}.`)
    if (typeof standard === 'number' && !(typeof value === 'number' && value >= 0))
      refuse(`${name}.${limit}`, 'a number of at least 0', value)
    if (typeof standard === 'string' && typeof value !== 'string') refuse(`${name}.${limit}`, 'a text', value)
    if (Array.isArray(standard) && !(Array.isArray(value) && value.every((type) => typeof type === 'string')))
      refuse(`${name}.${limit}`, 'a list of names such as image/png', value)
  }
}
