import { isJsonObject, isToolResult, isToolUse } from '@halting/core/adapters'
import type { ContentBlock, MessageContent } from '@halting/core'
import type { ForeignPayment } from '@halting/core/steps'
import { RunsBuilder, type ReplyPart } from './runs-builder.ts'
import { programNames, type ForeignPart, type ForeignSession, type SkipCount } from './session.ts'
import { momentIn, replyIn, resultIn, saidIn, textIn, usageIn, type Fields } from './values.ts'

/** Lines that hold nothing of the conversation. */
const bookkeeping: ReadonlySet<string> = new Set(
  (
    'summary file-history-snapshot file-history-delta queue-operation last-prompt progress custom-title ai-title agent-name agent-color agent-setting ' +
    'tag permission-mode mode pr-link content-replacement worktree-state task-summary attribution-snapshot started result'
  ).split(' '),
)

/** What a line tells of the conversation. */
type Event =
  | { readonly kind: 'reply'; readonly part: ReplyPart }
  | { readonly kind: 'refused'; readonly text: string }
  | { readonly kind: 'user'; readonly content: unknown; readonly isNote: boolean }
  | { readonly kind: 'steered'; readonly content: MessageContent }
  | { readonly kind: 'at_limit'; readonly limit: number }
  | { readonly kind: 'compacted' }
  | { readonly kind: 'nothing' }

interface Node {
  readonly uuid: string
  readonly parent: string | undefined
  readonly isSide: boolean
  readonly at: number | undefined
  readonly event: Event
}

/** Reads lines of a session of Claude Code, and those of its subagents where they stand in files of their own. */
export class ClaudeCodeReader {
  readonly #nodes: Node[] = []
  readonly #seen = new Set<string>()
  readonly #skipped: SkipCount
  readonly #counts: (uuid: string) => boolean
  /** Requests of subagents, by their keys: each once, with its last figures. */
  readonly #besides = new Map<string, { payment: Omit<ForeignPayment, 'endedMs'>; at: number | undefined }>()
  #cwd: string | undefined
  #sessionId: string | undefined
  #recordedUsd: number | undefined

  /** `counts`: whether a line counts in this file, of those that are read together. */
  constructor(skipped: SkipCount, counts: (uuid: string) => boolean = () => true) {
    this.#skipped = skipped
    this.#counts = counts
  }

  get sessionId(): string | undefined {
    return this.#sessionId
  }

