import type { Ending, EndingAction, EndingPresentation, EndingReason } from './ending.ts'

const explain = { kind: 'explain' } as const
const lastAnswer = { kind: 'last-answer' } as const
const raiseLimit = { kind: 'raise-limit' } as const
const retry = { kind: 'retry' } as const
const compact = { kind: 'compact' } as const
const sendBack = { kind: 'send-back' } as const
const anotherModel = { kind: 'another-model' } as const
const undo = { kind: 'undo' } as const
const approve = { kind: 'approve' } as const
const askForAnswer = {
  kind: 'prompt',
  label: 'ask for an answer',
  text: 'Summarize in text what you did and what you found.',
} as const
const continuePrompt = { kind: 'prompt', label: 'continue', text: 'Continue.' } as const
const tryAnotherWay = { kind: 'prompt', label: 'try another approach', text: 'Try a different approach.' } as const
const askForRest = {
  kind: 'prompt',
  label: 'continue the reply',
  text: 'Continue where you were cut off, and be briefer.',
} as const

const message = { kind: 'message' } as const
const noDetail = { kind: 'none' } as const

type AllAdvice = EndingPresentation['advice']

/** The same advice for every frontend, except where a frontend needs a different text. */
function advise(text: string, differing: Partial<AllAdvice> = {}): AllAdvice {
  return { command: text, editor: text, terminal: text, ...differing }
}

const noAdvice: AllAdvice = advise('')
const onlyExplain: readonly EndingAction[] = [explain]
const continueOrExplain: readonly EndingAction[] = [continuePrompt, explain]

/** The work is done. No action is offered, since a person can simply send the next prompt. */
const success = {
  manner: 'graceful',
  toolResults: 'all',
  subtype: 'success',
  parentResult: 'done',
  exitCode: 0,
  overridable: true,
  wrapsUp: false,
  checksGoal: false,
  hostsReadResult: false,
  sdkName: null,
  transcriptSays: 'nothing',
  limit: null,
  stageBound: null,
  continuesWith: 'prompt',
  nextRound: 'begins',
  announcement: 'success',
  advice: noAdvice,
  actions: [],
  resume: null,
  acp: 'end_turn',
} as const

/** A hook, a guard or a tool ended the run. */
const stopped = { ...success, category: 'stop_requested', announcement: 'stopped', detail: message } as const

/** A bound of the run without a value that a person sets. */
const bound = {
  subtype: 'error_during_execution',
  parentResult: 'failed',
  exitCode: 3,
  overridable: false,
  wrapsUp: false,
  checksGoal: true,
  hostsReadResult: false,
  sdkName: null,
  transcriptSays: 'nothing',
  limit: null,
  stageBound: null,
  continuesWith: 'nothing',
  nextRound: 'begins',
  announcement: 'limited',
  actions: onlyExplain,
  resume: null,
  acp: 'max_turn_requests',
} as const

/** A limit that a person can raise. */
const limit = {
  ...bound,
  overridable: true,
  wrapsUp: true,
  advice: { command: raiseLimit, editor: raiseLimit, terminal: '' },
  actions: [raiseLimit, lastAnswer, explain],
  resume: raiseLimit,
} as const

const interrupted = {
  category: 'user_requested',
  manner: 'immediate',
  subtype: 'error_during_execution',
  parentResult: 'failed',
  exitCode: 130,
  overridable: false,
  wrapsUp: false,
  checksGoal: false,
  hostsReadResult: false,
  sdkName: null,
  transcriptSays: 'nothing',
  limit: null,
  stageBound: null,
  continuesWith: 'prompt',
  nextRound: 'never',
  announcement: 'interrupted',
  detail: message,
  advice: noAdvice,
  actions: continueOrExplain,
  resume: continuePrompt,
  acp: 'cancelled',
} as const

const failure = {
  category: 'error',
  manner: 'immediate',
  subtype: 'error_during_execution',
  parentResult: 'failed',
  exitCode: 1,
  overridable: false,
  wrapsUp: false,
  checksGoal: false,
  hostsReadResult: false,
  sdkName: null,
  transcriptSays: 'nothing',
  limit: null,
  stageBound: null,
  continuesWith: 'prompt',
  nextRound: 'unless_repeated',
  announcement: 'failed',
  detail: message,
  resume: null,
  acp: 'error',
} as const

/**
 * The single table of endings. The loop, the records, the reports and every frontend read their part of a row; none of
 * them has a separate table (`scripts/check-endings.mjs`). An `EndingReason` without its row, or a row without a field,
 * does not compile.
 */
