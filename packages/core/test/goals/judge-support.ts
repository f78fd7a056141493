import type { CompactionReply, HookQuestion } from '../../src/model/questions.ts'
import type { GoalContext, GoalVerdict } from '../../src/goals/goal.ts'
import { judgedGoal, type JudgedGoalOptions } from '../../src/goals/judged-goal.ts'
import { noUsage, textOf, type ContentBlock } from '../../src/model/messages.ts'
import type { ModelErrorKind } from '../../src/model/model-error.ts'
import type { Changes } from '../../src/verification/goal-progress.ts'
import { Transcript, type TranscriptEntry, type UserOrigin } from '../../src/conversation/transcript.ts'
import { AgentState } from '../../src/hooks/agent-state.ts'

// Conversations, and judges with scripted answers.

let entries = 0

export function says(text: string, origin: UserOrigin = 'prompt'): readonly TranscriptEntry[] {
  return [{ kind: 'user', id: `u${++entries}`, origin, message: { role: 'user', content: text } }]
}

export function answers(...content: readonly (string | ContentBlock)[]): readonly TranscriptEntry[] {
  const blocks = content.map((part): ContentBlock => (typeof part === 'string' ? { type: 'text', text: part } : part))
  const message = {
    role: 'assistant',
    id: `m${++entries}`,
    model: 'm',
    content: blocks,
    stop_reason: 'end_turn',
    usage: noUsage,
  } as const
  return [{ kind: 'assistant', id: `a${entries}`, message }]
}

export interface Called {
  readonly name?: string
  readonly input: unknown
  readonly result: string | readonly ContentBlock[]
  readonly isError?: boolean
}

/** One message with these calls, and one with their results. */
export function works(...calls: readonly Called[]): readonly TranscriptEntry[] {
  const ids = calls.map(() => `call${++entries}`)
  const uses = calls.map(({ name = 'Bash', input }, index): ContentBlock => ({
    type: 'tool_use',
    id: ids[index] ?? '',
    name,
    input,
  }))
  const results = calls.map(({ result, isError }, index): ContentBlock => ({
    type: 'tool_result',
    tool_use_id: ids[index] ?? '',
    content: result,
    ...(isError === true && { is_error: true }),
  }))
  return [
    ...answers(...uses),
    { kind: 'user', id: `r${entries}`, origin: 'tool_results', message: { role: 'user', content: results } },
  ]
}

export function runs(command: string, result: string): readonly TranscriptEntry[] {
  return works({ input: { command }, result })
}

export function answered(text: string, streamError: null | { readonly kind: ModelErrorKind } = null): CompactionReply {
  return {
    kind: 'answered',
    message: {
      role: 'assistant',
      id: 'j',
      model: 'j',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      usage: noUsage,
    },
    streamError: streamError === null ? null : failure(streamError.kind),
  }
}

function failure(kind: ModelErrorKind) {
  return {
    kind,
    message: `it is ${kind}`,
    status: null,
    retryable: false,
    retryAfterMs: null,
    requestId: null,
    usage: null,
    billed: 'nothing',
  } as const
}

export function failed(kind: ModelErrorKind): CompactionReply {
  return { kind: 'failed', error: failure(kind) }
}

export function met(...evidence: readonly string[]): CompactionReply {
  return answered(JSON.stringify({ met: true, evidence, missing: '' }))
}

export interface Judged {
  readonly verdict: GoalVerdict
  readonly questions: readonly HookQuestion[]
}

/** Checks the goal once. The last reply repeats when more is asked. */
export async function judge(
  conversation: readonly TranscriptEntry[],
  replies: readonly CompactionReply[],
  { goal = 'all tests pass', changes, ...options }: JudgedGoalOptions & { goal?: string; changes?: Changes } = {},
): Promise<Judged> {
  const questions: HookQuestion[] = []
  const state = Transcript.of(conversation)
  const context: GoalContext = {
    signal: new AbortController().signal,
    idempotencyKey: 'k',
    state: conversation.reduce((agent, entry) => agent.withEntry(entry), AgentState.empty()),
    changes,
    ask: (question) => {
      const reply = replies[Math.min(questions.push(question), replies.length) - 1]
      return reply === undefined ? Promise.reject(new Error('nothing is asked here')) : Promise.resolve(reply)
    },
  }
  if (state.length !== context.state.transcript.length) throw new Error('entries are missing')
  return { verdict: await judgedGoal(goal, options).check(context), questions }
}

/** Whether a judge that answers "met" with this quote, whatever it is asked, succeeds. */
export async function counts(
  conversation: readonly TranscriptEntry[],
  quote: string,
  options?: Parameters<typeof judge>[2],
): Promise<boolean> {
  return (await judge(conversation, [met(quote)], options)).verdict.met
}

/** The last result of these entries belongs to the last change. */
export function changedBy(conversation: readonly TranscriptEntry[]): Changes {
  const last = conversation.at(-1)
  const results = last?.kind === 'user' && typeof last.message.content !== 'string' ? last.message.content : []
  const block = results.at(-1)
  return {
    calls: 1,
    at: conversation.length - 1,
    by: block !== undefined && 'tool_use_id' in block ? String(block.tool_use_id) : null,
  }
}

/** The first question that the judge was shown. */
export function shownTo({ questions }: Judged): string {
  return textOf(questions[0]?.messages[0]?.content ?? '')
}
