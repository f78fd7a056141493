import { createHash } from 'node:crypto'
import type { ReplyBehaviour, Terms } from './billing-behaviour.ts'
import type { Bill } from './billing-meter.ts'
import type { Order, PromptPiece, Reply, ReplyBlock, Wire } from './billing-wire.ts'

/** Everything that determines the answer and the bill of a request. */
export interface Making {
  readonly order: Order
  readonly behaviour: ReplyBehaviour
  readonly terms: Terms
  readonly wire: Wire
  /** Number of the request, from 1. Ids are derived from it. */
  readonly number: number
  readonly maxSearches: number
  readonly contextWindow: number
  /** Hashes of the cached prefixes of this model. Requests add to them. */
  readonly cache: Set<string>
}

/**
 * The complete reply and its bill, decided when the request arrives. The service completes it whether or not anyone
 * reads. It keeps the bounds of real services: a token has at least one byte, a reply is not longer than its cap, and
 * text that is sent back has no more tokens than when it was written.
 */
export function makeReply(making: Making): Reply {
  const { order, behaviour, number, terms } = making
  const prompt = countPrompt(order.pieces, terms)
  const searches = searchesOf(making, prompt.total)
  const shown = shownBlocks(making)
  const isCut = behaviour.what === 'cut' || shown.isCut
  const left = order.maxTokens - shown.tokens
  const output = isCut ? order.maxTokens : shown.tokens + Math.floor(left * behaviour.hidden)
  const cached = cachedParts(making, prompt)
  return {
    id: `msg_${number}`,
    model: order.model,
    blocks: [...searches.blocks, ...shown.blocks],
    stop: isCut ? 'cut' : stopOf(behaviour, shown.blocks),
    usage: behaviour.usage,
    thoughtTokens: output - shown.tokens,
    thoughtIsApart: behaviour.thoughtIsApart,
    reads: [prompt.total, ...searches.reads],
    bill: {
      ...cached,
      input: cached.input + searches.reads.reduce((sum, read) => sum + read, 0),
      output,
      searches: searches.blocks.length,
      promptTokens: Math.max(prompt.total, searches.longest),
    },
  }
}

function stopOf({ what }: ReplyBehaviour, blocks: readonly ReplyBlock[]): Reply['stop'] {
  if (blocks.some(({ type }) => type === 'call')) return 'calls'
  return what === 'pause' || what === 'refusal' ? what : 'end'
}

interface CountedPrompt {
  readonly total: number
  /** Tokens up to the end of each piece, and the hash of everything before it. */
  readonly ends: readonly { readonly tokens: number; readonly hash: string; readonly isBreakpoint: boolean }[]
}

function countPrompt(pieces: readonly PromptPiece[], terms: Terms): CountedPrompt {
  let frames = terms.base
  let bytes = 0
  const hash = createHash('sha1')
  const ends = pieces.map(({ text, frame, isBreakpoint }) => {
    frames += frame === 'message' ? terms.messageFrame : terms.blockFrame
    bytes += Buffer.byteLength(text)
    hash.update(`${frame} ${text}\n`)
    return { tokens: frames + tokensOf(bytes, terms), hash: hash.copy().digest('hex'), isBreakpoint }
  })
  return { total: frames + tokensOf(bytes, terms), ends }
}

function tokensOf(bytes: number, { permille }: Terms): number {
  return Math.ceil((bytes * permille) / 1_000)
}

/** Splits the tokens into those read from the cache, those written to it, and the rest. */
function cachedParts(
  { behaviour, cache, wire }: Making,
  { total, ends }: CountedPrompt,
): Pick<Bill, 'input' | 'read' | 'write5m' | 'write1h'> {
  if (behaviour.cache === 'none') return { input: total, read: 0, write5m: 0, write1h: 0 }
  if (behaviour.cache === 'forgotten') cache.clear()
  const read = ends.findLast(({ hash }) => cache.has(hash))?.tokens ?? 0
  const breakpoints = ends.filter(({ isBreakpoint }) => isBreakpoint)
  for (const { hash } of breakpoints) cache.add(hash)
  const written = Math.max(0, (breakpoints.at(-1)?.tokens ?? 0) - read)
  const isWrittenForAnHour = behaviour.isWrittenForAnHour && wire.hasHourCache
  return {
    input: total - read - written,
    read,
    write5m: isWrittenForAnHour ? 0 : written,
    write1h: isWrittenForAnHour ? written : 0,
  }
}

interface Searches {
  readonly blocks: readonly ReplyBlock[]
  /** The tokens that each pass read. */
  readonly reads: readonly number[]
  readonly longest: number
}

/** Each search reads the prompt again with all results so far, and fills the window at most. */
function searchesOf({ behaviour, terms, wire, number, ...making }: Making, prompt: number): Searches {
  const blocks: ReplyBlock[] = []
  let found = 0
  const reads: number[] = []
  let longest = 0
  const uses = wire.hasSearches ? Math.min(behaviour.searches, making.maxSearches) : 0
  for (let use = 0; use < uses; use++) {
    const text = 'f'.repeat(Math.floor(behaviour.found * 300))
    const block: ReplyBlock = { type: 'search', id: `srv_${number}_${use}`, query: 'what is it', found: text }
    found += tokensOfBlock(block, wire, terms)
    if (prompt + found > making.contextWindow) break
    blocks.push(block)
    const read = prompt + found + Math.floor((making.contextWindow - prompt - found) * behaviour.found)
    longest = Math.max(longest, read)
    reads.push(read)
  }
  return { blocks, reads, longest }
}

/** The visible part of the reply that fits into the cap. */
function shownBlocks({ order, behaviour, terms, wire, number }: Making): {
  readonly blocks: readonly ReplyBlock[]
  readonly tokens: number
  readonly isCut: boolean
} {
  const blocks: ReplyBlock[] = []
  let tokens = terms.messageFrame
  let isCut = tokens > order.maxTokens
  const say = (block: ReplyBlock): void => {
    const more = tokensOfBlock(block, wire, terms)
    if (isCut || tokens + more > order.maxTokens) isCut = true
    else {
      blocks.push(block)
      tokens += more
    }
  }
  const text = 'é'.repeat(Math.floor(behaviour.bytes / 2))
  if (behaviour.isThinking) say({ type: 'thinking', text: 'thought '.repeat(4) })
  const names = behaviour.what === 'calls' ? behaviour.calls.filter((name) => order.tools.includes(name)) : []
  if (names.length === 0) say({ type: 'text', text: text === '' ? 'so' : text })
  for (const [index, name] of names.entries()) {
    say({ type: 'call', id: `call_${number}_${index}`, name, input: { of: text } })
  }
  return isCut && blocks.length === 0 ? { blocks, tokens: 0, isCut } : { blocks, tokens, isCut }
}

function tokensOfBlock(block: ReplyBlock, wire: Wire, terms: Terms): number {
  let tokens = 0
  for (const text of wire.textsOf(block)) tokens += terms.blockFrame + tokensOf(Buffer.byteLength(text), terms)
  return tokens
}
