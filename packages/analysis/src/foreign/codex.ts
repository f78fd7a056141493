import { isJsonObject } from '@halting/core/adapters'
import type { ContentBlock, MessageContent, Usage } from '@halting/core'
import { RunsBuilder } from './runs-builder.ts'
import { programNames, type ForeignPart, type ForeignSession, type SkipCount } from './session.ts'
import { bounded, countIn, momentIn, textIn, type Fields } from './parse-values.ts'

/** Types of records without content of the conversation, or with content that other records repeat. */
const ignoredEvents: ReadonlySet<string> = new Set([
  'world_state',
  'session_state',
  'ghost_snapshot',
  'inter_agent_communication',
])
const otherEvents =
  /^(?:item_|thread_|agent_|user_message|exec_|mcp_|patch_|web_search_|view_image|plan_|background_|turn_diff|turn_started|turn_complete|warning|stream_|hook_|context_compacted|entered_|exited_|raw_|sub_agent|image_generation|token_|model_|skills_|session_|deprecation|undo_|guardian_|dynamic_tool)/

/** Reads lines of a Codex rollout. */
export class CodexReader {
  readonly #skipped: SkipCount
  readonly #which: ForeignPart
  readonly #builder: RunsBuilder
  #sessionId: string | undefined
  #cwd: string | undefined
  #model = ''
  /** The last reported total: Codex repeats it without a request in between. */
  #reportedTotal = 0
  #replies = 0
  #hasTaskEvents = false
  /** Whether the next items belong to the current reply. */
  #isReplyOpen = false

  constructor(skipped: SkipCount, which: ForeignPart) {
    this.#skipped = skipped
    this.#which = which
    this.#builder = new RunsBuilder(programNames.codex)
  }

  get sessionId(): string | undefined {
    return this.#sessionId
  }

  line(line: Fields): void {
    const { type, payload, timestamp } = line
    const at = momentIn(timestamp)
    // The first versions wrote items and the header without an envelope.
    if (!isJsonObject(payload)) {
      if (type === undefined && typeof line['id'] === 'string') return this.#head(line)
      if (line['record_type'] !== undefined) return
      return this.#item(line, at)
    }
    switch (type) {
      case 'session_meta':
        return this.#head(payload)
      case 'turn_context':
        this.#model = textIn(payload['model']) ?? this.#model
        this.#cwd ??= textIn(payload['cwd'])
        return
      case 'response_item':
        return this.#item(payload, at)
      case 'token_usage_record': {
        const { usage, thread_token_usage: total } = payload
        return this.#figures(usage, total)
      }
      case 'event_msg':
        return this.#event(payload, at)
      case 'compacted':
        return this.#compacted(payload, at)
      default:
        if (!ignoredEvents.has(String(type))) this.#skipped.unknown(textIn(type) ?? 'without a type')
    }
  }

