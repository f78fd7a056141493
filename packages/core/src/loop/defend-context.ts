import type { ClearedResults, Compaction, ContextManager, ContextView, Thrash } from '../context/port.ts'
import { HaltingError } from '../values/errors.ts'
import { after, disregard, type Eventually } from '../values/eventually.ts'
import { StopSignal } from '../endings/signal.ts'
import { isStrings } from '../values/stored.ts'
import { isStagingAsked, recordedStaging, startStaging } from './collapse.ts'
import { compactBy, recordedCompaction, type Compacted, type CompactionCall } from './compaction.ts'
import { draftOf, ends, type Draft, type Outcome } from '../run/outcome.ts'
import { calibratedSizes, estimateFixed, estimateRequest, tokenRatioOf } from '../request/estimate.ts'
import { isAsked, type Run } from '../run/run.ts'
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
export function defendContext(run: Run): Eventually<Outcome | undefined> {
  const { contextDefence } = run.context
  const call: CompactionCall = {
    place: 'auto',
    position: isAsked(run) ? 'passed' : 'open',
    anew: () => dueIn(contextDefence.beforeRequest(contextViewOf(run))),
  }
  const recorded = recordedCompaction(run, 'auto')
  if (recorded !== undefined) return after(compactBy(run, recorded, call), goOnAfter)
  if (isAsked(run)) return undefined
  const view = contextViewOf(run)
  const { estimatedTokens, model, contextWindow } = view
  const due = contextDefence.beforeRequest(view)
  const thrash = thrashEndingOf(run, due)
  if (thrash !== undefined) return ends(thrash)
  const compaction = dueIn(due)
  if (compaction !== undefined) return after(compactBy(run, compaction, call), goOnAfter)
  const limit = contextDefence.autoCompact ? Infinity : numberOf(contextDefence.blockingLimit(model, contextWindow))
  return estimatedTokens < limit ? undefined : ends(blockingDraft(estimatedTokens, limit))
}

/** The compaction that a layer returned; undefined also when the layer found that no compaction helps. */
export function dueIn(due: ReturnType<ContextManager['beforeRequest']>): Compaction | undefined {
  // Since it is not a `Thrash`, it must be a compaction or nothing: `compactionOf` validates that.
  return thrashOf(due) === undefined ? compactionOf(due as Compaction | undefined) : undefined
}

/** The ending when a layer found that no compaction helps; otherwise undefined. */
export function thrashEndingOf(run: Run, due: ReturnType<ContextManager['beforeRequest']>): Draft | undefined {
  const thrash = thrashOf(due)
  return thrash && thrashDraft(thrash, estimateRequest(run))
}

/** Runs a compaction that a person requested, as the only task of this run. */
export function compactForPerson(run: Run): Eventually<Outcome | undefined> {
  const { compacting } = run.spent
  if (compacting === null) return undefined
  const anew = () => dueIn(run.context.contextDefence.compact(contextViewOf(run), 'manual'))
  const compaction = recordedCompaction(run, 'manual') ?? anew()
  if (compaction === undefined) return ends(shortEnoughDraft)
  const call = { place: 'manual', position: 'open', instructions: compacting.instructions, anew } as const
  return after(compactBy(run, compaction, call), (came) => {
    if (came === 'gave_up') return ends(notCompactedDraft(compactionFailed))
    return ends(came === 'done' ? compactedDraft() : came)
  })
}

// Spec R-CTX-16.
/** Starts to summarize finished work while the turn continues, if that saves enough. */
export function stageCollapse(run: Run): undefined {
  const { contextDefence } = run.context
  if (recordedStaging(run) || contextDefence.stage === undefined) return undefined
  const due = contextDefence.stage(contextViewOf(run))
  if (due !== undefined && (!isAsked(run) || isStagingAsked(run, due))) startStaging(run, due)
  return undefined
}

/** Replaces old tool results by notes. The decision is recorded, since a later program may decide differently. */
export function clearResults(run: Run): Eventually<undefined> {
  const { contextDefence } = run.context
  if (contextDefence.clear === undefined) return undefined
  const name = `clear:${run.spent.request}`
  if (!run.isRecorded(name)) {
    if (isAsked(run)) return undefined
    const cleared = clearedOf(contextDefence.clear(contextViewOf(run)))
    if (cleared === undefined) return undefined
    return after(
      run.step<ClearedResults>(name, () => cleared),
      ({ value }) => enterCleared(run, value),
    )
  }
  return after(
    run.step<ClearedResults>(name, () => ({ calls: [], freedTokens: 0 })),
    ({ value }) => enterCleared(run, value),
  )
}

