import { useSignal } from '@preact/signals'
import { createContext, type JSX } from 'preact'
import { useContext } from 'preact/hooks'
import { colorOf } from '../common/colors.ts'
import { ErrorNote } from '../common/notes.tsx'
import { messageOf, title } from '../data/store.ts'
import { dayAndTime } from '../sessions/figure-text.ts'
import { svgOfPicture, type Picture } from './picture.ts'

const pictureKinds = ['svg', 'png'] as const
type PictureKind = (typeof pictureKinds)[number]

/** Lines about all pictures of a view: the session and its run. */
export const PictureContext = createContext<readonly string[]>([])

interface PictureButtonsProps {
  /** Names the file, and the buttons for screen readers. */
  readonly name: string
  /** Builds the picture of the current state. */
  readonly pictureOf: () => Picture
}

/** Buttons that save the current view as a picture; the same in every view. */
export function PictureButtons({ name, pictureOf }: PictureButtonsProps): JSX.Element {
  const failed = useSignal('')
  const of = useContext(PictureContext)
  const save = async (kind: PictureKind): Promise<void> => {
    try {
      const picture = pictureOf()
      const svg = svgOfPicture(
        { ...picture, about: [...of, ...picture.about] },
        { color: colorOf, pageTitle: title.value, madeAt: momentText(new Date()) },
      )
      await savePicture(name, svg, kind)
      failed.value = ''
    } catch (error) {
      failed.value = messageOf(error)
    }
  }
  return (
    <span class="save-as" role="group" aria-label={`Save ${name}`}>
      <span class="soft">Save as</span>
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
    </span>
  )
}

/** `2026-11-23 14:05 (UTC+1)`: a picture may be read in another time zone. */
function momentText(now: Date): string {
  const minutes = -now.getTimezoneOffset()
  const [hours, rest] = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  const zone = minutes === 0 ? '' : `${minutes > 0 ? '+' : '−'}${hours}${rest === 0 ? '' : `:${rest}`}`
  return `${dayAndTime(now.getTime())} (UTC${zone})`
}

async function savePicture(name: string, svg: string, kind: PictureKind): Promise<void> {
  const blob = new Blob([svg], { type: 'image/svg+xml' })
  const address = URL.createObjectURL(kind === 'svg' ? blob : await pngOf(blob))
  const link = document.createElement('a')
  link.href = address
  link.download = `${fileName(name)}.${kind}`
  link.click()
  // By then the download has begun.
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}

/** Pixels of a PNG per pixel of the picture: sharp in print and on dense screens. */
const density = 2
/** The maximum length that all browsers can paint on a canvas. */
const maxPixels = 16_000

/** Paints the SVG as a PNG, so that both look the same. */
async function pngOf(svg: Blob): Promise<Blob> {
  const address = URL.createObjectURL(svg)
  try {
    const image = new Image()
    image.src = address
    await image.decode()
    const { naturalWidth: width, naturalHeight: height } = image
    const scale = Math.min(density, maxPixels / Math.max(width, height))
    const canvas = document.createElement('canvas')
    canvas.width = Math.round(width * scale)
    canvas.height = Math.round(height * scale)
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height)
    const png = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'))
    if (png === null) throw new Error('This browser cannot make a PNG of this size. Save it as SVG.')
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
