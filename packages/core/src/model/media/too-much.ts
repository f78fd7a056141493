import type { MediaLimits } from './limits.ts'
import { mediaFactsOf, type MediaBlock } from './media-problem.ts'
import type { MediaPlace, PlacedMedia } from './places.ts'
import { largeAmongMany, tooManyBytes, tooManyImages, tooManyPages } from './media-texts.ts'

/** Totals of images and documents in a request. */
export interface MediaTotals {
  readonly images: number
  /** Images larger than the limit for requests with many images. */
  readonly largeImages: number
  readonly encodedBytes: number
  readonly pdfPages: number
}

/** The part of a transcript inspected so far, and its totals. */
export interface MediaSeen {
  readonly length: number
  readonly totals: MediaTotals
}

export const noMedia: MediaTotals = Object.freeze({ images: 0, largeImages: 0, encodedBytes: 0, pdfPages: 0 })

export function plusMedia(totals: MediaTotals, block: MediaBlock, limits: MediaLimits): MediaTotals {
  const { encodedBytes, pages } = mediaFactsOf(block)
  return {
    images: totals.images + (block.type === 'image' ? 1 : 0),
    largeImages: totals.largeImages + (isLarge(block, limits) ? 1 : 0),
    encodedBytes: totals.encodedBytes + encodedBytes,
    pdfPages: totals.pdfPages + (pages ?? 0),
  }
}

function isLarge(block: MediaBlock, { sidePxOfMany }: MediaLimits): boolean {
  const size = mediaFactsOf(block).image?.size
  return size !== undefined && Math.max(size.width, size.height) > sidePxOfMany
}

/** Whether a request exceeds one of its total limits. */
export function isTooMuch(totals: MediaTotals, limits: MediaLimits): boolean {
  return measures.some((measure) => totals[measure] > limits[measure]) || hasLargeAmongMany(totals, limits)
}

const measures = ['images', 'encodedBytes', 'pdfPages'] as const

function hasLargeAmongMany({ images, largeImages }: MediaTotals, { manyImages }: MediaLimits): boolean {
  return images > manyImages && largeImages > 0
}

/** The media to replace with a note, and the reason stated in the note. */
export interface MediaDropped {
  readonly why: string
  readonly at: readonly MediaPlace[]
}

/**
 * The media to remove, oldest first, so that a request exceeds no limit. `media` is all media, oldest first. If a limit
 * is exceeded, the media are reduced to half of it: a removal invalidates the provider's prompt cache from that
 * position, so removals should be rare. The newest one is preserved.
 */
export function mediaDropped(media: readonly PlacedMedia[], limits: MediaLimits): readonly MediaDropped[] {
  const dropped: MediaDropped[] = []
  let remaining = media
  const keepOnly = (nextMedia: readonly PlacedMedia[], why: string): void => {
    const keptSet = new Set(nextMedia)
    const at = remaining.filter((placed) => !keptSet.has(placed)).map((placed) => placed.at)
    if (at.length > 0) dropped.push({ why, at })
    remaining = nextMedia
  }
  for (const measure of measures) {
    if (totalsOf(remaining, limits)[measure] > limits[measure])
      keepOnly(newestWithin(remaining, weights[measure], halfOf(limits[measure])), reasons[measure](limits))
  }
  if (hasLargeAmongMany(totalsOf(remaining, limits), limits))
    keepOnly(withoutOldLarge(remaining, limits), largeReason(limits))
  if (hasLargeAmongMany(totalsOf(remaining, limits), limits))
    keepOnly(newestWithin(remaining, weights.images, halfOf(limits.manyImages)), largeReason(limits))
  return dropped
}

const weights: { readonly [measure in (typeof measures)[number]]: (block: MediaBlock) => number } = {
  images: (block) => (block.type === 'image' ? 1 : 0),
  encodedBytes: (block) => mediaFactsOf(block).encodedBytes,
  pdfPages: (block) => mediaFactsOf(block).pages ?? 0,
}

const reasons: { readonly [measure in (typeof measures)[number]]: (limits: MediaLimits) => string } = {
  images: ({ images }) => tooManyImages(images),
  encodedBytes: ({ encodedBytes }) => tooManyBytes(Math.floor(encodedBytes / 1024 / 1024)),
  pdfPages: ({ pdfPages }) => tooManyPages(pdfPages),
}

function largeReason({ manyImages, sidePxOfMany }: MediaLimits): string {
  return largeAmongMany(manyImages, sidePxOfMany)
}

function halfOf(limit: number): number {
  return Math.floor(limit / 2)
}

/** Removes the oldest weighted media until the total weight of the rest is at most this much. Media without weight and the newest one are preserved. */
function newestWithin(
  media: readonly PlacedMedia[],
  weightOf: (block: MediaBlock) => number,
  maxWeight: number,
): readonly PlacedMedia[] {
  const newest = media.findLast(({ block }) => weightOf(block) > 0)
  let weight = media.reduce((sum, { block }) => sum + weightOf(block), 0)
  return media.filter((placed) => {
    const itemWeight = weightOf(placed.block)
    if (itemWeight === 0 || weight <= maxWeight || placed === newest) return true
    weight -= itemWeight
    return false
  })
}

/** Small images can stay while the newest images are small. */
function withoutOldLarge(media: readonly PlacedMedia[], limits: MediaLimits): readonly PlacedMedia[] {
  const images = media.filter(({ block }) => block.type === 'image')
  const newest = new Set(images.slice(-Math.max(1, halfOf(limits.manyImages))))
  return media.filter((placed) => newest.has(placed) || !isLarge(placed.block, limits))
}

function totalsOf(media: readonly PlacedMedia[], limits: MediaLimits): MediaTotals {
  return media.reduce((totals, { block }) => plusMedia(totals, block, limits), noMedia)
}
