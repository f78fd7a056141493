import type { Settled } from '../cancel/settle.ts'
import type { Compaction, CompactionResult, ContextView } from '../context/port.ts'
import { estimateMessages } from '../context/tokens.ts'
import { messageOf } from '../errors.ts'
import { after, type Eventually } from '../eventually.ts'
import { noCount } from '../state.ts'
import { StopSignal } from '../stop/signal.ts'
import { draftOf, ends, type Outcome } from './outcome.ts'
import { isAsked } from './request/is-asked.ts'
import { chargeFor, chargeOf } from './request/charge.ts'
import { currentModel } from './request/current-model.ts'
import { promptCountFor } from './request/prompt-count.ts'
import type { Run } from './run.ts'

/** Context: auto-compact, thrash, then the blocking limit. Undefined when there is room for the request. */
export function defendContext(run: Run): Eventually<Outcome | undefined> {
  // What a resumed run's record holds stands, whatever the layers would say now.
  if (run.ports.isResumed && run.ports.steps.peek(run.key(compactionName(run, 'auto'))) === 'done')
    return after(compactBy(run, recordedCompaction), () => undefined)
  if (isAsked(run)) return undefined
  const { contextDefence } = run.context
  const view = contextViewOf(run)
  const { estimatedTokens } = view
  const due = contextDefence.beforeRequest(view)
  if (due === 'thrash') return ends(thrashDraft(estimatedTokens))
  if (due !== undefined) return after(compactBy(run, due), () => undefined)
  const limit = contextDefence.autoCompact ? Infinity : contextDefence.blockingLimit(view.model)
  return estimatedTokens < limit ? undefined : ends(blockingDraft(estimatedTokens, limit))
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
  return { state: run.state, model: currentModel(run), estimatedTokens: estimateRequest(run) }
}

/** Tokens that the next request is guessed to have. */
function estimateRequest(run: Run): number {
  const { context } = run
  const counted = promptCountFor(run, currentModel(run))
  const messages = run.transcript.messages()
  if (counted !== undefined) return counted.tokens + estimateMessages(context.tokens, messages, counted.length)
  return context.tokens.estimate(context.settings.system) + estimateMessages(context.tokens, messages)
}

/** Its result is on record; it is not run. */
const recordedCompaction: Compaction = Object.freeze<Compaction>({
  trigger: 'auto',
  run: () => Promise.resolve({ kind: 'gave_up', message: 'the record is gone' }),
})

function compactionName({ spent }: Run, trigger: Compaction['trigger']): string {
  return `compact:${spent.request}.${trigger}`
}

/** Runs a compaction as one step. False when it gave up: then the run holds only the time it took. */
export function compactBy(run: Run, compaction: Compaction): Eventually<boolean> {
  const { trigger } = compaction
  run.emit({ type: 'compact_start', trigger })
  const step = run.step<CompactionResult>(compactionName(run, trigger), (scope) =>
    run.withGrace(() => compaction.run(scope), compactionOf),
  )
  return after(step, ({ value }) => enterCompaction(run, trigger, value))
}

function enterCompaction(run: Run, trigger: Compaction['trigger'], result: CompactionResult): boolean {
  if (result.kind === 'gave_up') {
    run.emit({ type: 'compact_end', trigger, compacted: false, message: result.message })
    return false
  }
  const { messages, preTokens, postTokens, billed } = result
  if (billed !== undefined) {
    const { model, usage } = billed
    const bounds = { model: currentModel(run), cap: 0, inputBound: () => 0, heldBack: () => undefined }
    const grant = { granted: true, model, nanos: 0, tokens: 0, maxTokens: 0, lowered: null } as const
    const charge = chargeFor(run, bounds, grant, usage)
    run.update(chargeOf(run.spent, charge, 'compaction'))
  }
  run.emit({ type: 'compact_end', trigger, compacted: true, message: `${preTokens} → ${postTokens} tokens` })
  run.append({ kind: 'compact_boundary', id: run.entryId('compact'), messages, trigger, preTokens, postTokens })
  run.update({ compactions: run.spent.compactions + 1, counted: noCount })
  return true
}

function compactionOf(settled: Settled<CompactionResult>): CompactionResult {
  if (settled.kind === 'value') return settled.value
  return { kind: 'gave_up', message: settled.kind === 'threw' ? messageOf(settled.error) : 'aborted' }
}
