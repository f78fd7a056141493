// Names of exported data. docs/guide/telemetry.md has these tables, and a test compares them.
import type { ToolStatus } from '@halting/core'

/** Spans: their names and meanings. */
export const spanNames = {
  run: ['invoke_agent AGENT', 'One run, from its prompt to its ending'],
  agent: ['invoke_agent AGENT', 'A subagent, below the call that started it'],
  turn: ['halting.turn', 'One request of the loop, and the tool calls in its reply'],
  attempt: ['chat MODEL', 'One attempt at a model request; a retry is another attempt'],
  question: ['chat MODEL', 'One attempt at a model request of a compaction, a hook or a tool'],
  tool: ['execute_tool TOOL', 'One tool call, including the time of rules, hooks and a person before it began'],
  hook: ['halting.hook HOOK', 'One call of a hook, except hooks of halting itself'],
  compaction: ['halting.compact', 'One compaction of the conversation, or an attempt at it'],
  goal: ['halting.goal', 'One round of checks of the goals of a run'],
  serviceWait: [
    'halting.service.wait',
    'A run waited for a service that was over its limit or out of order; the whole wait, also if an earlier process began it',
  ],
  budgetWait: ['halting.budget.wait', 'A request waited for money or tokens that others had reserved'],
  limitPause: ['halting.limit.pause', 'A run paused at a limit, until a person raised it or the run ended'],
} as const

/** Events of a run's span; those of checks belong to the span of their round. */
export const eventNames = {
  lap: ['halting.lap', 'The loop starts another iteration: why, and how many are left'],
  ending: ['halting.ending', 'The run ended: its reason, its category and its figures'],
  retry: ['halting.retry', 'An attempt failed; the next one follows after a delay'],
  signal: ['halting.signal', 'A stop signal was raised'],
  budgetWait: ['halting.budget.wait', 'A request waited for money or tokens that others had reserved'],
  check: ['halting.goal.check', 'A goal was checked; an event of the span of its round'],
} as const

/** Attributes in addition to the GenAI conventions. */
export const ownAttributes = {
  runId: ['halting.run.id', 'Id of the run within its session'],
  resumed: [
    'halting.run.resumed',
    'The run began in an earlier process; that part is in another trace with the same conversation and run',
  ],
  depth: ['halting.agent.depth', '0 for the run itself, 1 or more for a subagent'],
  background: ['halting.agent.background', 'The subagent works in the background'],
  request: ['halting.request', 'Number of the request in the run'],
  turn: ['halting.turn.number', 'Number of the turn in the run'],
  attempt: ['halting.attempt', 'Number of the attempt at this request'],
  question: ['halting.question', 'Name of the step that made the request'],
  outcome: ['halting.outcome', 'answered, failed, aborted, over_budget or unknown'],
  costUsd: ['halting.cost.usd', 'US dollars, settled; for an attempt whose usage is unknown, its worst case'],
  committedUsd: [
    'halting.cost.committed_usd',
    'US dollars, settled, plus the worst case of attempts whose usage is unknown',
  ],
  tokens: ['halting.tokens', 'Tokens that count against a token limit, including subagents'],
  turns: ['halting.turns', 'Number of turns of the run'],
  requests: ['halting.requests', 'Number of attempts that reached the model'],
  activeMs: ['halting.active_ms', 'Active time in milliseconds, without time spent waiting for a person'],
  durationMs: ['halting.duration_ms', 'Duration of the step itself, in milliseconds'],
  reason: ['halting.terminal.reason', 'Why the run ended: its terminal reason'],
  category: ['halting.stop.category', 'Category of the ending'],
  message: ['halting.stop.message', 'The ending as a sentence, with its figures'],
  transition: ['halting.transition', 'Why the loop starts another iteration'],
  turnsLeft: ['halting.left.turns', 'Turns left'],
  othersLeft: ['halting.left.others', 'Iterations left for all other reasons'],
  delayMs: ['halting.retry.delay_ms', 'Delay before the next attempt, in milliseconds'],
  toolStatus: ['halting.tool.status', 'Status of the call: done, failed, denied …'],
  hook: ['halting.hook.name', 'Name of the hook'],
  trigger: ['halting.hook.trigger', 'Event that triggered the hook'],
  compactTrigger: ['halting.compact.trigger', 'Why the conversation was compacted'],
  compacted: ['halting.compact.done', 'Whether the compaction succeeded'],
  checkpoint: ['halting.checkpoint', 'Checkpoint at which the signal was seen'],
  verified: [
    'halting.run.verified',
    'Whether a check passed after the last change of files: true, false or nothing changed; absent where nobody looks',
  ],
  goalPlace: ['halting.goal.place', 'When the goals were checked: baseline, answer, turn or limit'],
  goalVerdict: ['halting.goal.verdict', 'met, unmet or unknown'],
  goalTries: ['halting.goal.tries', 'How often an answer was sent back because a goal was not met'],
  goalMaxTries: ['halting.goal.max_tries', 'How often it may be sent back'],
  goalTampered: [
    'halting.goal.changed_definitions',
    'Number of protected files that changed; if any did, nothing is checked',
  ],
  goalChangedTests: ['halting.goal.changed_tests', 'Number of test files that the agent changed'],
  goalFlaky: ['halting.goal.flaky', 'The verdict of the checks changed although no file changed'],
  goalName: ['halting.goal.name', 'The command of a check; the text of a judged goal only with prompts'],
  goalReport: ['halting.goal.report', 'The end of what a check printed; only with results of tools'],
  exitCode: ['halting.goal.exit_code', 'Exit code of a check'],
  timedOut: ['halting.goal.timed_out', 'The check took too long'],
  costKind: ['halting.cost.kind', 'settled, or unknown for the worst case of attempts whose usage is unknown'],
  toolCalls: ['halting.tool_calls', 'Number of tool calls that were allowed to run, including those of subagents'],
  limit: ['halting.limit', 'Name of the limit; on a run the one that ended it, on a pause the one that was reached'],
  budget: ['halting.budget', 'Name of the standing budget that ended the run, or that a request waited for'],
  resetsAt: ['halting.budget.resets_at', 'When that budget resets, in ISO 8601'],
  waitOutcome: ['halting.budget.outcome', 'granted, refused or aborted: the outcome of a request that waited'],
  waitedMs: ['halting.budget.waited_ms', 'How long it waited, in milliseconds'],
  reservedUsd: ['halting.budget.reserved_usd', 'US dollars that others had reserved'],
  serviceOutcome: [
    'halting.service.outcome',
    'over, retried, model, stopped or aborted: what ended a wait for a service',
  ],
  serviceWaitedMs: [
    'halting.service.waited_ms',
    'Wall-clock time that a run waited for a service, in milliseconds; not active time',
  ],
  limitOutcome: ['halting.limit.outcome', 'raised, ended, over, stopped or aborted: how a pause at a limit ended'],
  limitWaitedMs: ['halting.limit.waited_ms', 'Wall-clock time that a run was paused, in milliseconds; not active time'],
  unfinished: ['halting.unfinished', 'No end was reported; the span ends with its run'],
} as const

