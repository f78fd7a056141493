import { transitions } from '../limits/transition-rules.ts'
import { isJsonObject } from '../values/json.ts'
import {
  isAmount,
  isBoolean,
  isDuration,
  isListOf,
  isMapOf,
  isMoment,
  isNamed,
  isNumber,
  isObject,
  isOneOf,
  isText,
  storedProblemOf,
  optional,
  orNull,
  type Check,
} from '../values/stored-checks.ts'
import { isContent, isListOfBlocks, isModelMessages, isTranscript, isUsage } from '../conversation/stored-transcript.ts'
import { endings } from '../endings/table.ts'

/**
 * Returns the problem of a stored record, with its path; undefined if every field that is read is valid. Readers of
 * records call this first, since the records may come from an untrusted source. Unknown fields and blocks are ignored,
 * as are fields that an older version omitted.
 */
export function validateRecord(record: unknown): string | undefined {
  if (isDeeper(record, maxDepth)) return `it is nested more than ${maxDepth} levels deep`
  return storedProblemOf(record, isRecord)
}

/** Output of models, tools and hooks is truncated at fewer than 200 levels. A much deeper value cannot be serialized again. */
const maxDepth = 400

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  // An index loop, because this runs for every value of every record, and allocating lists of entries would dominate the cost.
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (isDeeper(value[index], levels - 1)) return true
    return false
  }
  const object = value as { readonly [field: string]: unknown }
  for (const name in object) if (isDeeper(object[name], levels - 1)) return true
  return false
}

const isReason = isNamed(Object.keys(endings), 'the reason of an ending')
const isTransition = isNamed(transitions, 'a transition')

const isMoney: Check = isObject({ nanos: isAmount, tokens: isAmount })
const isSignal: Check = isObject({ reason: isText, message: isText, context: isObject(), source: orNull(isText) })
const isCounts = isMapOf(isAmount)
const isLaps: Check = (value, path) => {
  isCounts(value, path)
  for (const name of Object.keys(value as object)) isTransition(name, path)
}
const isLimit: Check = orNull(isAmount)
const isSetLimit: Check = optional(isLimit)

const isGoalCheck = isObject({
  name: isText,
  met: isBoolean,
  exitCode: orNull(isNumber),
  durationMs: isDuration,
  tail: isText,
  judged: optional(isBoolean),
  timedOut: optional(isBoolean),
  pass: optional(isAmount),
})
const isFiles = isListOf(isText)
const isGoalSpecs = isListOf(isObject({ name: isText, judged: optional(isBoolean), set: optional(isNumber) }))

/** The result of a round of checks. */
const isGoalRound: Check = isObject({
  met: isBoolean,
  checks: isListOf(isGoalCheck),
  report: isText,
  tampered: isFiles,
  changedByChecks: isFiles,
  changedTests: isFiles,
  isUnstable: isBoolean,
  unusable: optional(isText),
  aborted: optional(isText),
})

const isVerificationProgress: Check = isObject({
  unchecked: isAmount,
  changed: isAmount,
  check: orNull(isText),
  hasPassed: isBoolean,
  askedAt: optional(orNull(isAmount)),
})

const isVerified: Check = (value, path) => (value === 'nothing changed' ? undefined : isBoolean(value, path))

const isGoalProgress: Check = isObject({
  specs: isGoalSpecs,
  tries: isAmount,
  rounds: isAmount,
  baseline: orNull(isBoolean),
  last: orNull(
    isObject({
      met: isBoolean,
      checks: isListOf(isGoalCheck),
      tampered: isFiles,
      changedTests: isFiles,
      changes: isAmount,
    }),
  ),
  lastTry: orNull(isObject({ report: isNumber, changes: isAmount })),
  hasFailed: isBoolean,
  flaky: isBoolean,
  reminded: isBoolean,
  resultsBefore: isAmount,
  looksAnew: optional(isBoolean),
})

const isGoalResult: Check = isObject({
  met: (value, path) => (value === 'unknown' ? undefined : isBoolean(value, path)),
  judged: optional(isBoolean),
  heldFromStart: optional(isBoolean),
  tries: isAmount,
  baseline: orNull(isBoolean),
  checks: isListOf(isGoalCheck),
  tampered: isFiles,
  changedTests: isFiles,
  flaky: isBoolean,
})

const isRepetition: Check = isObject({
  edits: optional(isObject({ tool: isText, turns: isAmount })),
  errors: optional(isListOf(isObject({ hash: isNumber, turns: isAmount }))),
  newest: optional(isObject({ failedEdits: isAmount, equalErrors: isAmount })),
  answer: optional(isObject({ hash: isNumber, times: isAmount })),
})

const isProgress: Check = isObject({
  request: isAmount,
  turns: isAmount,
  turnBegins: isBoolean,
  laps: isObject({ sinceRefill: isLaps, inRun: isLaps, triesBefore: optional(isAmount), raises: optional(isAmount) }),
  compactions: isAmount,
  usage: isUsage,
  modelUsage: isMapOf(isObject({ usage: isUsage, nanos: isAmount })),
  totalTokens: isAmount,
  nanos: isAmount,
  unknownNanos: isAmount,
  startedAt: isMoment,
  now: isMoment,
  recentTurns: isListOf(isNumber),
  toolCalls: optional(isAmount),
  limitsTold: optional(isMapOf(isObject({ limit: isAmount, percent: isAmount }))),
  goal: optional(isGoalProgress),
  reminded: optional(isListOf(isText)),
  repetition: optional(isRepetition),
  verification: optional(isVerificationProgress),
  changes: optional(isObject({ calls: isAmount, at: isAmount, by: orNull(isText) })),
  stopHookBlocks: optional(isListOf(isObject({ hook: isText, reason: isNumber, changes: isAmount, times: isAmount }))),
  waits: optional(isObject({ ms: isAmount, untilMs: isAmount })),
})

