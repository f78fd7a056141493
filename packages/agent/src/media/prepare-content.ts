import type { ContentBlock, MessageContent } from '@halting/core'
import { redactedValue } from '@halting/core/redact'
import { createFitImage, type FitImage } from './fit-image.ts'

/**
 * Prepares user input for `prepareContent` of a query: adapts images to the limits and applies `redact`. An image that
 * cannot be adapted is unchanged, and the run reports it.
 */
export function createPrepareContent(
  fit: FitImage = createFitImage(),
  redact: (text: string) => string = (text) => text,
): (content: MessageContent) => Promise<MessageContent> {
  return async (input) => {
    const content = redactedValue(input, redact)
    if (typeof content === 'string') return content
    const prepared: ContentBlock[] = []
    // Prepares images one after another: a decoded image takes much memory.
    for (const block of content) prepared.push(await preparedBlock(block, fit))
    return prepared.some((block, index) => block !== content[index]) ? prepared : content
  }
}

async function preparedBlock(block: ContentBlock, fit: FitImage): Promise<ContentBlock> {
  if (block.type !== 'image' || block.source.type !== 'base64' || block.source.data === undefined) return block
  const fitted = await fit(Buffer.from(block.source.data, 'base64'))
  return fitted.kind === 'image' && fitted.isSmaller ? { ...block, source: fitted.block.source } : block
}
