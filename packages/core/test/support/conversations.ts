import * as fc from 'fast-check'
import { type ContentBlock, type MessageContent, type ModelMessage, noUsage } from '../../src/model/messages.ts'
import type { CompactionScope, ContextView } from '../../src/context/context-manager.ts'
import type { CompactionReply, CompactionRequest } from '../../src/model/questions.ts'
import { sizesOf } from '../../src/context/sizes.ts'
import { estimateMessages, roughTokens } from '../../src/model/tokens.ts'
import { freshProgress, startState } from '../../src/state/state.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { Transcript, type TranscriptEntry, type UserOrigin } from '../../src/conversation/transcript.ts'

/** The next part of a conversation that a service would accept. */
type Part =
  | { readonly kind: 'said'; readonly origin: UserOrigin; readonly length: number; readonly media: boolean }
  | {
      readonly kind: 'works'
      readonly thinking: boolean
      readonly text: number
      readonly input: number
      readonly results: readonly ResultPart[]
      /** A person approved the last call only after another message. */
      readonly approvedLate: boolean
      readonly paused: boolean
    }
  | { readonly kind: 'answers'; readonly length: number; readonly paused: boolean }
  | { readonly kind: 'reported'; readonly what: 'failure' | 'attachment' | 'media_removed' }

interface ResultPart {
  readonly length: number
  readonly form: 'text' | 'blocks' | 'image' | 'error'
}

const lengths = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 300, max: 20_000 }))
const saidOrigins = ['prompt', 'steer', 'follow_up', 'hook', 'loop', 'interruption'] as const

const parts: fc.Arbitrary<Part> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('works' as const),
      thinking: fc.boolean(),
      text: fc.oneof(fc.constant(0), lengths),
      input: fc.integer({ min: 1, max: 600 }),
      results: fc.array(
        fc.record({ length: lengths, form: fc.constantFrom('text', 'text', 'blocks', 'image', 'error') }),
        { minLength: 1, maxLength: 4 },
      ),
      approvedLate: fc.boolean(),
      paused: fc.boolean(),
    }) as fc.Arbitrary<Part>,
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('said' as const),
      origin: fc.constantFrom(...saidOrigins),
      length: lengths,
      media: fc.constantFrom(false, false, false, true),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('answers' as const), length: lengths, paused: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('reported' as const),
      what: fc.constantFrom('failure' as const, 'attachment' as const, 'media_removed' as const),
    }),
  },
)

/** Transcripts as a run leaves them before a request: they begin with a prompt, every call has a result, and they end with the user. */
export const transcripts: fc.Arbitrary<Transcript> = fc
  .array(parts, { minLength: 1, maxLength: 24 })
  .map((list) => Transcript.of(entriesOf(list)))

/** Text with characters of one, two and four bytes, and a number that distinguishes it from others. */
export function textOfLength(length: number, number: number): string {
  return `${number}:${'wort für wört 😀 '.repeat(Math.ceil(length / 17))}`
    .slice(0, Math.max(1, length))
    .replaceAll(/\p{Surrogate}/gu, '?')
}

const image: ContentBlock = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(4_000) },
}

export function entriesOf(list: readonly Part[]): readonly TranscriptEntry[] {
  const entries: TranscriptEntry[] = []
  let number = 0
  const id = (): string => `e${entries.length}`
  const say = (origin: UserOrigin, content: MessageContent): void =>
    void entries.push({ kind: 'user', id: id(), message: { role: 'user', content }, origin })
  const reply = (content: readonly ContentBlock[], stop_reason: string): void =>
    void entries.push({
      kind: 'assistant',
      id: id(),
      message: {
        role: 'assistant',
        id: `msg_${entries.length}`,
        model: 'scripted',
        by: 'scripted',
        content,
        stop_reason,
        usage: noUsage,
      },
    })
  const pause = (): void =>
    reply(
      [
        { type: 'text', text: `looking ${number}` },
        { type: 'server_tool_use', id: `srv_${number}`, name: 'web_search', input: {} },
      ],
      'pause_turn',
    )
  const isReplying = (): boolean =>
    entries.findLast(({ kind }) => kind === 'user' || kind === 'assistant')?.kind !== 'user'
  say('prompt', textOfLength(40, number++))
  for (const part of list) {
    number++
    switch (part.kind) {
      case 'said': {
        const text = textOfLength(part.length, number)
        say(part.origin, part.media ? [image, { type: 'text', text }] : text)
        break
      }
      case 'answers':
        if (isReplying()) say('follow_up', textOfLength(30, number))
        if (part.paused) pause()
        reply([{ type: 'text', text: textOfLength(part.length, number) }], 'end_turn')
        break
      case 'works': {
        if (isReplying()) say('follow_up', textOfLength(30, number))
        if (part.paused) pause()
        reply(callsOf(part, number), 'tool_use')
        const results = part.results.map((result, index) => resultOf(result, `call_${number}_${index}`, number))
        if (!part.approvedLate || results.length < 2) say('tool_results', results)
        else {
          say('tool_results', results.slice(0, -1))
          say('steer', `wait ${number}`)
          say('tool_results', results.slice(-1))
        }
        break
      }
      case 'reported':
        entries.push(reportEntry(part.what, id()))
    }
  }
  if (isReplying()) say('prompt', textOfLength(50, ++number))
  return entries
}

