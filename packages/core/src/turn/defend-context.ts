import type { Compaction, ContextView } from '../context/port.ts'
import { HaltingError } from '../errors.ts'
import { after, disregard, type Eventually } from '../eventually.ts'
import { StopSignal } from '../stop/signal.ts'
import { compactBy, recordedCompaction, type Compacted } from './compaction.ts'
import { draftOf, ends, type Outcome } from './outcome.ts'
import { isAsked } from './request/is-asked.ts'
import { currentModel } from './request/current-model.ts'
import { estimateRequest } from './request/estimate.ts'
import type { Run } from './run.ts'

/** Makes room for the request: auto-compact, then the blocking limit. Undefined when there is room; an outcome when the run ends. */
export function defendContext(run: Run): Eventually<Outcome | undefined> {
  const recorded = recordedCompaction(run)
  if (recorded !== undefined) return after(compactBy(run, recorded), goOnAfter)
  if (isAsked(run)) return undefined
  const { contextDefence } = run.context
  const view = contextViewOf(run)
  const { estimatedTokens } = view
  const due = compactionOf(contextDefence.beforeRequest(view))
  if (due === 'thrash') return ends(thrashDraft(estimatedTokens))
  if (due !== undefined) return after(compactBy(run, due), goOnAfter)
  const limit = contextDefence.autoCompact ? Infinity : numberOf(contextDefence.blockingLimit(view.model))
  return estimatedTokens < limit ? undefined : ends(blockingDraft(estimatedTokens, limit))
}

/** The answer of a context layer. @throws HaltingError for anything else than a compaction, `thrash` or nothing. */
export function compactionOf<T extends Compaction | 'thrash'>(given: T | undefined): T | undefined {
  const layer: unknown = given ?? undefined
  if (layer === undefined || layer === 'thrash') return given ?? undefined
  if (typeof layer === 'object' && layer !== null && 'trigger' in layer && 'run' in layer) {
    if (triggers.has(layer.trigger) && typeof layer.run === 'function') return given
  }
  disregard(layer)
  throw new HaltingError('callback', 'A layer of the context defence gave something that is no compaction.')
}

const triggers: ReadonlySet<unknown> = new Set<Compaction['trigger']>(['auto', 'reactive', 'collapse'])

function numberOf(limit: unknown): number {
  if (typeof limit === 'number' && !Number.isNaN(limit)) return limit
  disregard(limit)
  throw new HaltingError('callback', 'The context defence gave a blocking limit that is no number.')
}

/** A compaction that gave up changes nothing. One that was aborted ends the run. */
function goOnAfter(came: Compacted): Outcome | undefined {
  return typeof came === 'string' ? undefined : ends(came)
}

function thrashDraft(estimatedTokens: number) {
  const message = 'Compacting the conversation again would not make room: what fills it came back at once.'
  const signal = new StopSignal({ reason: 'no_progress', message, context: { estimatedTokens }, source: 'context' })
  return draftOf('compaction_thrash', signal)
}

function blockingDraft(used: number, limit: number) {
  const message = `Prompt is too long: about ${used} tokens, and ${limit} fit. Compact the conversation or start a new one.`
  const signal = new StopSignal({ reason: 'token_limit', message, context: { used, limit }, source: 'context' })
  return draftOf('blocking_limit', signal, { say: { error: 'invalid_request', message } })
}

/** The run as the layers of the context defence see it. */
export function contextViewOf(run: Run): ContextView {
  const { settings, toolDefinitions: tools } = run.context
  return {
    state: run.state,
    model: currentModel(run),
    system: settings.system,
    tools,
    estimatedTokens: estimateRequest(run),
  }
}
