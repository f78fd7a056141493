/** What is used of an image of `sharp`, which is an optional peer: its own types would be missing where it is. */
export interface SharpImage {
  /** Gives up after so long. */
  timeout(options: {
    /** Seconds. */
    readonly seconds: number
  }): SharpImage
  /** Turns it as its metadata says: what is written has no metadata. */
  rotate(): SharpImage
  /** Makes it smaller. */
  resize(options: SharpResize): SharpImage
  /** Puts a colour behind what is transparent. */
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

/** The function that `sharp` exports. Of an animation it reads the first picture. */
export type Sharp = (input: Uint8Array) => SharpImage

let loading: Promise<Sharp | undefined> | undefined

/** `sharp`, where it is installed next to this package; undefined where it is not. Loaded when the first image needs it. */
export function loadSharp(): Promise<Sharp | undefined> {
  return (loading ??= importSharp())
}

async function importSharp(): Promise<Sharp | undefined> {
  try {
    const { default: sharp } = await import('sharp')
    return sharp
  } catch {
    // It is not there, or not for this system.
    return undefined
  }
}
