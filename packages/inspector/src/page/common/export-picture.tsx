import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { messageOf } from '../data/store.ts'
import { ErrorNote } from './notes.tsx'

const pictureKinds = ['svg', 'png'] as const
type PictureKind = (typeof pictureKinds)[number]

/** Points of a PNG to a pixel of the picture: sharp in print and on dense screens. */
const density = 2

/** Saves a picture as a file. `svg` is one as SvgWriter ends it; a PNG is painted from it on a canvas, so both show the same. */
async function savePicture(name: string, svg: string, kind: PictureKind): Promise<void> {
  const drawn = new Blob([svg], { type: 'image/svg+xml' })
  const address = URL.createObjectURL(kind === 'svg' ? drawn : await painted(drawn))
  const link = document.createElement('a')
  link.href = address
  link.download = `${fileName(name)}.${kind}`
  link.click()
  // The download has begun by then; the picture is let go.
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}

async function painted(svg: Blob): Promise<Blob> {
  const address = URL.createObjectURL(svg)
  try {
    const image = new Image()
    image.src = address
    await image.decode()
    const canvas = document.createElement('canvas')
    canvas.width = image.naturalWidth * density
    canvas.height = image.naturalHeight * density
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height)
    const png = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'))
    if (png === null) throw new Error('This browser makes no PNG of this size. Save it as SVG.')
    return png
  } finally {
    URL.revokeObjectURL(address)
  }
}

function fileName(name: string): string {
  const plain = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  return plain === '' ? 'picture' : plain.slice(0, 80)
}

interface PictureButtonsProps {
  /** What is shown: it names the file, and the buttons for screen readers. */
  readonly name: string
  /** Draws it as it is seen now. */
  readonly svgOf: () => string
}

/** Buttons that save what is shown as a picture. */
export function PictureButtons({ name, svgOf }: PictureButtonsProps): JSX.Element {
  const failed = useSignal('')
  const save = async (kind: PictureKind): Promise<void> => {
    try {
      await savePicture(name, svgOf(), kind)
      failed.value = ''
    } catch (error) {
      failed.value = messageOf(error)
    }
  }
  return (
    <>
      {pictureKinds.map((kind) => (
        <button
          key={kind}
          type="button"
          aria-label={`Save ${name} as ${kind.toUpperCase()}`}
          onClick={() => void save(kind)}
        >
          {kind.toUpperCase()}
        </button>
      ))}
      {failed.value === '' ? null : <ErrorNote>The picture was not saved: {failed.value}</ErrorNote>}
    </>
  )
}
