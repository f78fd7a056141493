/**
 * The part of a `sharp` image that this program uses. `sharp` is an optional peer dependency, so its own types may be
 * missing.
 */
export interface SharpImage {
  /** Fails after the given time. */
  timeout(options: {
    /** Time in seconds. */
    readonly seconds: number
  }): SharpImage
  /** Rotates the image by its metadata, because the output has no metadata. */
  rotate(): SharpImage
  /** Reduces the image. */
  resize(options: SharpResize): SharpImage
  /** Replaces transparency with a colour. */
  flatten(options: {
    /** The colour: `#ffffff`. */
    readonly background: string
  }): SharpImage
  /** Writes a JPEG. */
  jpeg(options: {
    /** Quality, from 1 to 100. */
    readonly quality: number
  }): SharpImage
  /** Writes a PNG. */
  png(): SharpImage
  /** The bytes of the image. */
  toBuffer(): Promise<Uint8Array>
}

interface SharpResize {
  readonly width: number
  readonly height: number
  readonly fit: 'inside'
  readonly withoutEnlargement: boolean
}

/** The function that `sharp` exports. Of an animation it reads the first frame. */
export type Sharp = (input: Uint8Array) => SharpImage

let loading: Promise<Sharp | undefined> | undefined

/**
 * Returns `sharp` if it is installed next to this package; otherwise undefined. Loaded for the first image that needs
 * it.
 */
export function loadSharp(): Promise<Sharp | undefined> {
  return (loading ??= importSharp())
}

async function importSharp(): Promise<Sharp | undefined> {
  try {
    const { default: sharp } = await import('sharp')
    return sharp
  } catch {
    // The library is not installed, or not available for this system.
    return undefined
  }
}
