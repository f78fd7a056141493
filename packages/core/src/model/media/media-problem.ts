import type { ContentBlock, ImageBlock, OpaqueBlock } from '../messages.ts'
import { bytesOfBase64 } from './bytes.ts'
import { imageFactsOf, type ImageFacts } from './image-facts.ts'
import { defaultMediaLimits, type MediaLimits } from './limits.ts'
import { isPdf, pdfPagesOf } from './pdf-pages.ts'
import {
  documentTooLarge,
  imageTooLarge,
  imageTooWide,
  imageTypeMismatch,
  notPdf,
  pdfTooLong,
  undeclaredType,
  unknownImageType,
  unsupportedImage,
} from './media-texts.ts'

/** An image or a document. */
export type MediaBlock = ImageBlock | (OpaqueBlock & { readonly type: 'document' })

/** Facts about an image or document without decoding it. One that is referenced by an address or an id has no bytes in the request. */
export interface MediaFacts {
  readonly kind: 'image' | 'document'
  readonly declaredType: string | undefined
  /** Bytes as base64. */
  readonly encodedBytes: number
  /** Undefined for a document, and for an unknown image type. */
  readonly image: ImageFacts | undefined
  /** Number of pages of a PDF; undefined if unknown. */
  readonly pages: number | undefined
  readonly isPdf: boolean
  readonly hasData: boolean
}

/** True for an image or a document. */
export function isMedia(block: ContentBlock): block is MediaBlock {
  return block.type === 'image' || block.type === 'document'
}

/** Blocks never change, and are inspected in every run of a session. */
const factsCache = new WeakMap<MediaBlock, MediaFacts>()

export function mediaFactsOf(block: MediaBlock): MediaFacts {
  let facts = factsCache.get(block)
  if (facts === undefined) factsCache.set(block, (facts = readFacts(block)))
  return facts
}

function readFacts(block: MediaBlock): MediaFacts {
  const { source } = block
  // The source of a document has not been checked.
  const { type, media_type, data } = (typeof source === 'object' && source !== null ? source : {}) as {
    readonly type?: unknown
    readonly media_type?: unknown
    readonly data?: unknown
  }
  const declaredType = typeof media_type === 'string' ? media_type : undefined
  const kind = block.type
  const nothing = { kind, declaredType, image: undefined, pages: undefined, isPdf: false, hasData: false }
  if (typeof data !== 'string') return { ...nothing, encodedBytes: 0 }
  const base = { ...nothing, encodedBytes: data.length }
  if (type !== 'base64') return base
  const bytes = bytesOfBase64(data)
  if (kind === 'image') return { ...base, image: imageFactsOf(bytes), hasData: true }
  return { ...base, pages: pdfPagesOf(bytes), isPdf: isPdf(bytes), hasData: true }
}

/** Why a service would refuse an image or a document, and what it would accept, in a sentence; undefined if there is no problem. */
export function mediaProblem(block: ContentBlock, limits: MediaLimits = defaultMediaLimits): string | undefined {
  if (!isMedia(block)) return undefined
  const facts = mediaFactsOf(block)
  if (!facts.hasData) return undefined
  return facts.kind === 'image' ? imageProblem(facts, limits) : documentProblem(facts, limits)
}

function imageProblem({ declaredType, encodedBytes, image }: MediaFacts, limits: MediaLimits): string | undefined {
  const { imageTypes, imageSidePx, imageEncodedBytes, advice } = limits
  const type = image?.type ?? declaredType ?? undeclaredType
  // The caller has allowed a type that is not in our list, and nothing else is known about it.
  const isTaken = imageTypes.includes(type) && (image !== undefined || !detectableTypes.has(type))
  if (!isTaken) {
    const actualType = image === undefined ? unknownImageType(declaredType ?? 'nothing') : type
    return unsupportedImage(actualType, imageTypes)
  }
  if (image !== undefined && declaredType !== image.type)
    return imageTypeMismatch(declaredType ?? 'nothing', image.type)
  const { width, height } = image?.size ?? { width: 0, height: 0 }
  if (Math.max(width, height) > imageSidePx) return imageTooWide(width, height, imageSidePx, advice)
  if (encodedBytes > imageEncodedBytes)
    return imageTooLarge(megabytes(encodedBytes), megabytes(imageEncodedBytes), advice)
  return undefined
}

const detectableTypes: ReadonlySet<string> = new Set(defaultMediaLimits.imageTypes)

function documentProblem(facts: MediaFacts, { pdfPages, encodedBytes: maxBytes }: MediaLimits): string | undefined {
  const { declaredType, encodedBytes, pages } = facts
  if (declaredType === 'application/pdf' && !facts.isPdf) return notPdf
  if (pages !== undefined && pages > pdfPages) return pdfTooLong(pages, pdfPages)
  if (encodedBytes > maxBytes) return documentTooLarge(megabytes(encodedBytes), megabytes(maxBytes))
  return undefined
}

function megabytes(bytes: number): string {
  return `${Math.ceil((bytes / 1024 / 1024) * 10) / 10} MB`
}

/** Corrects the declared type from the bytes if they are unambiguous: services refuse a mismatch. */
export function withDetectedType<B extends { readonly [field: string]: unknown }>(block: B): B {
  if (block['type'] !== 'image') return block
  const { source } = block
  if (typeof source !== 'object' || source === null || !('data' in source)) return block
  const { type, media_type, data } = source as { type?: unknown; media_type?: unknown; data?: unknown }
  if (type !== 'base64' || typeof data !== 'string') return block
  const detectedType = imageFactsOf(bytesOfBase64(data))?.type
  if (detectedType === undefined || detectedType === media_type) return block
  return Object.freeze({ ...block, source: Object.freeze({ ...source, media_type: detectedType }) })
}