/** Maximum tokens of the note that replaces a result: one a byte. */
const noteBound = 200

function enterCleared(run: Run, { calls, freedTokens }: ClearedResults): undefined {
  const { counted } = run.spent
  // Read the ratio first: it is based on the count that changes below.
  const tokenRatio = tokenRatioOf(run)
  run.append({ kind: 'results_cleared', id: run.entryId('results_cleared'), calls, freedTokens })
  const freed = (counted.freed ?? 0) + freedTokens
  const added = (counted.added ?? 0) + calls.length * noteBound
  run.update({ tokenRatio, counted: counted.tokens === 0 ? counted : { ...counted, freed, added } })
  run.emit({ type: 'results_cleared', calls: calls.length, freedTokens })
  return undefined
}

function clearedOf(given: ClearedResults | undefined): ClearedResults | undefined {
  if (given === undefined || given === null) return undefined
  const { calls, freedTokens } = given
  if (isStrings(calls) && typeof freedTokens === 'number' && freedTokens >= 0 && Number.isFinite(freedTokens))
    return calls.length === 0 ? undefined : { calls: [...calls], freedTokens }
  disregard(given)
  throw new HaltingError(
    'callback',
    'A layer of the context defence gave something that is no list of cleared results.',
  )
}

/** Validates the result of a context layer. @throws HaltingError for anything but a compaction or nothing. */
function compactionOf(given: Compaction | undefined): Compaction | undefined {
  const layer: unknown = given ?? undefined
  if (layer === undefined) return undefined
  if (typeof layer === 'object' && layer !== null && 'trigger' in layer && 'run' in layer) {
    if (triggers.has(layer.trigger) && typeof layer.run === 'function') return given
  }
  disregard(layer)
  throw new HaltingError('callback', 'A layer of the context defence gave something that is no compaction.')
}

const triggers: ReadonlySet<unknown> = new Set<Compaction['trigger']>(['auto', 'reactive', 'collapse', 'manual'])

function thrashOf(given: Compaction | Thrash | 'thrash' | undefined): Thrash | undefined {
  const layer: unknown = given ?? undefined
  if (layer === 'thrash') return { kind: 'thrash', message: againMessage }
  if (typeof layer !== 'object' || layer === null || !('kind' in layer) || layer.kind !== 'thrash') return undefined
  return {
    kind: 'thrash',
    message: 'message' in layer && typeof layer.message === 'string' ? layer.message : againMessage,
  }
}

const againMessage = compactionUseless

function numberOf(limit: unknown): number {
  if (typeof limit === 'number' && !Number.isNaN(limit)) return limit
  disregard(limit)
  throw new HaltingError('callback', 'The context defence gave a blocking limit that is no number.')
}

/** A compaction that gave up changes nothing. One that was aborted ends the run. */
function goOnAfter(came: Compacted): Outcome | undefined {
  return typeof came === 'string' ? undefined : ends(came)
}

function thrashDraft({ message }: Thrash, estimatedTokens: number) {
  const signal = new StopSignal({ reason: 'no_progress', message, context: { estimatedTokens }, source: 'context' })
  return draftOf('compaction_thrash', signal)
}

function blockingDraft(used: number, limit: number) {
  const message = promptTooLong(used, limit)
  const signal = new StopSignal({ reason: 'token_limit', message, context: { used, limit }, source: 'context' })
  return draftOf('blocking_limit', signal, { say: { error: 'invalid_request', message } })
}

const compactedDraft = () =>
  draftOf('completed', new StopSignal({ reason: 'completed', message: compacted, source: 'context' }), {
    overridable: false,
  })

/** The request is already satisfied, so this is not a failure. */
const shortEnough = nothingToCompact
const shortEnoughDraft = draftOf(
  'completed',
  new StopSignal({ reason: 'completed', message: shortEnough, source: 'context' }),
  { overridable: false, say: { type: 'informational', message: shortEnough } },
)

function notCompactedDraft(message: string) {
  const signal = new StopSignal({ reason: 'error', message, source: 'context' })
  return draftOf('error', signal, { overridable: false, say: { type: 'informational', message } })
}

/** The run as the layers of the context defence see it. */
export function contextViewOf(run: Run): ContextView {
  const { settings, toolDefinitions: tools } = run.context
  const model = currentModel(run)
  // Most turns need none of these values, so they are computed lazily.
  let known: ReturnType<typeof calibratedSizes> | undefined
  const sizes = () => (known ??= calibratedSizes(run))
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