  line(line: Fields): void {
    const { type, sessionId, cwd, uuid } = line
    const kind = textIn(type) ?? ''
    if (kind === 'cost-state') {
      const { totalCostUSD: total } = line
      if (typeof total === 'number' && Number.isFinite(total) && total >= 0) this.#recordedUsd = total
      return
    }
    if (kind !== 'user' && kind !== 'assistant' && kind !== 'system' && kind !== 'attachment') {
      if (!bookkeeping.has(kind)) this.#skipped.unknown(kind === '' ? 'without a type' : kind)
      // They may stand in the chain of messages all the same.
      if (typeof uuid === 'string') this.#add(uuid, line, { kind: 'nothing' })
      return
    }
    this.#cwd ??= textIn(cwd)
    this.#sessionId = textIn(sessionId) ?? this.#sessionId
    const name = textIn(uuid) ?? `line ${this.#nodes.length}`
    if (this.#seen.has(name)) return
    // The results of calls that are copies go with them.
    if (typeof uuid === 'string' && !this.#counts(uuid)) return this.#skipped.copied()
    this.#add(name, line, eventOf(kind, line))
  }

  #add(uuid: string, { parentUuid, isSidechain, timestamp }: Fields, event: Event): void {
    this.#seen.add(uuid)
    const node = { uuid, parent: textIn(parentUuid), isSide: isSidechain === true, at: momentIn(timestamp), event }
    this.#nodes.push(node)
  }

  /** A line of a subagent's own file. */
  sideLine(line: Fields): void {
    const { type, uuid } = line
    if (type !== 'assistant') return
    if (typeof uuid === 'string' && !this.#counts(uuid)) return this.#skipped.copied()
    const event = eventOf('assistant', line)
    if (event.kind === 'reply') this.#addBeside(event.part, momentIn(line['timestamp']))
  }

  #addBeside({ key, model, askedModel, usage }: ReplyPart, at: number | undefined): void {
    if (usage === undefined) return
    const payment = { model, ...(askedModel !== undefined && { askedModel }), usage }
    const known = this.#besides.get(key)
    if (known === undefined) this.#besides.set(key, { payment, at })
    else known.payment = payment
  }

  session(path: string, named: string, which: ForeignPart): ForeignSession {
    const hasMain = this.#nodes.some(({ isSide, event }) => !isSide && event.kind !== 'nothing')
    // A file of a subagent alone is told as a session.
    const main = hasMain ? this.#nodes.filter(({ isSide }) => !isSide) : this.#nodes
    if (hasMain)
      for (const { isSide, event, at } of this.#nodes)
        if (isSide && event.kind === 'reply') this.#addBeside(event.part, at)
    const builder = new RunsBuilder(programNames['claude-code'])
    const besides = which === 'all' ? [...this.#besides.values()].toSorted(byMoment) : []
    let next = 0
    for (const { event, at } of which === 'all' ? main : newestBranch(main)) {
      while ((besides[next]?.at ?? Infinity) <= (at ?? -Infinity)) pay(builder, besides[next++])
      tell(builder, event, at)
    }
    for (const each of besides.slice(next)) pay(builder, each)
    const runs = builder.done(named)
    const { strayResults, withoutFigures } = builder
    return {
      program: 'claude-code',
      sessionId: named,
      cwd: this.#cwd,
      path,
      runs,
      recordedUsd: this.#recordedUsd,
      skipped: this.#skipped.with({ strayResults, withoutFigures }),
    }
  }
}

type Beside = { readonly payment: Omit<ForeignPayment, 'endedMs'>; readonly at: number | undefined }

function byMoment(a: Beside, b: Beside): number {
  return (a.at ?? 0) - (b.at ?? 0)
}

function pay(builder: RunsBuilder, beside: Beside | undefined): void {
  if (beside !== undefined) builder.beside(beside.payment)
}

/** What the program writes in place of a reply that it made itself. */
const synthetic = '<synthetic>'

function eventOf(kind: 'user' | 'assistant' | 'system' | 'attachment', line: Fields): Event {
  const { message, subtype, attachment } = line
  switch (kind) {
    case 'system':
      return { kind: subtype === 'compact_boundary' ? 'compacted' : 'nothing' }
    case 'attachment':
      return isJsonObject(attachment) ? attachedEvent(attachment) : { kind: 'nothing' }
    case 'user': {
      if (!isJsonObject(message)) return { kind: 'nothing' }
      const isNote = line['isMeta'] === true || line['isCompactSummary'] === true
      return { kind: 'user', content: message['content'], isNote }
    }
    case 'assistant':
      return isJsonObject(message) ? replyEvent(message, line) : { kind: 'nothing' }
  }
}

function attachedEvent({ type, prompt, maxTurns }: Fields): Event {
  if (type === 'queued_command') {
    const content = saidIn(prompt)
    return content.length === 0 ? { kind: 'nothing' } : { kind: 'steered', content }
  }
  return type === 'max_turns_reached' && typeof maxTurns === 'number'
    ? { kind: 'at_limit', limit: maxTurns }
    : { kind: 'nothing' }
}

function replyEvent(message: Fields, { requestRef, requestedModel, uuid, isApiErrorMessage }: Fields): Event {
  const blocks = replyIn(message['content'])
  const model = textIn(message['model']) ?? ''
  if (isApiErrorMessage === true) {
    const text = blocks.flatMap((block) => (block.type === 'text' && 'text' in block ? [block.text] : []))
    return { kind: 'refused', text: text.join(' ') }
  }
  if (model === synthetic) return { kind: 'nothing' }
  const key = textIn(requestRef) ?? textIn(message['id']) ?? textIn(uuid) ?? ''
  return {
    kind: 'reply',
    part: {
      key,
      model,
      askedModel: textIn(requestedModel),
      blocks,
      stopReason: textIn(message['stop_reason']) ?? null,
      usage: usageIn(message['usage']),
    },
  }
}

const interruption = /^\[Request interrupted by user(?: for tool use)?\]/
/** Texts that the program writes in the name of the person, about what did not reach a model by itself. */
const aside = /^(?:<local-command-|<bash-stdout>|<bash-stderr>|<bash-input>|Caveat: The messages below were generated)/

function tell(builder: RunsBuilder, event: Event, at: number | undefined): void {
  switch (event.kind) {
    case 'reply':
      return builder.reply(event.part, at)
    case 'refused':
      return builder.ends(refusal(event.text), at)
    case 'at_limit': {
      const { limit } = event
      return builder.ends(
        {
          reason: 'max_turns',
          message: `${limit} ${limit === 1 ? 'turn was' : 'turns were'} allowed, as Claude Code says`,
          limit,
        },
        at,
      )
    }
    case 'steered':
      return builder.prompt(event.content, at, 'same_run')
    case 'user':
      return tellUser(builder, event.content, event.isNote, at)
    case 'compacted':
    case 'nothing':
  }
}

function refusal(text: string): { readonly reason: 'prompt_too_long' | 'model_error'; readonly message: string } {
  return {
    reason: /prompt is too long/i.test(text) ? 'prompt_too_long' : 'model_error',
    message: `refused by the API: ${text}`,
  }
}

function tellUser(builder: RunsBuilder, content: unknown, isNote: boolean, at: number | undefined): void {
  const given: readonly unknown[] = Array.isArray(content) ? (content as readonly unknown[]) : []
  for (const block of given) {
    if (!isJsonObject(block) || block['type'] !== 'tool_result' || typeof block['tool_use_id'] !== 'string') continue
    builder.result(block['tool_use_id'], resultIn(block['content']), block['is_error'] === true, at)
  }
  const said = saidIn(content)
  const text = firstText(said)
  if (said.length === 0) return
  if (interruption.test(text)) {
    builder.note(said, 'interruption', at)
    const isTool = text.includes('for tool use')
    return builder.ends(
      { reason: isTool ? 'aborted_tools' : 'aborted_streaming', message: 'interrupted by the person' },
      at,
    )
  }
  if (isNote || aside.test(text)) return builder.note(said, 'loop', at)
  // Text behind results is what the program adds to them.
  if (given.some((block) => isJsonObject(block) && block['type'] === 'tool_result'))
    return builder.note(said, 'loop', at)
  builder.prompt(said, at)
}

function firstText(content: MessageContent): string {
  if (typeof content === 'string') return content
  const block = content.find(({ type }) => type === 'text')
  return block !== undefined && 'text' in block && typeof block.text === 'string' ? block.text : ''
}

/**
 * What the newest message goes back to, down to the last compaction: the messages that a model would be shown. A message whose parent is missing
 * follows the one before it in the file. Calls that ran beside each other are branches of one reply; all of them count.
 */
function newestBranch(nodes: readonly Node[]): readonly Node[] {
  const places = new Map(nodes.map(({ uuid }, index) => [uuid, index]))
  const chosen = new Set<number>()
  let index = nodes.findLastIndex(({ event }) => event.kind !== 'nothing')
  while (index >= 0 && !chosen.has(index)) {
    const node = nodes[index]
    if (node === undefined || node.event.kind === 'compacted') break
    chosen.add(index)
    if (node.parent === undefined) break
    // A parent that stands behind its child would lead in circles.
    const parent = places.get(node.parent)
    index = parent === undefined || parent >= index ? index - 1 : parent
  }
  // The walk went back all the time.
  const begin = [...chosen].at(-1) ?? Infinity
  const keys = new Set<string>()
  for (const each of chosen) {
    const event = nodes[each]?.event
    if (event?.kind === 'reply') keys.add(event.part.key)
  }
  const calls = new Set<string>()
  return nodes.filter(({ event }, place) => {
    if (place < begin) return false
    const isPart = event.kind === 'reply' && keys.has(event.part.key)
    if (event.kind === 'reply' && isPart) for (const block of event.part.blocks) addCall(calls, block)
    return chosen.has(place) || isPart || (event.kind === 'user' && isResultOf(event.content, calls))
  })
}

function addCall(calls: Set<string>, block: ContentBlock): void {
  if (isToolUse(block)) calls.add(block.id)
}

/** Nothing but results of these calls. */
function isResultOf(content: unknown, calls: ReadonlySet<string>): boolean {
  if (!Array.isArray(content) || content.length === 0) return false
  // What a line holds may be anything; `isToolResult` looks at one field.
  return (content as readonly unknown[]).every(
    (block) =>
      isJsonObject(block) &&
      isToolResult(block as unknown as ContentBlock) &&
      calls.has(textIn(block['tool_use_id']) ?? ''),
  )
}