function callsOf({ thinking, text, input, results }: Extract<Part, { kind: 'works' }>, number: number): ContentBlock[] {
  const content: ContentBlock[] = []
  if (thinking) content.push({ type: 'thinking', thinking: textOfLength(200, number), signature: `sig_${number}` })
  if (text > 0) content.push({ type: 'text', text: textOfLength(text, number) })
  for (const index of results.keys())
    content.push({
      type: 'tool_use',
      id: `call_${number}_${index}`,
      name: 'Read',
      input: { of: textOfLength(input, number) },
    })
  return content
}

function resultOf({ length, form }: ResultPart, tool_use_id: string, number: number): ContentBlock {
  const text = textOfLength(length, number)
  const base = { type: 'tool_result', tool_use_id } as const
  if (form === 'error') return { ...base, content: text, is_error: true }
  if (form === 'text') return { ...base, content: text }
  return { ...base, content: [{ type: 'text', text }, ...(form === 'image' ? [image] : [])] }
}

function reportEntry(what: 'failure' | 'attachment' | 'media_removed', id: string): TranscriptEntry {
  if (what === 'media_removed') return { kind: 'media_removed', id, note: '[An image was removed here.]' }
  if (what === 'attachment') return { kind: 'attachment', id, attachment: { type: 'informational', message: 'so' } }
  return {
    kind: 'assistant',
    id,
    error: 'server_error',
    message: {
      role: 'assistant',
      id: `failure_${id}`,
      model: 'scripted',
      content: [{ type: 'text', text: 'It failed.' }],
      stop_reason: null,
      usage: noUsage,
    },
  }
}

export const plainTokensOf = (messages: readonly ModelMessage[]): number => estimateMessages(roughTokens, messages)

/** The view of a layer on a run with this transcript. */
export function viewOf(
  transcript: Transcript,
  {
    contextWindow = 30_000,
    ratio = 1,
    fixedTokens = 200,
  }: { readonly contextWindow?: number; readonly ratio?: number; readonly fixedTokens?: number } = {},
): ContextView {
  const tokensOf = (messages: readonly ModelMessage[]): number => Math.ceil(ratio * plainTokensOf(messages))
  const run = { sessionId: 'session', runId: 'run1', agentPath: '', depth: 0 }
  const sizes = sizesOf(roughTokens, transcript.messages())
  return {
    state: startState(run, transcript, freshProgress(0)),
    model: scriptedModel([], { contextWindow, maxOutputTokens: 8_000 }),
    system: 'Be brief.',
    tools: [],
    estimatedTokens: fixedTokens + tokensOf(transcript.messages()),
    fixedTokens,
    contextWindow,
    tokensOf,
    tokensBetween: (from, to) => Math.ceil(ratio * (sizes.before(to) - sizes.before(from))),
    clearableBefore: (index) => Math.ceil(ratio * sizes.clearableBefore(index)),
  }
}

export const answered = (text: string): CompactionReply => ({
  kind: 'answered',
  streamError: null,
  message: {
    role: 'assistant',
    id: 'msg_summary',
    model: 'scripted',
    content: text === '' ? [] : [{ type: 'text', text }],
    stop_reason: 'end_turn',
    usage: noUsage,
  },
})

export const refused = (used: number | null, limit: number | null): CompactionReply => ({
  kind: 'failed',
  error: {
    kind: 'prompt_too_long',
    message: 'prompt is too long',
    status: 413,
    retryable: false,
    retryAfterMs: null,
    requestId: null,
    usage: null,
    billed: 'nothing',
    ...(limit !== null && { contextLimit: { used, limit } }),
  },
})

/** The input of a compaction. Each question gets the next of these replies, and the last one from then on. */
export function scopeOf(
  replies: readonly CompactionReply[],
  asked: CompactionRequest[] = [],
  instructions = '',
): CompactionScope {
  return {
    signal: new AbortController().signal,
    instructions,
    ask(request) {
      const reply = replies[Math.min(asked.length, replies.length - 1)]
      asked.push(request)
      return Promise.resolve(reply ?? answered('a summary'))
    },
  }
}

/** The entry that the loop adds for the result of a compaction. */
export function boundaryOf(messages: readonly ModelMessage[], id = 'compact'): TranscriptEntry {
  return {
    kind: 'compact_boundary',
    id,
    messages,
    trigger: 'auto',
    preTokens: 0,
    postTokens: 0,
    personsWords: 'carried',
  }
}
