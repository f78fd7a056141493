import { ConfigurationError } from '../../values/errors.ts'
import { fieldsOf, throwInvalidOption } from '../../values/validators.ts'
import { sizeAdvice } from './media-texts.ts'

/** Limits of a service for images and documents. Every service of the Messages API accepts the defaults. */
export interface MediaLimits {
  /** Accepted image types, as in `media_type`. */
  readonly imageTypes: readonly string[]
  /** Maximum pixels on the longer side of an image (default: 8,000). */
  readonly imageSidePx: number
  /** Maximum bytes of an image as base64 (default: 5 MB). */
  readonly imageEncodedBytes: number
  /** With more images than this in a request, the next limit applies to each (default: 20). */
  readonly manyImages: number
  /** Maximum pixels on the longer side if there are many images (default: 2,000). */
  readonly sidePxOfMany: number
  /** Maximum images in a request (default: 100). */
  readonly images: number
  /** Maximum pages of all PDF documents in a request (default: 100). */
  readonly pdfPages: number
  /** Maximum bytes of all images and documents in a request as base64 (default: 28 MB of the 32 MB of a request). */
  readonly encodedBytes: number
  /** Advice for people about an image that is too large, appended to the problem. */
  readonly advice: string
}

const megabyte = 1024 * 1024

/** The limits that every service of the Messages API accepts. */
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

/** The defaults, overridden by the chosen limits. */
export function mediaLimitsWith(chosen?: Partial<MediaLimits>): MediaLimits {
  return chosen === undefined ? defaultMediaLimits : { ...defaultMediaLimits, ...chosen }
}

/** @throws ConfigurationError for invalid limits. */
export function isMediaLimits(name: string, candidate: unknown): void {
  const fields = fieldsOf(candidate)
  if (fields === undefined) throwInvalidOption(name, 'an object such as { pdfPages: 600 }', candidate)
  for (const [limit, value] of Object.entries(fields)) {
    const standard: unknown = Object.hasOwn(defaultMediaLimits, limit)
      ? defaultMediaLimits[limit as keyof MediaLimits]
      : undefined
    if (standard === undefined)
      throw new ConfigurationError(`${name} has no ${limit}: there are ${Object.keys(defaultMediaLimits).join(', ')}.`)
    if (typeof standard === 'number' && !(typeof value === 'number' && value >= 0))
      throwInvalidOption(`${name}.${limit}`, 'a number of at least 0', value)
    if (typeof standard === 'string' && typeof value !== 'string')
      throwInvalidOption(`${name}.${limit}`, 'a text', value)
    if (Array.isArray(standard) && !(Array.isArray(value) && value.every((type) => typeof type === 'string')))
      throwInvalidOption(`${name}.${limit}`, 'a list of names such as image/png', value)
  }
}
