import type { ClearedResults, Compaction, ContextManager, ContextView, Thrash } from '../context/context-manager.ts'
import { HaltingError } from '../values/errors.ts'
import { andThen, ignoreRejection, type MaybePromise } from '../values/maybe-promise.ts'
import { StopSignal } from '../endings/signal.ts'
import { isStrings } from '../values/stored-checks.ts'
import { isStagingAsked, recordedStaging, startStaging } from './collapse.ts'
import { compactBy, recordedCompaction, type Compacted, type CompactionCall } from './compaction.ts'
import { pendingEndingOf, endWith, type PendingEnding, type Outcome } from '../run/outcome.ts'
import { calibratedSizes, estimateFixed, estimateRequest, tokenRatioOf } from '../request/estimate.ts'
import { isRequestRecorded, type Run } from '../run/run.ts'
import { currentModel } from '../request/current-model.ts'
import { windowOf } from '../request/window.ts'
import {
  compacted,
  compactionFailed,
  compactionUseless,
  nothingToCompact,
  promptTooLong,
} from '../endings/ending-texts.ts'

/** Frees context space for the request: auto-compaction, then the blocking limit. Undefined when the request fits; an outcome when the run ends. */
export function defendContext(run: Run): MaybePromise<Outcome | undefined> {
  const { contextDefence } = run.context
  const call: CompactionCall = {
    place: 'auto',
    position: isRequestRecorded(run) ? 'passed' : 'open',
    replan: () => dueCompaction(contextDefence.beforeRequest(contextViewOf(run))),
  }
  const recorded = recordedCompaction(run, 'auto')
  if (recorded !== undefined) return andThen(compactBy(run, recorded, call), outcomeAfterCompaction)
  if (isRequestRecorded(run)) return undefined
  const view = contextViewOf(run)
  const { estimatedTokens, model, contextWindow } = view
  const due = contextDefence.beforeRequest(view)
  const thrash = thrashEndingOf(run, due)
  if (thrash !== undefined) return endWith(thrash)
  const compaction = dueCompaction(due)
  if (compaction !== undefined) return andThen(compactBy(run, compaction, call), outcomeAfterCompaction)
  const limit = contextDefence.autoCompact ? Infinity : validLimit(contextDefence.blockingLimit(model, contextWindow))
  return estimatedTokens < limit ? undefined : endWith(blockingLimitEnding(estimatedTokens, limit))
}

/** The compaction that a layer returned. Undefined if the layer returned none, or found that no compaction helps. */
export function dueCompaction(due: ReturnType<ContextManager['beforeRequest']>): Compaction | undefined {
  // Since it is not a `Thrash`, it must be a compaction or nothing: `compactionOf` validates that.
  return thrashOf(due) === undefined ? compactionOf(due as Compaction | undefined) : undefined
}

/** The ending when a layer found that no compaction helps; otherwise undefined. */
export function thrashEndingOf(run: Run, due: ReturnType<ContextManager['beforeRequest']>): PendingEnding | undefined {
  const thrash = thrashOf(due)
  return thrash && thrashEnding(thrash, estimateRequest(run))
}

/** Runs a compaction that a person requested, as the only task of this run. */
export function compactOnRequest(run: Run): MaybePromise<Outcome | undefined> {
  const { compacting } = run.spent
  if (compacting === null) return undefined
  const replan = () => dueCompaction(run.context.contextDefence.compact(contextViewOf(run), 'manual'))
  const compaction = recordedCompaction(run, 'manual') ?? replan()
  if (compaction === undefined) return endWith(shortEnoughEnding)
  const call = { place: 'manual', position: 'open', instructions: compacting.instructions, replan } as const
  return andThen(compactBy(run, compaction, call), (result) => {
    if (result === 'gave_up') return endWith(notCompactedEnding(compactionFailed))
    return endWith(result === 'done' ? compactedEnding() : result)
  })
}

// Spec R-CTX-16.
/** Starts to summarize finished work while the turn continues, if that saves enough. */
export function stageCollapse(run: Run): undefined {
  const { contextDefence } = run.context
  if (recordedStaging(run) || contextDefence.stage === undefined) return undefined
  const due = contextDefence.stage(contextViewOf(run))
  if (due !== undefined && (!isRequestRecorded(run) || isStagingAsked(run, due))) startStaging(run, due)
  return undefined
}

/** Replaces old tool results by notes. The decision is recorded, since a later program may decide differently. */
export function pruneResults(run: Run): MaybePromise<undefined> {
  const { contextDefence } = run.context
  if (contextDefence.clear === undefined) return undefined
  const name = `clear:${run.spent.request}`
  if (!run.isRecorded(name)) {
    if (isRequestRecorded(run)) return undefined
    const pruned = prunedResults(contextDefence.clear(contextViewOf(run)))
    if (pruned === undefined) return undefined
    return andThen(
      run.step<ClearedResults>(name, () => pruned),
      ({ value }) => enterPruned(run, value),
    )
  }
  return andThen(
    run.step<ClearedResults>(name, () => ({ calls: [], freedTokens: 0 })),
    ({ value }) => enterPruned(run, value),
  )
}

