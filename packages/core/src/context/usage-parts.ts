import { isText, isToolResult, isToolUse, type ContentBlock, type ModelMessage } from '../model/messages.ts'
import type { ToolDefinition } from '../model/model.ts'
import { clearedNoteStart, type Transcript, type UserOrigin } from '../conversation/transcript.ts'
import { estimateMessages, type Tokens } from '../model/tokens.ts'

/** Kinds of content in a window, in the order in which they are reported. */
const contextKinds = [
  /** The system prompt, without the entries below. */
  'system',
  /** Entries of `userContext` and `systemContext` in the system prompt or in people's messages. */
  'memory',
  'tool',
  /** The content that compactions added in place of messages. */
  'summary',
  /** People's messages. */
  'person',
  /** Messages of hooks and of the loop. */
  'program',
  'text',
  'thinking',
  'call',
  'result',
  /** Notes in place of pruned results. */
  'cleared',
] as const
/** A kind of content in a window. */
export type ContextKind = (typeof contextKinds)[number]

/** One part of the content of a window. */
export interface ContextPart {
  /** The kind of content. */
  readonly kind: ContextKind
  /** Name of the tool or the entry; null if it has no name. */
  readonly name: string | null
  /** Tokens, estimated or counted. */
  readonly tokens: number
}

/** The parts of the next request. */
export interface RequestParts {
  readonly system: string
  readonly tools: readonly ToolDefinition[]
  readonly transcript: Transcript
  /** By name. */
  readonly entries: { readonly [name: string]: string }
  readonly tokens: Tokens
}

/** Adds up parts with the same kind and name. */
class Sums {
  readonly #tokens = new Map<string, ContextPart>()

  add(kind: ContextKind, name: string | null, tokens: number): void {
    const key = `${kind} ${name ?? ''}`
    const before = this.#tokens.get(key)?.tokens ?? 0
    if (before + tokens > 0) this.#tokens.set(key, { kind, name, tokens: before + tokens })
  }

  /** By kind, and within a kind the largest first. */
  get parts(): readonly ContextPart[] {
    const place = ({ kind }: ContextPart): number => contextKinds.indexOf(kind)
    return [...this.#tokens.values()].toSorted((a, b) => place(a) - place(b) || b.tokens - a.tokens)
  }
}

/** The estimated parts of the next request. Nothing is counted twice. */
export function partsOf(request: RequestParts): readonly ContextPart[] {
  const { system, tools, transcript, tokens } = request
  const sums = new Sums()
  const entries = entriesIn(request)
  const systemTokens = tokens.estimate(system)
  sums.add('system', null, systemTokens - entries.take(system, systemTokens, sums))
  for (const tool of tools) sums.add('tool', tool.name, tokens.estimate(JSON.stringify(tool)))
  const classify = classifier(transcript)
  const nameOfCall = new Map<string, string>()
  for (const message of transcript.messages()) {
    const kindOf = classify(message)
    // The overhead of a message is counted with its first block.
    let overhead = messageOverhead
    const add = (kind: ContextKind, name: string | null, amount: number): void => {
      sums.add(kind, name, amount + overhead)
      overhead = 0
    }
    if (typeof message.content === 'string') {
      const amount = tokens.estimate(message.content)
      add(kindOf, null, amount - entries.take(message.content, amount, sums))
      continue
    }
    for (const block of message.content) {
      const amount = estimateMessages(tokens, [{ role: 'user', content: [block] }]) - messageOverhead
      if (isToolUse(block)) nameOfCall.set(block.id, block.name)
      const [kind, name] = kindOfBlock(block, message.role, kindOf, nameOfCall)
      const taken = isText(block) && message.role === 'user' ? entries.take(block.text, amount, sums) : 0
      add(kind, name, amount - taken)
    }
    if (overhead > 0) add(kindOf, null, 0)
  }
  return sums.parts
}

/** The overhead that `estimateMessages` adds for a message. */
const messageOverhead = 4

function kindOfBlock(
  block: ContentBlock,
  role: ModelMessage['role'],
  kindOfMessage: ContextKind,
  names: ReadonlyMap<string, string>,
): readonly [ContextKind, string | null] {
  if (isToolResult(block)) {
    const name = names.get(block.tool_use_id) ?? null
    return typeof block.content === 'string' && block.content.startsWith(clearedNoteStart)
      ? ['cleared', name]
      : ['result', name]
  }
  if (role === 'user') return [kindOfMessage, null]
  if (isToolUse(block)) return ['call', block.name]
  if (isText(block)) return ['text', null]
  if (block.type === 'thinking' || block.type === 'redacted_thinking') return ['thinking', null]
  // Built-in tools of the service: their calls and results are part of the reply.
  const name = 'name' in block && typeof block.name === 'string' ? block.name : block.type
  return [block.type.endsWith('_result') ? 'result' : 'call', name]
}

/** Context entries, each counted where it occurs first. */
function entriesIn({ entries, tokens }: RequestParts) {
  const left = new Map(Object.entries(entries).filter(([, text]) => text.trim() !== ''))
  return {
    /** Counts the entries that occur in this text, up to `amount` tokens. Returns their tokens. */
    take(text: string, amount: number, sums: Sums): number {
      let taken = 0
      for (const [name, entry] of left) {
        if (!text.includes(entry)) continue
        left.delete(name)
        const own = Math.min(tokens.estimate(entry), amount - taken)
        sums.add('memory', name, own)
        taken += own
      }
      return taken
    },
  }
}

const ofAPerson: ReadonlySet<UserOrigin> = new Set<UserOrigin>(['prompt', 'steer', 'follow_up'])

/** Returns a function that classifies messages. A message without an entry was created by a compaction or by a hook. */
function classifier(transcript: Transcript): (message: ModelMessage) => ContextKind {
  const origins = new Map<ModelMessage | string, UserOrigin>()
  for (const entry of transcript) {
    if (entry.kind !== 'user') continue
    origins.set(entry.message, entry.origin)
    // In a transcript that was read from storage, a message that a compaction preserved is a copy.
    if (entry.origin !== 'tool_results') origins.set(JSON.stringify(entry.message.content), entry.origin)
  }
  return (message) => {
    if (message.role === 'assistant') return 'text'
    const origin = origins.get(message) ?? origins.get(JSON.stringify(message.content))
    if (origin === undefined && typeof message.content !== 'string' && message.content.some(isToolResult))
      return 'program'
    if (origin === undefined) return 'summary'
    return ofAPerson.has(origin) ? 'person' : 'program'
  }
}