  #head({ id, session_id: sessionId, cwd }: Fields): void {
    // In a fork, the header of the original session follows its own.
    this.#sessionId ??= textIn(id) ?? textIn(sessionId)
    this.#cwd ??= textIn(cwd)
  }

  #event(payload: Fields, at: number | undefined): void {
    switch (payload['type']) {
      case 'task_started':
        this.#hasTaskEvents = true
        this.#isReplyOpen = false
        return this.#builder.begins(at)
      case 'token_count': {
        const { info } = payload
        if (isJsonObject(info)) this.#figures(info['last_token_usage'], info['total_token_usage'])
        return
      }
      case 'task_complete':
        return this.#builder.ends({ reason: 'completed', message: 'the task was complete, according to Codex' }, at)
      case 'turn_aborted': {
        const reason = textIn(payload['reason']) ?? 'interrupted'
        const [ending, message] =
          reason === 'budget_limited'
            ? (['token_limit', 'its budget was used up, according to Codex'] as const)
            : ([
                'aborted_tools',
                `${reason === 'interrupted' ? 'interrupted by the person' : reason}, according to Codex`,
              ] as const)
        return this.#builder.ends({ reason: ending, message }, at)
      }
      case 'error': {
        const text = textIn(payload['message']) ?? ''
        const reason = /context.window|too long/i.test(text) ? 'prompt_too_long' : 'model_error'
        return this.#builder.ends({ reason, message: `refused by the API: ${text}` }, at)
      }
      case 'thread_rolled_back':
        if (this.#which === 'newest_branch') this.#builder.drop(countIn(payload['num_turns']))
        return
      default: {
        const kind = textIn(payload['type']) ?? 'without a type'
        if (!otherEvents.test(kind)) this.#skipped.unknown(`event_msg/${kind}`)
      }
    }
  }

  /** Adds the usage of one request. If the total is unchanged, the usage was already counted. */
  #figures(reported: unknown, total: unknown): void {
    const usage = usageOf(reported)
    if (usage === undefined) return
    const sum = isJsonObject(total) ? countIn(total['total_tokens']) : 0
    if (sum !== 0 && sum === this.#reportedTotal) return
    this.#reportedTotal = sum
    if (!this.#builder.hasFigures()) this.#builder.figures(usage)
    // A request without any other trace, such as one for a summary.
    else this.#builder.agentRequest({ model: this.#model, usage })
    this.#isReplyOpen = false
  }

  #item(item: Fields, at: number | undefined): void {
    const { type, role } = item
    switch (type) {
      case 'message':
        if (role === 'assistant') return this.#reply(textsOf(item['content'], 'output_text'), at)
        if (role === 'user') return this.#user(userContent(item['content']), at)
        return
      case 'reasoning':
        return this.#reply([], at)
      case 'function_call':
        return this.#call(item, argumentsOf(item['arguments']), at)
      case 'custom_tool_call':
        return this.#call(item, { input: bounded(item['input']) }, at)
      case 'local_shell_call':
        return this.#call({ ...item, name: 'local_shell' }, bounded(item['action']), at)
      case 'function_call_output':
      case 'custom_tool_call_output':
        return this.#output(item, at)
      case 'web_search_call':
        return this.#reply([], at)
      case 'ghost_snapshot':
      case 'compaction':
      case 'compaction_summary':
      case 'additional_tools':
        return
      default:
        this.#skipped.unknown(`response_item/${textIn(type) ?? 'without a type'}`)
    }
  }

  #reply(blocks: readonly ContentBlock[], at: number | undefined): void {
    if (!this.#isReplyOpen) {
      this.#replies++
      this.#isReplyOpen = true
    }
    const key = `reply_${this.#replies}`
    this.#builder.reply({ key, model: this.#model, blocks, stopReason: null, usage: undefined }, at)
  }

  #call({ call_id: callId, id, name, namespace }: Fields, input: unknown, at: number | undefined): void {
    const known = textIn(callId) ?? textIn(id)
    const tool = textIn(name)
    if (known === undefined || tool === undefined || tool === '') return this.#skipped.unknown('a call without a name')
    const block = {
      type: 'tool_use',
      id: known,
      name: textIn(namespace) === undefined ? tool : `${String(namespace)}${tool}`,
      input,
    } as const
    this.#reply([block], at)
  }

  #output({ call_id: callId, output }: Fields, at: number | undefined): void {
    this.#isReplyOpen = false
    const { content, isError } = outputOf(output)
    // Taking over a session needs the whole output. Analysis compares outputs, and the clock differs in every call.
    const comparable = this.#which === 'all' ? withoutClock(content) : content
    this.#builder.result(textIn(callId) ?? '', comparable, isError, at)
  }

  #user(content: MessageContent, at: number | undefined): void {
    if (content.length === 0) return
    this.#isReplyOpen = false
    if (isProgramText(content)) return this.#builder.note(content, 'loop', at)
    this.#builder.prompt(content, at, this.#hasTaskEvents ? 'same_run' : 'next')
  }

  #compacted({ message, replacement_history: history }: Fields, at: number | undefined): void {
    this.#isReplyOpen = false
    if (this.#which !== 'newest_branch') return
    this.#builder.forget()
    const summary = textIn(message) ?? ''
    if (summary !== '') this.#builder.note(summary, 'loop', at)
    if (!Array.isArray(history)) return
    for (const item of history as readonly unknown[])
      if (isJsonObject(item) && item['type'] === 'message' && item['role'] === 'user')
        this.#builder.note(userContent(item['content']), 'loop', at)
  }

  session(path: string, sessionId: string): ForeignSession {
    const runs = this.#builder.done(sessionId)
    const { strayResults, withoutFigures } = this.#builder
    return {
      program: 'codex',
      sessionId,
      cwd: this.#cwd,
      path,
      runs,
      recordedUsd: undefined,
      skipped: this.#skipped.with({ strayResults, withoutFigures }),
    }
  }
}

