// What is told and by which name. docs/guide/telemetry.md has these tables, and a test compares them.
import type { ToolStatus } from '@halting/core'

/** Spans, by what they are of: their name, and what they show. */
export const spanNames = {
  run: ['invoke_agent AGENT', 'One run, from its prompt to its ending'],
  agent: ['invoke_agent AGENT', 'A subagent, below the call that started it'],
  turn: ['halting.turn', 'One request of the loop and the tools that its reply asked for'],
  attempt: ['chat MODEL', 'One attempt at a model request; a retry is one more'],
  question: ['chat MODEL', 'One attempt at a question of a compaction, a hook or a tool'],
  tool: ['execute_tool TOOL', 'One call, with what rules, hooks and a person took before it began'],
  hook: ['halting.hook HOOK', 'One call of a hook'],
  compaction: ['halting.compact', 'The conversation was made shorter, or that was tried'],
} as const

/** Events of the span of a run. */
export const eventNames = {
  lap: ['halting.lap', 'The loop goes round again: why, and what is left'],
  ending: ['halting.ending', 'The run is over: where, why, and the figures behind it'],
  retry: ['halting.retry', 'An attempt failed, and there is a wait before the next'],
  signal: ['halting.signal', 'Something asks the run to stop'],
} as const

/** Attributes that the GenAI conventions do not have. */
export const ownAttributes = {
  runId: ['halting.run.id', 'The run within its session'],
  resumed: [
    'halting.run.resumed',
    'The run began in an earlier process; that part of it is in another trace of the same conversation and run',
  ],
  depth: ['halting.agent.depth', '0 for the run itself, above it for a subagent'],
  background: ['halting.agent.background', 'The subagent works beside the run'],
  request: ['halting.request', 'Number of the request within the run'],
  turn: ['halting.turn.number', 'Number of the turn within the run'],
  attempt: ['halting.attempt', 'Number of the attempt at its request'],
  question: ['halting.question', 'Whose question it is: the name of its step'],
  outcome: ['halting.outcome', 'answered, failed, aborted, over_budget or unknown'],
  costUsd: ['halting.cost.usd', 'Dollars: what was settled; for an attempt whose usage nobody told, its worst case'],
  committedUsd: ['halting.cost.committed_usd', 'Dollars: what was settled, and the worst case of what nobody told'],
  tokens: ['halting.tokens', 'What a limit on tokens counts, subagents included'],
  turns: ['halting.turns', 'Turns of the run'],
  requests: ['halting.requests', 'Attempts that reached the model'],
  activeMs: ['halting.active_ms', 'Active milliseconds, without those that a person was waited for'],
  durationMs: ['halting.duration_ms', 'What the step itself took'],
  reason: ['halting.terminal.reason', 'Where the run ended: a terminal reason'],
  category: ['halting.stop.category', 'Why: the category of the ending'],
  message: ['halting.stop.message', 'The same as a sentence, with its figures'],
  transition: ['halting.transition', 'Why the loop goes round again'],
  turnsLeft: ['halting.left.turns', 'Turns that are left'],
  othersLeft: ['halting.left.others', 'Laps that all other allowances have left'],
  delayMs: ['halting.retry.delay_ms', 'Milliseconds before the next attempt'],
  toolStatus: ['halting.tool.status', 'How the call came to its result'],
  hook: ['halting.hook.name', 'The hook'],
  trigger: ['halting.hook.trigger', 'When it was called'],
  compactTrigger: ['halting.compact.trigger', 'Why the conversation was to be shorter'],
  compacted: ['halting.compact.done', 'Whether it was made shorter'],
  checkpoint: ['halting.checkpoint', 'Where the signal was seen'],
  costKind: ['halting.cost.kind', 'settled, or unknown for the worst case of what nobody told'],
  limit: ['halting.limit', 'The limit'],
  unfinished: ['halting.unfinished', 'Nothing told the end of it: it ends with its run'],
} as const

/** Those of the conventions that are told. */
export const conventionAttributes = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  conversation: 'gen_ai.conversation.id',
  agentId: 'gen_ai.agent.id',
  agentName: 'gen_ai.agent.name',
  agentDescription: 'gen_ai.agent.description',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  responseId: 'gen_ai.response.id',
  finishReasons: 'gen_ai.response.finish_reasons',
  firstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheRead: 'gen_ai.usage.cache_read.input_tokens',
  cacheCreation: 'gen_ai.usage.cache_creation.input_tokens',
  toolName: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  tokenType: 'gen_ai.token.type',
  errorType: 'error.type',
} as const

/** Metrics: their name, instrument, unit, and what they count. */
export const metricNames = {
  tokenUsage: [
    'gen_ai.client.token.usage',
    'histogram',
    '{token}',
    'Tokens of one attempt, by type; those of a cache are input',
  ],
  operationDuration: ['gen_ai.client.operation.duration', 'histogram', 's', 'What one attempt, call or run took'],
  cost: ['halting.cost', 'counter', 'USD', 'Dollars, settled or unknown; together what counts against a budget'],
  runDuration: ['halting.run.duration', 'histogram', 's', 'What a run took, subagents by their own names'],
  turnDuration: ['halting.turn.duration', 'histogram', 's', 'What a turn took, with its tools'],
  toolDuration: ['halting.tool.duration', 'histogram', 's', 'What a tool took, without waits before it'],
  laps: ['halting.laps', 'counter', '{lap}', 'Laps, by transition'],
  endings: ['halting.endings', 'counter', '{run}', 'Endings, by reason and category'],
  retries: ['halting.retries', 'counter', '{attempt}', 'Attempts that failed and are made again, by kind of error'],
  compactions: ['halting.compactions', 'counter', '{compaction}', 'Compactions, by trigger and whether they were done'],
  limitUsed: ['halting.limit.used', 'histogram', '1', 'How full each limit was when a run ended: 1 is reached'],
} as const

/** What is a failure of a call. That it was denied, or that the run stopped before it, is none of its own. */
export const failedStatuses: ReadonlySet<ToolStatus> = new Set<ToolStatus>(['failed', 'invalid', 'unknown'])

/** Buckets, as the conventions advise them. */
export const tokenBuckets: readonly number[] = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
]
export const secondBuckets: readonly number[] = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
]
/** Runs take longer than requests. */
export const longBuckets: readonly number[] = [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400]
export const ratioBuckets: readonly number[] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1]
