import { type ContentBlock, type MessageContent, type EndingReason } from '@halting/core'
import { isEndingReason, isJsonObject, isToolResult, isToolUse } from '@halting/core/adapters'
import type { ForeignEnding } from './foreign-run.ts'
import { AgentRequests, progressLine, type AgentRequest } from './agent-requests.ts'
import { RunsBuilder, type ReplyPart } from './runs-builder.ts'
import { programNames, type ForeignPart, type ForeignSession, type SkipCount } from './session.ts'
import { momentIn, replyIn, resultIn, userContentIn, textIn, usageIn, type Fields } from './parse-values.ts'

/** Types of lines without content of the conversation. */
const ignoredLineTypes: ReadonlySet<string> = new Set(
  (
    'summary file-history-snapshot file-history-delta queue-operation last-prompt progress custom-title ai-title agent-name agent-color agent-setting ' +
    'tag permission-mode mode pr-link content-replacement worktree-state task-summary attribution-snapshot started result ' +
    'stream_event rate_limit_event tool_progress auth_status prompt_suggestion control_request control_response control_cancel_request keep_alive'
  ).split(' '),
)

/** The content of a line that matters for the conversation. */
type Event =
  | { readonly kind: 'reply'; readonly part: ReplyPart }
  | { readonly kind: 'refused'; readonly text: string }
  | { readonly kind: 'user'; readonly content: unknown; readonly isNote: boolean }
  | { readonly kind: 'steered'; readonly content: MessageContent }
  | { readonly kind: 'at_limit'; readonly limit: number }
  | { readonly kind: 'ended'; readonly ending: ForeignEnding }
  | { readonly kind: 'compacted' }
  | { readonly kind: 'nothing' }

interface Node {
  readonly uuid: string
  readonly parent: string | undefined
  readonly isSide: boolean
  readonly at: number | undefined
  /** Number of lines before it. */
  readonly place: number
  readonly event: Event
}

/** Reads lines of a Claude Code session, and those of its subagents' files. */
export class ClaudeCodeReader {
  readonly #nodes: Node[] = []
  readonly #sideLines: { readonly line: Fields; readonly event: Event; readonly place: number }[] = []
  readonly #seen = new Set<string>()
  readonly #skipped: SkipCount
  readonly #counts: (uuid: string) => boolean
  readonly #agentRequests = new AgentRequests()
  /** The model of the newest reply. */
  #model = ''
  #cwd: string | undefined
  #sessionId: string | undefined
  #recordedUsd: number | undefined

  /** `counts`: whether a line counts in this file, when several files are read together. */
  constructor(skipped: SkipCount, counts: (uuid: string) => boolean = () => true) {
    this.#skipped = skipped
    this.#counts = counts
  }

  get sessionId(): string | undefined {
    return this.#sessionId
  }