export const endings: { readonly [reason in EndingReason]: Ending } = {
  completed: { ...success, category: 'completed', sentence: 'done', detail: noDetail },
  finish_reason: {
    ...success,
    checksGoal: true,
    category: 'finish_reason',
    sentence: 'done: a guard accepted the answer',
    detail: message,
  },
  stop_requested: { ...stopped, sentence: 'a hook, a guard or a tool requested it', actions: onlyExplain },
  max_turns: {
    ...limit,
    category: 'steps_limit',
    manner: 'graceful',
    toolResults: 'all',
    subtype: 'error_max_turns',
    transcriptSays: 'max_turns_reached',
    limit: 'maxTurns',
    stageBound: 'max_turns',
    sentence: 'the turn limit is reached',
    detail: { kind: 'figures', unit: 'turns' },
  },
  max_tool_calls: {
    ...limit,
    category: 'steps_limit',
    manner: 'graceful',
    toolResults: 'all',
    overridable: false,
    limit: 'maxToolCalls',
    sentence: 'the tool call limit is reached',
    detail: { kind: 'figures', unit: 'calls' },
  },
  max_budget_usd: {
    ...limit,
    category: 'cost_limit',
    manner: 'immediate',
    toolResults: 'partial',
    subtype: 'error_max_budget_usd',
    sdkName: 'budget_exhausted',
    overridable: false,
    limit: 'maxBudgetUsd',
    stageBound: 'max_budget_usd',
    sentence: 'the dollar budget is used up',
    detail: { kind: 'figures', unit: 'usd' },
  },
  token_limit: {
    ...limit,
    category: 'token_limit',
    manner: 'graceful',
    toolResults: 'all',
    limit: 'maxTotalTokens',
    stageBound: 'token_limit',
    sentence: 'the token limit is reached',
    detail: { kind: 'figures', unit: 'tokens' },
    acp: 'max_tokens',
  },
  max_output_tokens: {
    ...bound,
    category: 'token_limit',
    manner: 'graceful',
    toolResults: 'none',
    overridable: true,
    stageBound: 'token_limit',
    sentence: 'replies kept hitting the output token limit',
    detail: noDetail,
    advice: advise('Ask for a shorter answer, or ask for the rest.', {
      terminal: 'Ask for a shorter answer, or ask for it in parts.',
    }),
    actions: [askForRest, explain],
    acp: 'max_tokens',
  },
  time_limit: {
    ...limit,
    checksGoal: false,
    category: 'time_limit',
    manner: 'immediate',
    toolResults: 'partial',
    wrapsUp: false,
    limit: 'maxDurationMs',
    stageBound: 'time_limit',
    sentence: 'the time limit is reached',
    detail: { kind: 'figures', unit: 'ms' },
  },
  no_progress: {
    ...bound,
    category: 'no_progress',
    manner: 'graceful',
    toolResults: 'all',
    overridable: true,
    wrapsUp: true,
    limit: 'noProgress',
    nextRound: 'unless_repeated',
    sentence: 'the agent made no progress',
    detail: { kind: 'message', prefix: 'No progress: ' },
    advice: advise('Tell the agent what to do when a tool call does not help.', {
      command: 'In the prompt, tell the agent what to do when a tool call does not help.',
    }),
    actions: [tryAnotherWay, lastAnswer, explain],
    resume: tryAnotherWay,
  },
  compaction_thrash: {
    ...bound,
    category: 'no_progress',
    manner: 'preemptive',
    toolResults: 'none',
    nextRound: 'never',
    sentence: 'compaction cannot free enough space',
    detail: message,
    advice: {
      command: { kind: 'more-room' },
      editor: 'Start a new session, or choose a model with a larger context window.',
      terminal: 'Choose a model with a larger context window: /model.',
    },
  },
  blocking_limit: {
    ...bound,
    category: 'token_limit',
    manner: 'preemptive',
    toolResults: 'none',
    nextRound: 'never',
    sentence: 'the context window is full',
    detail: { kind: 'figures', unit: 'tokens' },
    advice: {
      command: { kind: 'permit-compaction' },
      editor: 'Enter /compact to shorten the conversation.',
      terminal: 'Shorten the conversation with /compact, or start a new one with /clear.',
    },
    actions: [compact, explain],
    resume: compact,
  },
  structured_output_retry_exhausted: {
    ...bound,
    category: 'retry_limit',
    manner: 'graceful',
    toolResults: 'all',
    subtype: 'error_max_structured_output_retries',
    overridable: true,
    nextRound: 'unless_repeated',
    sentence: 'no answer matched the output schema',
    detail: message,
    advice: advise('Simplify the schema, or describe its fields.', {
      command: 'Simplify the schema, or describe its fields in the prompt.',
    }),
  },
  hook_stopped: {
    ...stopped,
    parentResult: 'failed',
    exitCode: 4,
    nextRound: 'never',
    sentence: 'a hook stopped the run after a tool call',
    advice: advise('A hook stopped the run: see its message.', { terminal: '/hooks lists the hooks.' }),
    actions: continueOrExplain,
  },
  stop_hook_prevented: {
    ...stopped,
    parentResult: 'failed',
    exitCode: 4,
    nextRound: 'never',
    sentence: 'a stop hook ended the run',
    advice: advise('A stop hook ended the run: see its message.', { terminal: '/hooks lists the hooks.' }),
    actions: onlyExplain,
  },
  goal_unmet: {
    ...limit,
    category: 'retry_limit',
    manner: 'graceful',
    toolResults: 'all',
    exitCode: 6,
    overridable: false,
    wrapsUp: false,
    checksGoal: false,
    limit: 'maxGoalTries',
    advice: {
      command: raiseLimit,
      editor:
        'Enter what to do next. /continue sends the answer back; if no tries are left, it allows the same number again.',
      terminal: '',
    },
    actions: [sendBack, raiseLimit, anotherModel, undo, explain],
    sentence: 'the goal is not met',
    detail: { kind: 'message', prefix: 'The goal is not met: ' },
    acp: 'end_turn',
  },
  stop_hook_unmet: {
    ...bound,
    category: 'retry_limit',
    manner: 'graceful',
    toolResults: 'all',
    exitCode: 4,
    overridable: true,
    hostsReadResult: true,
    checksGoal: false,
    continuesWith: 'prompt',
    nextRound: 'unless_repeated',
    sentence: 'a stop hook is not satisfied',
    detail: message,
    advice: advise('Check whether the stop hook can be satisfied; its message says what is missing.', {
      terminal: '/hooks lists the hooks.',
    }),
    actions: continueOrExplain,
    resume: continuePrompt,
    acp: 'end_turn',
  },
  needs_approval: {
    ...stopped,
    toolResults: 'partial',
    subtype: 'error_during_execution',
    parentResult: 'failed',
    exitCode: 5,
    overridable: false,
    continuesWith: 'answers',
    announcement: 'paused',
    nextRound: 'never',
    sentence: 'a tool call is waiting for approval',
    advice: {
      command: 'Approve or deny the tool call, then resume the session.',
      editor: 'Nobody was available to approve the tool call.',
      terminal: '',
    },
    actions: [approve, explain],
    resume: approve,
    acp: 'error',
  },
  user_requested: {
    ...interrupted,
    manner: 'graceful',
    toolResults: 'all',
    sentence: 'a stop was requested',
    detail: { kind: 'message', unless: 'Stop requested by user' },
  },
  aborted_streaming: { ...interrupted, toolResults: 'synthetic', sentence: 'interrupted while the model was replying' },
  aborted_tools: { ...interrupted, toolResults: 'partial', sentence: 'interrupted while tools were running' },
  abandoned: {
    ...interrupted,
    toolResults: 'synthetic',
    exitCode: null,
    sentence: 'the program reading the output disconnected',
    detail: noDetail,
  },
  prompt_too_long: {
    ...failure,
    toolResults: 'none',
    continuesWith: 'nothing',
    nextRound: 'never',
    sentence: 'the conversation is too long for the model',
    advice: {
      command: { kind: 'permit-compaction', otherwise: 'Split the task, or read fewer or smaller files at once.' },
      editor: 'Split the task, or enter /compact to shorten the conversation.',
      terminal: 'Shorten the conversation with /compact, or ask for less at once.',
    },
    actions: [compact, explain],
    resume: compact,
  },
  model_error: {
    ...failure,
    toolResults: 'synthetic',
    continuesWith: 'nothing',
    transcriptSays: 'failure',
    sentence: 'the model request failed',
    advice: {
      command: { kind: 'another-model' },
      editor: 'Enter /continue to try again, or choose another model in the session options.',
      terminal: 'Choose another model with /model, or run halting doctor to check the API key and the connection.',
    },
    actions: [retry, explain],
    resume: retry,
  },
  refusal: {
    ...failure,
    manner: 'graceful',
    toolResults: 'all',
    sentence: 'the model refused to answer',
    detail: noDetail,
    advice: advise('The model refused: rephrase the request.', {
      terminal: 'Rephrase the request.',
    }),
    actions: onlyExplain,
    acp: 'refusal',
  },
  no_answer: {
    ...failure,
    manner: 'graceful',
    toolResults: 'all',
    overridable: true,
    parentResult: 'done',
    hostsReadResult: true,
    announcement: 'unanswered',
    sentence: 'the model returned no answer',
    detail: noDetail,
    advice: advise('Ask for a text answer, or run it again.', { terminal: '' }),
    actions: [askForAnswer, explain],
    resume: askForAnswer,
    acp: 'end_turn',
  },
  image_error: {
    ...failure,
    toolResults: 'none',
    sentence: 'the model rejected an image or a document',
    advice: advise('Remove the image, or make it smaller.', {
      terminal: 'Remove the image or make it smaller; /rewind returns to before it.',
    }),
    actions: onlyExplain,
  },
  error: {
    ...failure,
    toolResults: 'synthetic',
    transcriptSays: 'failure',
    sentence: 'an internal step failed',
    advice: {
      command: { kind: 'inspect-failure' },
      editor: 'Run halting why for details.',
      terminal: 'See the error above.',
    },
    actions: [retry, explain],
  },
}
