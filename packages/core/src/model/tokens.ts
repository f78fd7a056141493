import { HaltingError } from '../values/errors.ts'
import { ignoreRejection } from '../values/maybe-promise.ts'
import { isMedia, mediaFactsOf, type MediaBlock } from './media/media-problem.ts'
import type { ContentBlock, MessageContent, ModelMessage } from './messages.ts'
import type { Model } from './model.ts'
import { wellFormed } from '../values/well-formed.ts'
import { estimateTokens } from './token-estimate.ts'

/** Estimates the number of tokens before the provider has counted them. */
export interface Tokens {
  /** An estimate for thresholds, not an upper bound. */
  estimate(text: string): number
}

/** Estimates by character class, without a tokenizer: four plain characters per token, fewer for base64, numbers, Chinese, Japanese and emoji. */
export const roughTokens: Tokens = Object.freeze<Tokens>({ estimate: estimateTokens })

/** The same estimator, with its results checked. */
export function checkedTokens(tokens: Tokens): Tokens {
  return {
    estimate(text) {
      const estimate: unknown = tokens.estimate(text)
      if (typeof estimate === 'number' && estimate >= 0 && Number.isFinite(estimate)) return estimate
      ignoreRejection(estimate)
      throw new HaltingError('callback', 'The token estimate is not a finite number of at least 0.')
    },
  }
}

/** Images are billed by size, not by bytes. No model bills more than this for an image, unless `maxImageTokens` says so. */
const imageUpperBound = 6_000
/** A compressed document may contain more text than it has bytes. No model reads more than this. */
const documentUpperBound = 1_000_000
/** Tokens for roles, block frames and what services add around a message. */
const messageOverhead = 16

/** Checked first: a regular expression is faster than a loop, and most texts are ASCII. */
const isAscii = /^\p{ASCII}*$/u

/** The maximum tokens of a text: no tokenizer makes more than one token per byte. A lone surrogate is sent as U+FFFD, three bytes. */
export function upperBoundOfText(text: string): number {
  if (isAscii.test(text)) return text.length
  let bytes = 0
  const sent = wellFormed(text)
  for (let index = 0; index < sent.length; index++) {
    const unit = sent.charCodeAt(index)
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : unit >= 0xd800 && unit < 0xe000 ? 2 : 3
  }
  return bytes
}

/** The maximum tokens of these messages, by their bytes. */
export function upperBoundOfMessages(
  messages: readonly ModelMessage[],
  { maxImageTokens = imageUpperBound }: Pick<Model, 'maxImageTokens'>,
  from = 0,
): number {
  let bound = 0
  for (let index = from; index < messages.length; index++) {
    const message = messages[index]
    if (message !== undefined) bound += messageOverhead + upperBoundOfContent(message.content, maxImageTokens)
  }
  return bound
}

/** The maximum that services add around a message and each of its blocks. */
export function overheadOfMessage({ content }: ModelMessage): number {
  return messageOverhead * (typeof content === 'string' ? 1 : 1 + content.length)
}

function upperBoundOfContent(content: MessageContent, imageTokens: number): number {
  if (typeof content === 'string') return upperBoundOfText(content)
  let bound = 0
  for (const block of content) bound += messageOverhead + upperBoundOfBlock(block, imageTokens)
  return bound
}

function upperBoundOfBlock(block: ContentBlock, imageTokens: number): number {
  if (block.type === 'text') return upperBoundOfText(block.text)
  if (block.type === 'image') return imageTokens
  if (block.type === 'document') return documentUpperBound
  if (block.type === 'tool_result') return 64 + upperBoundOfContent(block.content, imageTokens)
  return upperBoundOfText(JSON.stringify(block))
}

export function estimateMessages(tokens: Tokens, messages: readonly ModelMessage[], from = 0): number {
  let estimate = 0
  for (let index = from; index < messages.length; index++) {
    const message = messages[index]
    if (message === undefined) continue
    const { content } = message
    estimate += 4 + (typeof content === 'string' ? tokens.estimate(content) : estimateBlocks(tokens, content))
  }
  return estimate
}

function estimateBlocks(tokens: Tokens, content: readonly ContentBlock[]): number {
  let estimate = 0
  for (const block of content) {
    if (block.type === 'text') estimate += tokens.estimate(block.text)
    else if (block.type === 'image') estimate += imageEstimate
    else if (isMedia(block)) estimate += estimateDocument(tokens, block)
    else if (block.type === 'tool_result')
      estimate +=
        8 + (typeof block.content === 'string' ? tokens.estimate(block.content) : estimateBlocks(tokens, block.content))
    else estimate += tokens.estimate(JSON.stringify(block))
  }
  return estimate
}

/** Billed tokens of an image at its original size, and of a PDF page with its text. */
const imageEstimate = 1_600
const pageEstimate = 3_000

/** The bytes of a compressed or external document do not reveal its tokens. Plain text is estimated as text. */
function estimateDocument(tokens: Tokens, block: MediaBlock): number {
  const { hasData, pages, encodedBytes } = mediaFactsOf(block)
  if (!hasData) return tokens.estimate(JSON.stringify(block))
  return (pages ?? Math.min(unknownPages, Math.ceil(encodedBytes / pageBytes))) * pageEstimate
}

/** Typical size of a page if the page count is unknown. The result is limited to what services accept. */
const pageBytes = 40_000
const unknownPages = 100