/** The attributes of the conventions that we set. */
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
  statusCode: 'http.response.status_code',
} as const

/** Metrics: name, instrument, unit, and meaning. */
export const metricNames = {
  tokenUsage: [
    'gen_ai.client.token.usage',
    'histogram',
    '{token}',
    'Tokens of one attempt, by type; cached tokens count as input',
  ],
  operationDuration: [
    'gen_ai.client.operation.duration',
    'histogram',
    's',
    'Duration of one attempt, tool call or run',
  ],
  cost: ['halting.cost', 'counter', 'USD', 'US dollars, settled or unknown; their sum counts against a budget'],
  runDuration: ['halting.run.duration', 'histogram', 's', 'Duration of a run; subagents under their own names'],
  turnDuration: ['halting.turn.duration', 'histogram', 's', 'Duration of a turn, with its tool calls'],
  toolDuration: ['halting.tool.duration', 'histogram', 's', 'Duration of a tool, without waits before it'],
  laps: ['halting.laps', 'counter', '{lap}', 'Iterations, by transition'],
  endings: ['halting.endings', 'counter', '{run}', 'Endings, by reason and category'],
  retries: ['halting.retries', 'counter', '{attempt}', 'Failed attempts that are retried, by kind of error'],
  compactions: ['halting.compactions', 'counter', '{compaction}', 'Compactions, by trigger and whether they succeeded'],
  goalRounds: ['halting.goal.rounds', 'counter', '{round}', 'Rounds of checks of goals, by place and verdict'],
  goalDuration: ['halting.goal.duration', 'histogram', 's', 'Duration of a round of checks'],
  goalTries: ['halting.run.goal_tries', 'histogram', '{try}', 'Answers of a run that were sent back, by verdict'],
  budgetWait: [
    'halting.budget.wait.duration',
    'histogram',
    's',
    'Time that a request waited for what others had reserved, by outcome',
  ],
  serviceWait: [
    'halting.service.wait.duration',
    'histogram',
    's',
    'Time that a run waited for a service by the wall clock, by model, kind of error and outcome',
  ],
  limitPause: [
    'halting.limit.pause.duration',
    'histogram',
    's',
    'Time that a run paused at a limit by the wall clock, by limit and outcome',
  ],
  limitUsed: [
    'halting.limit.used',
    'histogram',
    '1',
    'Fraction of each limit that was used when a run ended; 1 means reached',
  ],
} as const

/** Statuses that count as failures of a call; a denied call, or one that was not run, did not fail. */
export const failedStatuses: ReadonlySet<ToolStatus> = new Set<ToolStatus>(['failed', 'invalid', 'unknown'])

/** Buckets as the conventions recommend. */
export const tokenBuckets: readonly number[] = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
]
export const secondBuckets: readonly number[] = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
]
/** Runs take longer than requests. */
export const longBuckets: readonly number[] = [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400]
export const tryBuckets: readonly number[] = [0, 1, 2, 3, 5, 10, 20, 50, 100]
export const ratioBuckets: readonly number[] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1]
