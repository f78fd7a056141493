import { settleWithin, type Settled } from '../cancel/settle.ts'
import type { Compaction, CompactionResult } from '../context/port.ts'
import { estimateMessages } from '../context/tokens.ts'
import { messageOf } from '../errors.ts'
import type { Emit } from '../events.ts'
import type { Ports } from '../ports.ts'
import { at, entryId, withSpent, type RunState } from '../state.ts'
import { StopSignal } from '../stop/signal.ts'
import { chargeFor, chargeOf } from './charge.ts'
import { say } from './flow.ts'
import { keyOf } from './keys.ts'
import { draftOf, ends, type Outcome } from './outcome.ts'
import { currentModel } from './current-model.ts'

/** There is room for the request, or the run ends before it. */
export type Defended = { readonly kind: 'ready'; readonly state: RunState } | Outcome

/** Context: auto-compact, thrash, then the blocking limit. */
export function defendContext(state: RunState, ports: Ports, emit: Emit): Defended | Promise<Defended> {
  const model = currentModel(state, ports)
  const limit = ports.context.autoCompact ? Infinity : ports.context.blockingLimit(model)
  const estimatedTokens = estimateRequest(state, ports)
  const due = ports.context.beforeRequest({ state, model, estimatedTokens })
  if (due === 'thrash') {
    const message = 'Compacting the conversation again would not make room: what fills it came back at once.'
    const signal = new StopSignal({ reason: 'no_progress', message, context: { estimatedTokens }, source: 'context' })
    return ends(state, draftOf('compaction_thrash', signal))
  }
  if (due !== undefined) {
    return compactBy(due, state, ports, emit).then((compacted): Defended => ({ kind: 'ready', state: compacted.state }))
  }
  if (estimatedTokens < limit) return { kind: 'ready', state }
  const message = `Prompt is too long: about ${estimatedTokens} tokens, and ${limit} fit. Compact the conversation or start a new one.`
  const signal = new StopSignal({
    reason: 'token_limit',
    message,
    context: { used: estimatedTokens, limit },
    source: 'context',
  })
  return ends(state, draftOf('blocking_limit', signal, { say: { error: 'invalid_request', message } }))
}

/** Tokens that the next request is guessed to have. */
export function estimateRequest(state: RunState, ports: Ports): number {
  const { counted } = state.spent
  const messages = state.transcript.messages()
  if (counted.tokens > 0 && counted.length <= messages.length)
    return counted.tokens + estimateMessages(ports.tokens, messages, counted.length)
  return ports.tokens.estimate(ports.settings.system) + estimateMessages(ports.tokens, messages)
}

/** Runs a compaction as one step. `done` is false when it gave up. */
export async function compactBy(
  compaction: Compaction,
  state: RunState,
  ports: Ports,
  emit: Emit,
): Promise<{ readonly state: RunState; readonly done: boolean }> {
  const { trigger } = compaction
  emit({ type: 'compact_start', trigger })
  const key = keyOf(state, `compact:${state.spent.request}.${trigger}`)
  const step = await ports.steps.run<CompactionResult>(
    key,
    async (scope) => {
      return settleWithin(() => compaction.run(scope), ports.abort, ports.settings.graceMs, ports.timers, compactionOf)
    },
    { signal: ports.abort.signal, emit, onOpen: 'rerun', sync: 'none' },
  )
  const result = step.value
  const current = at(state, step)
  if (result.kind === 'gave_up') {
    emit({ type: 'compact_end', trigger, compacted: false, message: result.message })
    return { state: current, done: false }
  }
  const { messages, preTokens, postTokens, billed } = result
  const charge =
    billed === undefined
      ? undefined
      : chargeFor({ ...currentModel(current, ports), id: billed.model }, billed.usage, ports)
  const paid = charge === undefined ? current : withSpent(current, chargeOf(current.spent, charge, false))
  const boundary = {
    kind: 'compact_boundary',
    id: entryId(paid, 'compact'),
    messages,
    trigger,
    preTokens,
    postTokens,
  } as const
  emit({ type: 'compact_end', trigger, compacted: true, message: `${preTokens} → ${postTokens} tokens` })
  const said = say(paid, boundary, emit)
  return {
    state: withSpent(said, { compactions: said.spent.compactions + 1, counted: { tokens: 0, length: 0 } }),
    done: true,
  }
}

function compactionOf(settled: Settled<CompactionResult>): CompactionResult {
  if (settled.kind === 'value') return settled.value
  return { kind: 'gave_up', message: settled.kind === 'threw' ? messageOf(settled.error) : 'aborted' }
}
