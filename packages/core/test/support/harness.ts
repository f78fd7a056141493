import { expect } from 'vitest'
import {
  CallableHook,
  createMemorySteps,
  streamRun,
  startRun,
  type AgentTool,
  type HookContext,
  type HookTrigger,
  type Json,
  type RunStream,
  type RunEvent,
  type RunOptions,
  type MemorySteps,
  type ModelMessage,
  type Prices,
  type RunState,
  type StartOptions,
  type RunResult,
  type Tool,
  type ToolContext,
  type ToolOutput,
  type TranscriptEntry,
  type IterationReason,
} from '../../src/index.ts'
import type { Attachment, ToolResultBlock } from '../../src/entries/adapters.ts'
import {
  createFakeClock,
  scriptedModel,
  transcriptProblems,
  type FakeClock,
  type ScriptedModel,
  type ScriptedReply,
} from '../../src/testing/index.ts'

export type Script = Parameters<typeof scriptedModel>[0]
export type RunTestOptions = Partial<RunOptions> & { readonly clock?: FakeClock }

/** A run in progress, with everything that a test may inspect or change meanwhile. */
export interface RunningRun {
  readonly loop: RunStream
  readonly model: ScriptedModel
  readonly clock: FakeClock
  readonly steps: MemorySteps
  readonly events: RunEvent[]
  /** Waits for the end, and checks the invariants of every end. */
  end(): Promise<Run>
}

export interface Run {
  readonly terminal: RunResult
  readonly state: RunState
  readonly events: readonly RunEvent[]
  readonly model: ScriptedModel
  readonly clock: FakeClock
  readonly steps: MemorySteps
  /** The reasons for its iterations, in order. */
  readonly transitions: readonly IterationReason[]
  /** The messages that the model would be shown next. */
  readonly messages: readonly ModelMessage[]
}

/** Starts a run under a fake clock that advances by itself. */
export function begin(
  script: Script,
  overrides: RunTestOptions = {},
  start: StartOptions = { prompt: 'go' },
): RunningRun {
  const model = overrides.model === undefined ? scriptedModel(script) : (overrides.model as ScriptedModel)
  const clock = overrides.clock ?? createFakeClock({ autoAdvance: true })
  const steps = (overrides.steps as MemorySteps | undefined) ?? createMemorySteps({ clock })
  const running = streamRun(startRun(start), { ...overrides, model, clock, steps })
  const events: RunEvent[] = []
  const read = (async () => {
    for await (const event of running) events.push(event)
  })()
  return {
    loop: running,
    model,
    clock,
    steps,
    events,
    async end() {
      await read
      const { terminal, state } = await running.ended
      expect(events.filter(({ type }) => type === 'run_end')).toEqual([{ type: 'run_end', terminal }])
      expect(events.at(-1)?.type).toBe('run_end')
      checkOutputs(events)
      const messages = state.transcript.messages()
      if (terminal.reason !== 'needs_approval') expect(transcriptProblems(messages)).toEqual([])
      for (const request of model.requests) expect(transcriptProblems(request.messages)).toEqual([])
      const transitions = events.flatMap((event) => (event.type === 'lap' ? [event.transition] : []))
      return { terminal, state, events, model, clock, steps, transitions, messages }
    },
  }
}

/** The final result, after hooks, aborts and limits: `tool_end` has what the model is shown. */
function checkOutputs(events: readonly RunEvent[]): void {
  const ends = new Map(events.flatMap((event) => (event.type === 'tool_end' ? [[event.callId, event] as const] : [])))
  const resultsShown = events.flatMap((event) => (event.type === 'message' ? resultsOf(event.entry) : []))
  for (const { tool_use_id, content, is_error = false } of resultsShown) {
    const end = ends.get(tool_use_id)
    if (end !== undefined) expect([end.output, end.isError]).toEqual([content, is_error])
  }
}

function resultsOf(entry: TranscriptEntry): readonly ToolResultBlock[] {
  if (entry.kind !== 'user' || entry.origin !== 'tool_results' || typeof entry.message.content === 'string') return []
  return entry.message.content.flatMap((block) => (block.type === 'tool_result' ? [block] : []))
}

export function run(script: Script, overrides: RunTestOptions = {}, start?: StartOptions): Promise<Run> {
  return begin(script, overrides, start).end()
}

/** Waits until a condition is true, without advancing the clock. */
export async function until(isTrue: () => boolean): Promise<void> {
  for (let turns = 0; turns < 2_000; turns++) {
    if (isTrue()) return
    await Promise.resolve()
  }
  throw new Error('It never came to be so.')
}

export const tick = (): Promise<void> => until(() => false).catch(() => {})

export interface ToolParts {
  readonly readOnly?: boolean
  readonly concurrencySafe?: boolean
  readonly schema?: Tool['inputSchema']
  readonly onUnknownOutcome?: 'rerun' | 'tell'
  readonly precheck?: NonNullable<Tool['precheck']>
}