  line(line: Fields): void {
    const { type, sessionId, session_id: streamedId, cwd, uuid } = line
    const kind = textIn(type) ?? ''
    // Lines that a program stored from `--output-format stream-json`.
    this.#sessionId = textIn(streamedId) ?? this.#sessionId
    if (kind === 'result' && typeof line['subtype'] === 'string') return this.#result(line)
    const progress = progressLine(line)
    if (progress !== undefined) this.sideLine(progress)
    if (kind === 'cost-state') {
      const { totalCostUSD: total } = line
      if (typeof total === 'number' && Number.isFinite(total) && total >= 0) this.#recordedUsd = total
      return
    }
    if (kind !== 'user' && kind !== 'assistant' && kind !== 'system' && kind !== 'attachment') {
      if (!ignoredLineTypes.has(kind)) this.#skipped.unknown(kind === '' ? 'without a type' : kind)
      // Messages may still refer to this line as their parent.
      if (typeof uuid === 'string') this.#add(uuid, line, { kind: 'nothing' })
      return
    }
    this.#cwd ??= textIn(cwd)
    this.#sessionId = textIn(sessionId) ?? this.#sessionId
    const name = textIn(uuid) ?? `line ${this.#nodes.length}`
    if (this.#seen.has(name)) return
    // Results of copied calls are skipped with them.
    if (typeof uuid === 'string' && !this.#counts(uuid)) return this.#skipped.copied()
    const event = eventOf(kind, line)
    if (isSideLine(line)) this.#sideLines.push({ line, event, place: this.#nodes.length })
    else if (event.kind === 'reply') this.#model = event.part.model
    if (kind === 'user') this.#agentRequests.result(line, this.#model, this.#nodes.length)
    this.#add(name, line, event)
  }

  /** The last line of a streamed run contains its ending and its cost. */
  #result(line: Fields): void {
    const { total_cost_usd: total, uuid } = line
    if (typeof total === 'number' && Number.isFinite(total) && total >= 0) this.#recordedUsd = total
    const name = textIn(uuid) ?? `line ${this.#nodes.length}`
    if (!this.#seen.has(name)) this.#add(name, line, { kind: 'ended', ending: endingOf(line) })
  }

  #add(uuid: string, line: Fields, event: Event): void {
    const { parentUuid, timestamp } = line
    this.#seen.add(uuid)
    const [parent, at, place] = [textIn(parentUuid), momentIn(timestamp), this.#nodes.length]
    this.#nodes.push({ uuid, parent, isSide: isSideLine(line), at, place, event })
  }

  /** Reads a line of a subagent's own file. */
  sideLine(outerLine: Fields): void {
    let line = outerLine
    // Progress lines may be nested to any depth.
    for (let inner = progressLine(line); inner !== undefined; inner = progressLine(line)) line = inner
    const { type, uuid } = line
    if (type !== 'assistant' && (type !== 'user' || line['toolUseResult'] === undefined)) return
    if (typeof uuid === 'string' && !this.#counts(uuid)) return this.#skipped.copied()
    if (type === 'user') return this.#agentRequests.result(line, this.#model)
    const event = eventOf('assistant', line)
    if (event.kind === 'reply') this.#agentRequests.reply(event.part, line)
  }

  session(path: string, sessionId: string, which: ForeignPart): ForeignSession {
    const hasMain = this.#nodes.some(({ isSide, event }) => !isSide && event.kind !== 'nothing')
    // A file that contains only a subagent is read as a session.
    const main = hasMain ? this.#nodes.filter(({ isSide }) => !isSide) : this.#nodes
    if (hasMain)
      for (const { line, event, place } of this.#sideLines)
        if (event.kind === 'reply') this.#agentRequests.reply(event.part, line, place)
    const builder = new RunsBuilder(programNames['claude-code'])
    const { timed, placed } = which === 'all' ? this.#agentRequests.sorted() : none
    let [nextTimed, nextPlaced] = [0, 0]
    for (const { event, at, place } of which === 'all' ? main : newestBranch(main)) {
      while ((timed[nextTimed]?.at ?? Infinity) <= (at ?? -Infinity)) pay(builder, timed[nextTimed++])
      while ((placed[nextPlaced]?.place ?? Infinity) <= place) pay(builder, placed[nextPlaced++])
      addEvent(builder, event, at)
    }
    for (const each of [...timed.slice(nextTimed), ...placed.slice(nextPlaced)]) pay(builder, each)
    const runs = builder.done(sessionId)
    const { strayResults, withoutFigures } = builder
    return {
      program: 'claude-code',
      sessionId,
      cwd: this.#cwd,
      path,
      runs,
      recordedUsd: this.#recordedUsd,
      skipped: this.#skipped.with({ strayResults, withoutFigures }),
    }
  }
}

const none: ReturnType<AgentRequests['sorted']> = { timed: [], placed: [] }

function pay(builder: RunsBuilder, request: AgentRequest | undefined): void {
  if (request !== undefined) builder.agentRequest(request.payment)
}

/** Whether a line belongs to a subagent, in the file of its session or in a stream. */
function isSideLine({ isSidechain, parent_tool_use_id: caller }: Fields): boolean {
  return isSidechain === true || typeof caller === 'string'
}

const endingsOfResults: { readonly [subtype: string]: EndingReason | undefined } = {
  success: 'completed',
  error_max_turns: 'max_turns',
  error_max_budget_usd: 'max_budget_usd',
  error_max_structured_output_retries: 'structured_output_retry_exhausted',
}

function endingOf({ subtype, is_error: isError, terminal_reason: terminalReason, result }: Fields): ForeignEnding {
  const name = textIn(subtype) ?? ''
  const reason = textIn(terminalReason) ?? ''
  const message = `its result line has ${name}${reason === '' ? '' : ` (${reason})`}`
  if (isEndingReason(reason)) return { reason, message }
  if (name === 'success' && isError === true)
    return { reason: 'model_error', message: `refused by the API: ${textIn(result) ?? ''}` }
  return { reason: (Object.hasOwn(endingsOfResults, name) ? endingsOfResults[name] : undefined) ?? 'error', message }
}

/** Model name of replies that the program itself wrote. */
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
    const content = userContentIn(prompt)
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
/** Texts that the program writes as the user, about things that were not sent to a model as such. */
const localNote =
  /^(?:<local-command-|<bash-stdout>|<bash-stderr>|<bash-input>|Caveat: The messages below were generated)/

function addEvent(builder: RunsBuilder, event: Event, at: number | undefined): void {
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
          message: `${limit} ${limit === 1 ? 'turn was' : 'turns were'} allowed, according to Claude Code`,
          limit,
        },
        at,
      )
    }
    case 'ended':
      builder.ends(event.ending, at)
      // Later lines of the same stream are another run.
      return builder.begins(undefined)
    case 'steered':
      return builder.prompt(event.content, at, 'same_run')
    case 'user':
      return addUserLine(builder, event.content, event.isNote, at)
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

function addUserLine(builder: RunsBuilder, content: unknown, isNote: boolean, at: number | undefined): void {
  const blocks: readonly unknown[] = Array.isArray(content) ? (content as readonly unknown[]) : []
  for (const block of blocks) {
    if (!isJsonObject(block) || block['type'] !== 'tool_result' || typeof block['tool_use_id'] !== 'string') continue
    builder.result(block['tool_use_id'], resultIn(block['content']), block['is_error'] === true, at)
  }
  const message = userContentIn(content)
  const text = firstText(message)
  if (message.length === 0) return
  if (interruption.test(text)) {
    builder.note(message, 'interruption', at)
    const isTool = text.includes('for tool use')
    return builder.ends(
      { reason: isTool ? 'aborted_tools' : 'aborted_streaming', message: 'interrupted by the person' },
      at,
    )
  }
  if (isNote || localNote.test(text)) return builder.note(message, 'loop', at)
  // Text after tool results was added by the program.
  if (blocks.some((block) => isJsonObject(block) && block['type'] === 'tool_result'))
    return builder.note(message, 'loop', at)
  builder.prompt(message, at)
}

function firstText(content: MessageContent): string {
  if (typeof content === 'string') return content
  const block = content.find(({ type }) => type === 'text')
  return block !== undefined && 'text' in block && typeof block.text === 'string' ? block.text : ''
}

/**
 * The ancestors of the newest message, back to the last compaction: the messages that a model would see. A message with an unknown parent follows the
 * previous line. Parallel calls are branches of one reply; all of them count.
 */
function newestBranch(nodes: readonly Node[]): readonly Node[] {
  const places = new Map(nodes.map(({ uuid }, index) => [uuid, index]))
  const chosen = new Set<number>()
  // Lines of a stream have no parents: each follows the one before it.
  const hasParents = nodes.some(({ parent }) => parent !== undefined)
  let index = nodes.findLastIndex(({ event }) => event.kind !== 'nothing')
  while (index >= 0 && !chosen.has(index)) {
    const node = nodes[index]
    if (node === undefined || node.event.kind === 'compacted') break
    chosen.add(index)
    if (node.parent === undefined && hasParents) break
    // A parent after its child would form a cycle.
    const parent = node.parent === undefined ? undefined : places.get(node.parent)
    index = parent === undefined || parent >= index ? index - 1 : parent
  }
  // The loop only moves backwards, so the last entry is the first line.
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

/** Whether the content consists only of results of these calls. */
function isResultOf(content: unknown, calls: ReadonlySet<string>): boolean {
  if (!Array.isArray(content) || content.length === 0) return false
  // A line may contain anything; `isToolResult` checks only one field.
  return (content as readonly unknown[]).every(
    (block) =>
      isJsonObject(block) &&
      isToolResult(block as unknown as ContentBlock) &&
      calls.has(textIn(block['tool_use_id']) ?? ''),
  )
}
