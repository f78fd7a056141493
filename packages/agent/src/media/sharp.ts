/**
 * The part of an image of `sharp` that is used. `sharp` is an optional peer dependency, so its own types may be
 * missing.
 */
export interface SharpImage {
  /** Fails after this time. */
  timeout(options: {
    /** In seconds. */
    readonly seconds: number
  }): SharpImage
  /** Rotates it by its metadata, since the output has no metadata. */
  rotate(): SharpImage
  /** Reduces it. */
  resize(options: SharpResize): SharpImage
  /** Replaces transparency with a colour. */
  flatten(options: {
    /** The colour: `#ffffff`. */
    readonly background: string
  }): SharpImage
  /** Writes a JPEG. */
  jpeg(options: {
    /** From 1 to 100. */
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

/** `sharp`, if it is installed next to this package; otherwise undefined. Loaded for the first image that needs it. */
export function loadSharp(): Promise<Sharp | undefined> {
  return (loading ??= importSharp())
}

async function importSharp(): Promise<Sharp | undefined> {
  try {
    const { default: sharp } = await import('sharp')
    return sharp
  } catch {
    // It is not installed, or not for this system.
    return undefined
  }
}
