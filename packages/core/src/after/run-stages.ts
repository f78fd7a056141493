import type { BudgetLease } from '../limits/lease.ts'
import type { Ledger } from '../limits/ledger.ts'
import { AbortScope } from '../values/abort.ts'
import { isModel, isSignal } from '../tools/check-options.ts'
import { ConfigurationError } from '../values/errors.ts'
import { EventQueue } from '../api/event-queue.ts'
import {
  fieldsOf,
  isFunction,
  isListOf,
  isName,
  isObject,
  optional,
  throwInvalidOption,
  type Validator,
} from '../values/validators.ts'
import { uuidOf } from '../values/hash.ts'
import type { Model } from '../model/model.ts'
import type { SdkMessage, SdkStageEnded } from '../sdk/sdk-messages.ts'
import type { Stage, StageLimits } from './stage.ts'
import { StageRun, type EndedStage, type StageSurroundings } from './stage-run.ts'
import type { StageReport } from '../steps/stage-record.ts'

/** Running stages. Iterating returns their messages as they arrive, and leaving the iteration ends the stages. */
export interface RunningStages extends AsyncIterable<SdkMessage<never>> {
  /** The report of each stage in order, once all have ended. Never rejects. */
  readonly ended: Promise<readonly StageReport[]>
  /** Ends the stages. Each has the grace time to react. */
  abort(cause?: 'user' | 'interrupt' | 'terminated'): void
}

/** Options that a caller sets for all stages of a list. */
export interface StagesOptions {
  /** Ends the stages when aborted, for example when the program ends. */
  readonly signal?: AbortSignal
  /** The model for stages that name none, typically a small one. Default: that of the session. */
  readonly model?: Model
}

/** What stages need from the session. */
export interface StagesHost extends Omit<StageSurroundings, 'signal' | 'model' | 'lease'> {
  readonly model: Model
  readonly lease: BudgetLease | null
  readonly ledger: Ledger
  /** Ends the runs of the session and its stages when aborted. */
  readonly signal: AbortSignal | undefined
  /** A name that is unique among the stages of the session. */
  idOf(name: string): string
  /** Called as each stage ends, before anyone else is notified. */
  onEnded(report: StageReport): void
}

/** Starts all stages in parallel. @throws ConfigurationError for an invalid list of stages; then none starts. */
export function startStages(stages: readonly Stage[], host: StagesHost, options: StagesOptions): RunningStages {
  checkStages(stages)
  checkStagesOptions(options)
  const abort = new AbortScope()
  const followers = [host.signal, options.signal].flatMap((signal) =>
    signal === undefined ? [] : [followSignal(signal, abort)],
  )
  const queue = new EventQueue<SdkMessage<never>>()
  queue.listen()
  const { sessionId, runId } = host
  const lease = host.lease && { lease: host.lease, askedNanos: 0 }
  const surroundings = { ...host, model: options.model ?? host.model, signal: abort.signal, lease }
  const ended = Promise.all(
    stages.map(async (stage): Promise<StageReport> => {
      const id = host.idOf(stage.name)
      const { report, messages } = await new StageRun(stage, { id, runId, name: stage.name }, surroundings).run()
      host.onEnded(report)
      for (const message of messagesOf({ report, messages }, sessionId)) queue.put(message)
      return report
    }),
  ).finally(() => {
    for (const scope of followers) scope.dispose()
    queue.close()
  })
  return {
    ended,
    abort: (cause = 'user') => abort.abort(cause),
    [Symbol.asyncIterator]: () => ({
      next: () => queue.next(),
      async return() {
        abort.abort('abandoned')
        await ended
        return { done: true, value: undefined }
      },
    }),
  }
}

/** Aborts the stages when the signal is aborted, and immediately if it already is. */
function followSignal(signal: AbortSignal, abort: AbortScope): AbortScope {
  const scope = new AbortScope()
  scope.listen({ onAbort: (cause) => abort.abort(cause) })
  scope.follow(signal)
  return scope
}

function messagesOf({ report, messages }: EndedStage, sessionId: string): readonly SdkMessage<never>[] {
  const idsOf = (name: string) => ({
    uuid: uuidOf(`${sessionId}/${report.id}/${name}`),
    session_id: sessionId,
  })
  const withIds = messages.map((message, index) => ({ ...message, ...idsOf(String(index)) }))
  return [...withIds, endedMessage(report, idsOf('ended'))]
}

function endedMessage(report: StageReport, ids: { readonly uuid: string; readonly session_id: string }): SdkStageEnded {
  const { runId, name, reason, message, details, turns, costUsd, committedUsd, tokens, durationMs } = report
  return {
    type: 'system',
    subtype: 'stage_ended',
    stage: name,
    run_id: runId,
    reason,
    message,
    ...(details !== undefined && { details }),
    num_turns: turns,
    cost_usd: costUsd,
    committed_usd: committedUsd,
    tokens,
    duration_ms: durationMs,
    ...ids,
  }
}

const isBound: Validator = (name, value) => {
  if (!(typeof value === 'number' && value > 0 && value < Infinity))
    throwInvalidOption(name, 'a number above 0, and finite', value)
}

const isTurns: Validator = (name, value) => {
  if (!(Number.isSafeInteger(value) && Number(value) > 0))
    throwInvalidOption(name, 'a whole number of at least 1', value)
}

const limitChecks: { readonly [limit in keyof StageLimits]-?: Validator } = {
  maxTurns: isTurns,
  maxBudgetUsd: isBound,
  maxTotalTokens: isBound,
  maxDurationMs: isBound,
}

const isLimits: Validator = (name, value) => {
  const limits = fieldsOf(value) ?? throwInvalidOption(name, 'an object', value)
  for (const limit in limits) {
    if (!Object.hasOwn(limitChecks, limit)) throw new ConfigurationError(`Unknown limit ${name}.${limit}.`)
    // Checked above.
    optional(limitChecks[limit as keyof StageLimits])(`${name}.${limit}`, limits[limit])
  }
}

const isStage = isObject('an object with name and run', {
  name: isName,
  run: isFunction,
  limits: optional(isLimits),
  model: optional(isModel),
})

function checkStages(stages: readonly Stage[]): void {
  isListOf(isStage)('stages', stages)
  const names = stages.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new ConfigurationError(`Two stages have the name ${twice}. Give each its own name.`)
}

function checkStagesOptions({ signal, model }: StagesOptions): void {
  optional(isSignal)('signal', signal)
  optional(isModel)('model', model)
}