/** Maximum tokens of the note that replaces a result, at one token per byte. */
const noteBound = 200

function enterPruned(run: Run, { calls, freedTokens }: ClearedResults): undefined {
  const { counted } = run.spent
  // Read the ratio first: it is based on the token count, which changes below.
  const tokenRatio = tokenRatioOf(run)
  run.append({ kind: 'results_cleared', id: run.entryId('results_cleared'), calls, freedTokens })
  const freed = (counted.freed ?? 0) + freedTokens
  const added = (counted.added ?? 0) + calls.length * noteBound
  run.update({ tokenRatio, counted: counted.tokens === 0 ? counted : { ...counted, freed, added } })
  run.emit({ type: 'results_cleared', calls: calls.length, freedTokens })
  return undefined
}

function prunedResults(value: ClearedResults | undefined): ClearedResults | undefined {
  if (value === undefined || value === null) return undefined
  const { calls, freedTokens } = value
  if (isStrings(calls) && typeof freedTokens === 'number' && freedTokens >= 0 && Number.isFinite(freedTokens))
    return calls.length === 0 ? undefined : { calls: [...calls], freedTokens }
  ignoreRejection(value)
  throw new HaltingError('callback', 'A layer of the context defence returned an invalid list of cleared results.')
}

/** Validates the result of a context layer. @throws HaltingError for anything but a compaction or nothing. */
function compactionOf(value: Compaction | undefined): Compaction | undefined {
  const layer: unknown = value ?? undefined
  if (layer === undefined) return undefined
  if (typeof layer === 'object' && layer !== null && 'trigger' in layer && 'run' in layer) {
    if (triggers.has(layer.trigger) && typeof layer.run === 'function') return value
  }
  ignoreRejection(layer)
  throw new HaltingError('callback', 'A layer of the context defence returned a value that is not a compaction.')
}

const triggers: ReadonlySet<unknown> = new Set<Compaction['trigger']>(['auto', 'reactive', 'collapse', 'manual'])

function thrashOf(value: Compaction | Thrash | 'thrash' | undefined): Thrash | undefined {
  const layer: unknown = value ?? undefined
  if (layer === 'thrash') return { kind: 'thrash', message: thrashMessage }
  if (typeof layer !== 'object' || layer === null || !('kind' in layer) || layer.kind !== 'thrash') return undefined
  return {
    kind: 'thrash',
    message: 'message' in layer && typeof layer.message === 'string' ? layer.message : thrashMessage,
  }
}

const thrashMessage = compactionUseless

function validLimit(limit: unknown): number {
  if (typeof limit === 'number' && !Number.isNaN(limit)) return limit
  ignoreRejection(limit)
  throw new HaltingError('callback', 'The context defence returned a blocking limit that is not a number.')
}

/** A compaction that gave up changes nothing. One that was aborted ends the run. */
function outcomeAfterCompaction(result: Compacted): Outcome | undefined {
  return typeof result === 'string' ? undefined : endWith(result)
}

function thrashEnding({ message }: Thrash, estimatedTokens: number) {
  const signal = new StopSignal({ reason: 'no_progress', message, context: { estimatedTokens }, source: 'context' })
  return pendingEndingOf('compaction_thrash', signal)
}

function blockingLimitEnding(used: number, limit: number) {
  const message = promptTooLong(used, limit)
  const signal = new StopSignal({ reason: 'token_limit', message, context: { used, limit }, source: 'context' })
  return pendingEndingOf('blocking_limit', signal, { closingEntry: { error: 'invalid_request', message } })
}

const compactedEnding = () =>
  pendingEndingOf('completed', new StopSignal({ reason: 'completed', message: compacted, source: 'context' }), {
    overridable: false,
  })

/** The conversation is already short enough, so this is not a failure. */
const shortEnough = nothingToCompact
const shortEnoughEnding = pendingEndingOf(
  'completed',
  new StopSignal({ reason: 'completed', message: shortEnough, source: 'context' }),
  { overridable: false, closingEntry: { type: 'informational', message: shortEnough } },
)

function notCompactedEnding(message: string) {
  const signal = new StopSignal({ reason: 'error', message, source: 'context' })
  return pendingEndingOf('error', signal, { overridable: false, closingEntry: { type: 'informational', message } })
}

/** The run as the layers of the context defence see it. */
export function contextViewOf(run: Run): ContextView {
  const { settings, toolDefinitions: tools } = run.context
  const model = currentModel(run)
  // Most turns need none of these values, so they are computed lazily.
  let cachedSizes: ReturnType<typeof calibratedSizes> | undefined
  const sizes = () => (cachedSizes ??= calibratedSizes(run))
  return {
    state: run.state,
    model,
    system: settings.system,
    tools,
    estimatedTokens: estimateRequest(run),
    contextWindow: windowOf(run, model),
    get fixedTokens() {
      return Math.ceil(tokenRatioOf(run) * estimateFixed(run))
    },
    tokensOf: (messages) => sizes().tokensOf(messages),
    tokensBetween: (from, to) => sizes().tokensBetween(from, to),
    clearableBefore: (index) => sizes().clearableBefore(index),
  }
}
