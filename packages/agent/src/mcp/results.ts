import { headOf, jsonOf, tailOf, wellFormed } from '@halting/core/adapters'
import type { ContentBlock, Json, ToolOutput } from '@halting/core'
import type { FitImage } from '../media/fit-image.ts'
import { charactersPerToken, type McpLimits } from './limits.ts'
import * as texts from './mcp-texts.ts'

/** The part of a server's response that this program uses; the client has checked its form. */
export interface McpContent {
  readonly type: string
  readonly [field: string]: unknown
}

export interface ShowOptions {
  readonly limits: Pick<McpLimits, 'outputTokens' | 'imagesOfResult'>
  readonly fitImage: FitImage
}

/** The result of a server's tool, as shown to the model. */
export async function outputOfCall(
  result: {
    readonly content?: readonly McpContent[]
    readonly structuredContent?: unknown
    readonly isError?: boolean | undefined
  },
  options: ShowOptions,
): Promise<ToolOutput> {
  const { content = [], structuredContent, isError } = result
  const blocks = await shownBlocks(content, options)
  // A server should repeat the data as text; if it does not, the data itself is shown.
  const isInText = structuredContent === undefined || blocks.length > 0
  const all = isInText ? blocks : bounded([textBlock(dataText(structuredContent, options))], options)
  const details = detailsOf(structuredContent)
  const [only] = all
  return {
    content: all.length === 0 ? texts.emptyResult : all.length === 1 && only?.type === 'text' ? only.text : all,
    ...(isError === true && { isError }),
    ...(details !== undefined && { details }),
  }
}

/**
 * Formats data with indentation, unless the text will be truncated anyway: deep data would be mostly indentation and
 * fill memory.
 */
function dataText(data: unknown, { limits }: ShowOptions): string {
  const compact = JSON.stringify(data)
  return compact.length > limits.outputTokens * charactersPerToken ? compact : JSON.stringify(data, undefined, 2)
}

/** Blocks of a server as blocks of a message, within the limit of one result. */
export async function shownBlocks(
  content: readonly McpContent[],
  options: ShowOptions,
): Promise<readonly ContentBlock[]> {
  const blocks: ContentBlock[] = []
  let images = 0
  for (const block of content) {
    // Counts images before inspecting them: inspecting an invalid image also costs time.
    if (isPicture(block) && ++images > options.limits.imagesOfResult) continue
    const shown = await shownBlock(block, options.fitImage)
    if (shown.type !== 'text' || shown.text !== '') blocks.push(shown)
  }
  const left = images - options.limits.imagesOfResult
  if (left > 0) blocks.push(textBlock(texts.imagesLeftOut(left)))
  return bounded(blocks, options)
}

function isPicture({ type, resource }: McpContent): boolean {
  if (type !== 'resource') return type === 'image'
  const { blob, mimeType } = fieldsOf(resource)
  return typeof blob === 'string' && textOf(mimeType).startsWith('image/')
}

async function shownBlock(block: McpContent, fitImage: FitImage): Promise<ContentBlock> {
  switch (block.type) {
    case 'text':
      return textBlock(textOf(block['text']))
    case 'image':
      return imageBlock(textOf(block['data']), fitImage)
    case 'audio':
      return textBlock(texts.audioBlock(textOf(block['mimeType'])))
    case 'resource_link': {
      const { uri, name, title, description, mimeType } = block
      const about = [title ?? name, mimeType, description].filter((part) => part !== undefined).map(textOf)
      return textBlock(texts.resourceLink(textOf(uri), about.join(', ').slice(0, 1_000)))
    }
    case 'resource':
      return resourceBlock(block['resource'], fitImage)
    default:
      return textBlock(texts.unknownBlock(block.type.slice(0, 40)))
  }
}

/** The contents of a resource, with its URI. */
async function resourceBlock(resource: unknown, fitImage: FitImage): Promise<ContentBlock> {
  const { uri, text, blob, mimeType } = fieldsOf(resource)
  if (typeof text === 'string') return textBlock(texts.resourceText(textOf(uri), text))
  if (typeof blob !== 'string') return textBlock(texts.emptyPart(textOf(uri)))
  if (textOf(mimeType).startsWith('image/')) return imageBlock(blob, fitImage)
  return textBlock(texts.binaryResource(textOf(uri), Math.ceil((blob.length * 3) / 4), textOf(mimeType)))
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  // Type assertion: true of any object.
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

async function imageBlock(data: string, fitImage: FitImage): Promise<ContentBlock> {
  const fitted = await fitImage(Buffer.from(data, 'base64'))
  return fitted.kind === 'image' ? fitted.block : textBlock(texts.unusableImage(fitted.why))
}

/** The contents of resources, within the limit of one result. */
export async function shownResources(
  resources: readonly unknown[],
  options: ShowOptions,
): Promise<readonly ContentBlock[]> {
  const blocks: ContentBlock[] = []
  for (const resource of resources.slice(0, options.limits.imagesOfResult))
    blocks.push(await resourceBlock(resource, options.fitImage))
  const left = resources.length - blocks.length
  return bounded([...blocks, ...(left > 0 ? [textBlock(texts.partsLeftOut(left))] : [])], options)
}

/** Services may refuse messages with more blocks, and each block has a fixed cost. */
const maxBlocks = 100

/** Returns the head and tail of a long text: the end of an output shows the outcome. */
function bounded(blocks: readonly ContentBlock[], { limits }: ShowOptions): readonly ContentBlock[] {
  const most = Math.floor(limits.outputTokens * charactersPerToken)
  const length = blocks.reduce((sum, block) => sum + (block.type === 'text' ? block.text.length : 0), 0)
  if (length <= most && blocks.length <= maxBlocks) return blocks
  const whole = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
  return [textBlock(headAndTail(whole, most, limits)), ...blocks.filter((block) => block.type !== 'text')]
}

function headAndTail(whole: string, most: number, { outputTokens }: ShowOptions['limits']): string {
  if (whole.length <= most) return whole
  const half = Math.floor(most / 2)
  const note = texts.middleLeftOut(whole.length - most, outputTokens)
  return `${headOf(whole, most - half)}${note}${tailOf(whole, half)}`
}

function textBlock(text: string): ContentBlock & { readonly type: 'text'; readonly text: string } {
  return { type: 'text', text: wellFormed(text) }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

const maxDetails = 100_000

function detailsOf(structuredContent: unknown): Json | undefined {
  if (structuredContent === undefined) return undefined
  const text = JSON.stringify(structuredContent)
  return text.length > maxDetails ? undefined : { structuredContent: jsonOf(structuredContent) }
}