/** In the figures of Codex, the input includes cached tokens, and the output includes reasoning. */
function usageOf(value: unknown): Usage | undefined {
  if (!isJsonObject(value)) return undefined
  const [input, cached, written] = ['input_tokens', 'cached_input_tokens', 'cache_write_input_tokens'].map((field) =>
    countIn(value[field]),
  )
  const read = Math.min(cached ?? 0, input ?? 0)
  const created = Math.min(written ?? 0, (input ?? 0) - read)
  return {
    input_tokens: (input ?? 0) - read - created,
    output_tokens: countIn(value['output_tokens']),
    cache_creation_input_tokens: created,
    cache_read_input_tokens: read,
  }
}

function textsOf(value: unknown, type: string): readonly ContentBlock[] {
  if (typeof value === 'string') return value === '' ? [] : [{ type: 'text', text: value }]
  if (!Array.isArray(value)) return []
  return (value as readonly unknown[]).flatMap((part): readonly ContentBlock[] => {
    if (!isJsonObject(part) || part['type'] !== type) return []
    const { text } = part
    return typeof text === 'string' && text !== '' ? [{ type: 'text', text }] : []
  })
}

/** Texts, and embedded images. */
function userContent(value: unknown): MessageContent {
  if (!Array.isArray(value)) return textIn(value) ?? ''
  return (value as readonly unknown[]).flatMap((part) => {
    const image = isJsonObject(part) && part['type'] === 'input_image' ? imageOf(part['image_url']) : undefined
    return image === undefined ? textsOf([part], 'input_text') : [image]
  })
}

function imageOf(url: unknown): ContentBlock | undefined {
  const [, media, data] = /^data:(image\/[a-z]+);base64,(.+)$/s.exec(textIn(url) ?? '') ?? []
  return media === undefined || data === undefined
    ? undefined
    : { type: 'image', source: { type: 'base64', media_type: media, data } }
}

/** Arguments of a call; text that is not valid JSON is passed on unchanged. */
function argumentsOf(source: unknown): unknown {
  if (typeof source !== 'string') return bounded(source ?? {})
  try {
    const parsed: unknown = JSON.parse(source)
    return isJsonObject(parsed) ? bounded(parsed) : { arguments: source }
  } catch {
    return { arguments: source }
  }
}

/** The output of a call: text, JSON text with an exit code, or parts. */
function outputOf(output: unknown): { readonly content: MessageContent; readonly isError: boolean } {
  if (Array.isArray(output)) return { content: userContent(output), isError: false }
  if (isJsonObject(output)) {
    const { content, success } = output
    return { content: textIn(content) ?? userContent(content), isError: success === false }
  }
  const text = textIn(output) ?? ''
  const code =
    /^\{"output":.*"metadata":\{"exit_code":(-?\d+)/s.exec(text)?.[1] ??
    /^(?:.*\n){0,4}?(?:Process exited with code|Exit code:) (-?\d+)/.exec(text)?.[1]
  return { content: text, isError: code !== undefined && code !== '0' }
}

// Spec R-FOR-12.
/** The output without Codex's chunk id and wall time, so that the same command gives the same output. */
function withoutClock(content: MessageContent): MessageContent {
  if (typeof content === 'string') return textWithoutClock(content)
  const [first, ...others] = content
  return first?.type === 'text' && 'text' in first && typeof first.text === 'string'
    ? [{ ...first, text: textWithoutClock(first.text) }, ...others]
    : content
}

function textWithoutClock(text: string): string {
  const [head = ''] = /^(?:[A-Z][^\n]{0,200}\n){1,8}?Output:(?:\n|$)/.exec(text) ?? []
  if (head !== '') return head.replaceAll(/^(?:Chunk ID|Wall time): [^\n]*\n/gm, '') + text.slice(head.length)
  return text.replace(/("metadata":\{"exit_code":-?\d+),"duration_seconds":[\d.]+\}\}$/, '$1}}')
}

const programTexts =
  /^\s*(?:<environment_context>|<user_instructions>|<permissions|<turn_aborted>|<skill|<collaboration_mode>|<user_shell_command>|# AGENTS\.md instructions|<INSTRUCTIONS>)/

function isProgramText(content: MessageContent): boolean {
  const first = typeof content === 'string' ? content : content[0]
  if (typeof first === 'string') return programTexts.test(first)
  return first !== undefined && 'text' in first && typeof first.text === 'string' && programTexts.test(first.text)
}