type Execute = (
  input: Record<string, unknown>,
  context: ToolContext,
) => Promise<ToolOutput | string> | ToolOutput | string

export function tool(name: string, execute: Execute | string = 'ok', parts: ToolParts = {}): Tool {
  const work: Execute = typeof execute === 'string' ? () => execute : execute
  const { schema = { type: 'object' }, readOnly = false, ...rest } = parts
  return {
    name,
    description: `${name} for tests`,
    inputSchema: schema,
    readOnly,
    execute: work,
    ...rest,
  }
}

export const reader = (name: string, execute: Execute | string = 'read', parts: ToolParts = {}): Tool =>
  tool(name, execute, { readOnly: true, ...parts })

/** A tool that never settles unless it obeys its signal. */
export function hanging(name: string, parts: ToolParts & { readonly deaf?: boolean } = {}): Tool {
  const { deaf = false, ...rest } = parts
  return tool(
    name,
    (_input, { signal }) =>
      new Promise((_resolve, reject) => {
        if (deaf) return
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
      }),
    rest,
  )
}

/** A reply that calls one or several tools. */
export function calls(
  ...names: readonly (string | { readonly name: string; readonly id?: string; readonly input?: unknown })[]
): Exclude<ScriptedReply, string> {
  return { toolCalls: names.map((name) => (typeof name === 'string' ? { name } : name)) }
}

export function hook(
  triggers: HookTrigger | readonly HookTrigger[],
  handle: (context: HookContext) => HookContext | void | Promise<HookContext | void>,
  more: { readonly id?: string; readonly priority?: number; readonly tools?: readonly string[] } = {},
): CallableHook {
  return new CallableHook(handle, { triggers: typeof triggers === 'string' ? [triggers] : triggers, ...more })
}

/** The entries that a run left in the transcript. */
export interface Left {
  readonly state: Pick<RunState, 'transcript' | 'startLength'>
}

/** Entries that the run added after its prompt. */
function entriesAdded({ state }: Left): readonly TranscriptEntry[] {
  return state.transcript.since(state.startLength)
}

export function attachments(run: Left): readonly Attachment[] {
  return entriesAdded(run).flatMap((entry) => (entry.kind === 'attachment' ? [entry.attachment] : []))
}

/** Texts of user messages that the run wrote itself, with their reason. */
export function loopMessages(run: Left): readonly (readonly [origin: string, text: string])[] {
  return entriesAdded(run).flatMap((entry) => {
    if (entry.kind !== 'user' || entry.origin === 'tool_results' || entry.origin === 'prompt') return []
    const { content } = entry.message
    return [
      [
        entry.origin,
        typeof content === 'string'
          ? content
          : content.map((block) => ('text' in block ? String(block.text) : block.type)).join(''),
      ] as const,
    ]
  })
}

/** Failures that the loop reported as an assistant message. */
export function failures(run: Left): readonly (readonly [error: string, text: string])[] {
  return entriesAdded(run).flatMap((entry) => {
    if (entry.kind !== 'assistant' || entry.error === undefined) return []
    return [
      [
        entry.error,
        entry.message.content.map((block) => ('text' in block ? String(block.text) : '')).join(''),
      ] as const,
    ]
  })
}

const liveTypes: ReadonlySet<RunEvent['type']> = new Set<RunEvent['type']>([
  'model_update',
  'figures',
  'budget_wait',
  'question_start',
  'question_end',
  'tool_running',
  'tool_update',
])

/** Events that are emitted live during a side effect: a replay does not emit them. */
export function isLive(event: RunEvent): boolean {
  if (event.type === 'agent') return isLive(event.event)
  return liveTypes.has(event.type)
}

/** Every tool result of the run, in order. */
export function results(run: Left): readonly ToolResultBlock[] {
  return entriesAdded(run).flatMap((entry) => {
    if (entry.kind !== 'user' || typeof entry.message.content === 'string') return []
    return entry.message.content.filter((block): block is ToolResultBlock => block.type === 'tool_result')
  })
}

export const resultTexts = (run: Left): readonly unknown[] => results(run).map(({ content }) => content)

/** How each call ended, by call id. */
export function toolEnds({ events }: Pick<Run, 'events'>): { readonly [callId: string]: string } {
  return Object.fromEntries(
    events.flatMap((event) => (event.type === 'tool_end' ? [[event.callId, event.status]] : [])),
  )
}

/** A tool that starts a subagent, whose prompt is `sub`. */
export const subagent: AgentTool = {
  name: 'Agent',
  description: 'a subagent',
  inputSchema: { type: 'object' },
  readOnly: true,
  concurrencySafe: true,
  spawn: () => ({ prompt: 'sub' }),
}

/** One dollar a token, in or out, for easy sums. */
export const dollarATokenPrices: Prices = {
  cost: (_model, usage) =>
    usage.input_tokens + usage.output_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens,
  worstCase: (_model, { inputTokens, outputTokens }) => inputTokens + outputTokens,
}

export const json = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json
