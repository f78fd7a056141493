import type { ContentBlock, MessageContent, Usage } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'

// Files of other programs may contain anything: parts that do not fit the Messages API are dropped.

/** A parsed line of a file. */
export type Fields = { readonly [field: string]: unknown }

export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A date as milliseconds since 1970; undefined for anything else. */
export function momentIn(value: unknown): number | undefined {
  const moment = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isFinite(moment) ? moment : undefined
}

const maxDepth = 200

/** A value, unless it is nested too deeply to be serialized again. */
export function bounded(value: unknown): unknown {
  return isTooDeep(value, maxDepth) ? '[too deep]' : value
}

function isTooDeep(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return left === 0 || Object.values(value).some((part) => isTooDeep(part, left - 1))
}

/** Content of a user message; may be empty. */
export function userContentIn(value: unknown): MessageContent {
  if (typeof value === 'string') return value
  return blocksIn(value).filter(({ type }) => type === 'text' || type === 'image' || type === 'document')
}

/** Content of a tool result: texts, images and documents. Anything else is converted to JSON text. */
export function resultIn(value: unknown): MessageContent {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return value === undefined || value === null ? '' : JSON.stringify(bounded(value))
  return (value as readonly unknown[]).flatMap((block): readonly ContentBlock[] => {
    if (!isJsonObject(block)) return typeof block === 'string' && block !== '' ? [{ type: 'text', text: block }] : []
    if (!isBlock(block)) return []
    if (block.type === 'text') return block.text === '' ? [] : [block]
    if (block.type === 'image' || block.type === 'document' || block.type === 'search_result') return [block]
    return [{ type: 'text', text: JSON.stringify(block) }]
  })
}

/** Blocks of a model's reply. */
export function replyIn(value: unknown): readonly ContentBlock[] {
  if (typeof value === 'string') return value === '' ? [] : [{ type: 'text', text: value }]
  return blocksIn(value).filter(({ type }) => type !== 'tool_result' && type !== 'image')
}

function blocksIn(value: unknown): readonly ContentBlock[] {
  return Array.isArray(value) ? (value as readonly unknown[]).filter(isBlock) : []
}

/** Checks the fields that identify a block. */
function isBlock(block: unknown): block is ContentBlock {
  if (!isJsonObject(block) || isTooDeep(block, maxDepth)) return false
  switch (block['type']) {
    case 'text':
      return typeof block['text'] === 'string' && block['text'] !== ''
    case 'tool_use':
      return typeof block['id'] === 'string' && typeof block['name'] === 'string' && block['name'] !== ''
    case 'tool_result':
      return typeof block['tool_use_id'] === 'string'
    case 'thinking':
      return typeof block['thinking'] === 'string' && typeof block['signature'] === 'string'
    case 'redacted_thinking':
      return typeof block['data'] === 'string'
    case 'image':
    case 'document':
      return isJsonObject(block['source']) && typeof block['source']['type'] === 'string'
    default:
      return typeof block['type'] === 'string' && /_tool_use$|_tool_result$|^search_result$/.test(block['type'])
  }
}

/** A larger number of tokens is not plausible. */
const maxTokens = 1e9

/** The usage of a request; undefined for none. An implausible number counts as zero. */
export function usageIn(value: unknown): Usage | undefined {
  if (!isJsonObject(value)) return undefined
  const { input_tokens: input, output_tokens: output } = value
  if (input === undefined && output === undefined) return undefined
  const created = countIn(value['cache_creation_input_tokens'])
  const { cache_creation: parts, server_tool_use: tools } = value
  const hour = isJsonObject(parts) ? Math.min(created, countIn(parts['ephemeral_1h_input_tokens'])) : 0
  const searches = isJsonObject(tools) ? countIn(tools['web_search_requests']) : 0
  return {
    input_tokens: countIn(input),
    output_tokens: countIn(output),
    cache_creation_input_tokens: created,
    cache_read_input_tokens: countIn(value['cache_read_input_tokens']),
    ...(hour > 0 && {
      cache_creation: { ephemeral_5m_input_tokens: created - hour, ephemeral_1h_input_tokens: hour },
    }),
    ...(searches > 0 && { server_tool_use: { web_search_requests: searches } }),
  }
}

export function countIn(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= maxTokens ? value : 0
}