const isStart: Check = isObject({
  run: isObject({ sessionId: isText, runId: isText, agentPath: isText, depth: isAmount, continues: optional(isText) }),
  added: isTranscript,
  history: optional(isAmount),
  spent: isProgress,
  limits: optional(
    isObject({
      maxTurns: isLimit,
      maxBudgetUsd: isLimit,
      maxRunUsd: isLimit,
      maxTotalTokens: isLimit,
      maxDurationMs: isLimit,
      maxToolCalls: optional(isLimit),
      waitForLimitsMs: optional(isLimit),
      spentBeforeUsd: isAmount,
      maxGoalTries: optional(isAmount),
    }),
  ),
  answers: optional(isListOf(isObject({ id: isText, name: isText }))),
})

const isLap: Check = isObject({
  scope: isText,
  transition: isTransition,
  spent: isProgress,
  added: isTranscript,
  overridden: optional(isObject({ by: isText, signals: isListOf(isSignal) })),
})

const isFolded: Check = isObject({
  settled: isMoney,
  unknown: isMoney,
  open: isListOf(isListOf((value, path) => (typeof value === 'string' ? undefined : isMoney(value, path)))),
  until: isMoment,
})

const isTerminal: Check = isObject({
  reason: isReason,
  signal: isSignal,
  signals: isListOf(isSignal),
  error: optional(isObject({ code: isText, message: isText })),
  stillRunning: isListOf(isText),
  goal: optional(isGoalResult),
  verified: optional(isVerified),
})

const isControl: Check = isObject({
  abort: optional(isText),
  signals: optional(isListOf(isSignal)),
  messages: optional(isListOf(isObject({ id: isText, kind: isText, content: isContent }))),
  settings: optional(
    isObject({
      limits: optional(
        isObject({
          maxTurns: isSetLimit,
          maxBudgetUsd: isSetLimit,
          maxTotalTokens: isSetLimit,
          maxDurationMs: isSetLimit,
          maxRunUsd: isSetLimit,
          maxToolCalls: isSetLimit,
          maxGoalTries: isSetLimit,
        }),
      ),
      until: optional(orNull(isGoalSpecs)),
    }),
  ),
})

const isStage: Check = isOneOf('phase', {
  began: isObject({ id: isText, runId: isText, name: isText, most: isMoney }),
  ended: isObject({
    id: isText,
    runId: isText,
    name: isText,
    reason: isText,
    message: isText,
    turns: isAmount,
    costUsd: isAmount,
    committedUsd: isAmount,
    tokens: isAmount,
    modelUsage: isMapOf(isObject({ usage: isUsage, costUsd: isAmount })),
    durationMs: isDuration,
  }),
})

const isCharge: Check = isObject({
  tokens: optional(isAmount),
  nanos: optional(isAmount),
  usage: optional(orNull(isUsage)),
})

/** The intent of a request, which contains its reservation. */
const isIntent: Check = (value, path) => {
  if (isJsonObject(value) && value['granted'] === true) isCharge(value, path)
}

/** A step may have any result. Only these parts are read: a model's reply and its charge, a tool result's content, and a compaction. */
const isStepValue: Check = (value, path) => {
  if (!isJsonObject(value)) return
  const { status, content, message, charge, result, value: inner } = value
  if (isJsonObject(charge)) isCharge(charge, `${path}.charge`)
  if (status !== undefined && content !== undefined) isContent(content, `${path}.content`)
  if (isJsonObject(message)) isListOfBlocks(message['content'], `${path}.message.content`)
  if (isJsonObject(result) && result['messages'] !== undefined)
    isModelMessages(result['messages'], `${path}.result.messages`)
  // The result of a call that asked a model is nested in this value.
  if (isJsonObject(inner)) isStepValue(inner, `${path}.value`)
}

const isResultFields = isObject({ key: isText, value: isStepValue, at: isMoment, durationMs: isDuration })

/** Matches the step of a round of checks, of the run or of a subagent. If a goal is judged by a model, the model requests are steps below this one. */
const goalStep = /^[^/]*\/(?:agent:\d+:\d+:[^/]*\/)*goal:\d+:(?:baseline|answer|turn|limit)(\/asked)?$/

const isResult: Check = (value, path) => {
  isResultFields(value, path)
  const { key, value: outcome } = value as { readonly key: string; readonly value: unknown }
  const step = goalStep.exec(key)
  if (step === null) return
  const at = path === '' ? 'value' : `${path}.value`
  if (step[1] !== undefined) isObject({ value: isGoalRound })(outcome, at)
  else if (!isJsonObject(outcome) || outcome['asks'] !== true) isGoalRound(outcome, at)
}

/** Readers of times accept any record with such a field. */
const isOptionalTime: Check = optional(isMoment)

const isRecord: Check = isOneOf('type', {
  start: isObject({ scope: isText, start: isStart, at: isMoment }),
  intent: isObject({ key: isText, intent: isIntent, at: isMoment }),
  result: isResult,
  control: isObject({ key: isText, control: isControl, at: isMoment }),
  lap: isObject({ lap: isLap, folds: optional(isFolded) }),
  end: isObject({ scope: isText, terminal: isTerminal, added: isTranscript, spent: isProgress, at: isOptionalTime }),
  rewind: isObject({ entries: isAmount, after: orNull(isText), at: isOptionalTime }),
  stage: isObject({ stage: isStage, at: isOptionalTime }),
})
