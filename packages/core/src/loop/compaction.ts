import type { AbortCause } from '../values/abort.ts'
import {
  compactionRequests,
  type Compaction,
  type CompactionResult,
  type CompactionScope,
} from '../context/context-manager.ts'
import type { CompactionTrigger } from '../model/questions.ts'
import type { Settled } from '../values/settle.ts'
import { plainTextOf } from '../model/content.ts'
import { messageOf } from '../values/errors.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { jsonObjectOf, type Json } from '../values/json.ts'
import { textOf, type ModelMessage } from '../model/messages.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import { checkReplacement } from '../conversation/replaced-messages.ts'
import { noCount } from '../state/state.ts'
import { abortEnding, signalEnding } from '../run/pending-endings.ts'
import type { PendingEnding } from '../run/outcome.ts'
import type { Run } from '../run/run.ts'
import type { RecordPosition } from '../run/tool-phase.ts'
import { estimateRequest, tokenRatioOf } from '../request/estimate.ts'
import { billRecord, type Bill } from '../run/request-bill.ts'
import { restoreForAgent } from '../request/charge.ts'
import { enterBill, LiveBill, Questions } from '../request/questions.ts'
import { learnWindow } from '../request/window.ts'
import { addHookMessages, runHooks, type HookRun } from '../request/run-hooks.ts'

/** The recorded result of a compaction. Its model requests have their own records, which are not read once this result exists. */
type CompactionRecord = Bill & {
  readonly trigger: CompactionTrigger
  readonly result: CompactionResult
  /** Refusals that contain information about the size of a context window. */
  readonly refusals: readonly { readonly model: string; readonly error: ModelErrorJson }[]
  /** Set when the compaction, or one of its requests, was aborted. */
  readonly aborted?: AbortCause
  /** A hook freed enough space, so no compaction was needed. */
  readonly byHook?: true
}

/** The result for the run. A pending ending when the compaction was aborted: the run ends with it. */
export type Compacted = 'done' | 'gave_up' | PendingEnding

/** The point of a request at which a compaction runs. The steps of the compaction are named after it. */
export type CompactionPlace = 'auto' | 'collapse' | 'reactive' | 'manual'

/** The step name includes the trigger when it differs from the place. A resume can then identify the trigger before it reads the record. */
function compactionName({ spent }: Run, place: CompactionPlace, trigger: CompactionTrigger): string {
  const name = `compact:${spent.request}.${place}`
  return trigger === place ? name : `${name}.${trigger}`
}

const triggers: readonly CompactionTrigger[] = ['auto', 'collapse', 'reactive', 'manual']

// Spec R-RES-10.
/** A recorded, completed compaction for this place. It is reused, even if the context layers would decide differently now. */
export function recordedCompaction(run: Run, place: CompactionPlace): Compaction | undefined {
  if (!run.ports.isResumed) return undefined
  const trigger = triggers.find((each) => isOnRecord(run, compactionName(run, place, each)))
  return trigger === undefined ? undefined : { trigger, run: () => Promise.resolve(placeholderResult) }
}

const placeholderResult: CompactionResult = Object.freeze({ kind: 'gave_up', message: 'The record is missing.' })
const placeholderRecord: CompactionRecord = Object.freeze({
  trigger: 'auto',
  result: placeholderResult,
  charges: [],
  told: [],
  refusals: [],
})

function isOnRecord(run: Run, name: string): boolean {
  return run.ports.steps.peek(run.key(name)) === 'done'
}

const composite = Object.freeze({ onUnfinished: 'rerun', sync: 'none', composite: true } as const)

/** How a run calls a compaction. */
export interface CompactionCall {
  readonly place: CompactionPlace
  /** The position of its end in the record. */
  readonly position: RecordPosition
  /** A person's instructions for the summary. */
  readonly instructions?: string
  /** Plans the compaction again from the current conversation, in case a hook changed the conversation. */
  readonly replan: () => Compaction | undefined
}

/**
 * Runs a compaction between its hooks. Each of its model requests is a separate step, and its result is one more step. A
 * compaction that gave up changes only the cost of the run.
 */
export function compactBy(run: Run, compaction: Compaction, call: CompactionCall): MaybePromise<Compacted> {
  const { trigger } = compaction
  const name = compactionName(run, call.place, trigger)
  const { instructions = '' } = call
  run.emit({ type: 'compact_start', trigger, tokens: estimateRequest(run) })
  const isDone = isOnRecord(run, name)
  const subject = { compaction: { trigger, instructions }, place: call.place }
  // A replay that is not a resume finds every call recorded, and repeats it.
  const position = isDone && run.ports.isResumed ? 'passed' : 'open'
  return andThen(runHooks(run, 'beforeCompact', subject, position), (hooks) => {
    if (hooks.aborted !== undefined) return abortEnding(run, hooks.aborted, 'streaming')
    const recorded = isDone
      ? andThen(
          run.step<CompactionRecord>(name, () => placeholderRecord, composite),
          ({ value }) => {
            restoreForAgent(run, value.charges)
            enterBill(run, value)
            return value
          },
        )
      : andThen(runOrSkip(run, name, compaction, call, hooks), (record) =>
          andThen(
            run.step<CompactionRecord>(name, () => record, composite),
            ({ value }) => value,
          ),
        )
    return andThen(recorded, (record) => enterCompaction(run, record, call))
  })
}

/** Plans the compaction again if a hook replaced the conversation. The old plan would restore what the hook removed. */
function compactionAfterHooks(
  outcomes: HookRun['outcomes'],
  planned: Compaction,
  { replan }: CompactionCall,
): Compaction | undefined {
  if (outcomes.every(({ outcome }) => outcome.replaced === undefined)) return planned
  const { trigger } = planned
  const compaction = replan()
  return compaction === undefined ? undefined : { trigger, run: (scope) => compaction.run(scope) }
}

function runOrSkip(
  run: Run,
  name: string,
  planned: Compaction,
  call: CompactionCall,
  { outcomes, messages, raised }: HookRun,
): MaybePromise<CompactionRecord> {
  const { trigger } = planned
  const gaveUp = (message: string): CompactionRecord => ({
    ...placeholderRecord,
    trigger,
    result: { kind: 'gave_up', message },
  })
  // The run ends with this signal, so a summary would be wasted.
  if (raised.length > 0) return gaveUp('A hook stopped the run.')
  const blocked = skippableTriggers.has(trigger)
    ? outcomes.find(({ outcome }) => outcome.blocked !== undefined)?.outcome.blocked
    : undefined
  if (blocked !== undefined) return gaveUp(`A hook skipped it: ${blocked}`)
  const compaction = compactionAfterHooks(outcomes, planned, call)
  if (compaction === undefined)
    return { ...gaveUp('A hook replaced the conversation, and it is short enough now.'), byHook: true }
  const { instructions = '' } = call
  const instructionTexts = [instructions, ...messages.map(({ content }) => textOf(content))].filter(
    (text) => text.trim() !== '',
  )
  return runCompaction(run, name, compaction, instructionTexts.join('\n\n'))
}

/** The compactions that a hook may skip. One that is needed to fit the request cannot be skipped. */
const skippableTriggers: ReadonlySet<CompactionTrigger> = new Set<CompactionTrigger>(['auto', 'manual'])

function enterCompaction(
  run: Run,
  record: CompactionRecord,
  { place, position }: CompactionCall,
): MaybePromise<Compacted> {
  const { trigger, result, aborted, refusals, byHook } = record
  const isDone = result.kind === 'compacted'
  const message = isDone ? `${result.preTokens} → ${result.postTokens} tokens` : result.message
  run.emit({ type: 'compact_end', trigger, compacted: isDone, message })
  for (const { model, error } of refusals) learnWindow(run, model, error)
  if (isDone) {
    const { messages, preTokens, postTokens, personsWords } = result
    const id = run.entryId('compact')
    // The token count is no longer valid, since its messages have been replaced. The provider's token ratio is still valid.
    const tokenRatio = tokenRatioOf(run)
    const boundary = { kind: 'compact_boundary', id, messages, trigger, preTokens, postTokens } as const
    run.append(personsWords === undefined ? boundary : { ...boundary, personsWords })
    run.update({ compactions: run.spent.compactions + 1, counted: noCount, tokenRatio })
  }
  if (aborted !== undefined) return abortEnding(run, aborted, 'streaming')
  if (!isDone) return raisedSignalEnding(run) ?? (byHook === true ? 'done' : 'gave_up')
  const subject = { compaction: { trigger, instructions: '', summary: result.summary ?? '' }, place }
  return andThen(runHooks(run, 'afterCompact', subject, position), (hooks) => {
    addHookMessages(run, hooks.messages)
    if (hooks.aborted !== undefined) return abortEnding(run, hooks.aborted, 'streaming')
    return raisedSignalEnding(run) ?? 'done'
  })
}

/** A signal from a hook ends the run here. The next iteration would treat it as overridden. */
function raisedSignalEnding(run: Run): PendingEnding | undefined {
  return run.signals.hasAny() ? signalEnding(run, []) : undefined
}

/** Runs a compaction, with its model requests (`Questions`). */
async function runCompaction(
  run: Run,
  name: string,
  compaction: Compaction,
  instructions: string,
): Promise<CompactionRecord> {
  const { signal } = run.ports.abort
  const questions = new Questions({
    run,
    name,
    limit: compactionRequests,
    callerName: 'A compaction',
    bill: new LiveBill(run),
    isConcurrent: false,
  })
  const ask: CompactionScope['ask'] = (request) => questions.ask(request)
  let abandonedBy: AbortCause | undefined
  const working = run.withGrace(
    () => compaction.run({ signal, ask, instructions }),
    (settled) => {
      if (settled.kind === 'left') abandonedBy = settled.cause
      return resultOfSettled(run, settled)
    },
  )
  const result = await questions.until(Promise.resolve(working))
  const { refusals, aborted = abandonedBy, bill } = questions
  const record = { trigger: compaction.trigger, result, ...billRecord(bill), refusals }
  return aborted === undefined ? record : { ...record, aborted }
}

function resultOfSettled(run: Run, settled: Settled<CompactionResult>): CompactionResult {
  if (settled.kind === 'value') return validResult(run, settled.value)
  return { kind: 'gave_up', message: settled.kind === 'threw' ? messageOf(settled.error) : 'aborted' }
}

/** Validates the result of a compaction. A conversation that the service refuses would end every later run of the session. */
function validResult({ transcript }: Run, value: unknown): CompactionResult {
  const result = jsonObjectOf(value)
  const { kind, message, messages, preTokens, postTokens, summary, personsWords } = result
  if (kind === 'gave_up') return { kind, message: plainTextOf(message) }
  if (kind !== 'compacted' || !Array.isArray(messages)) return invalidResult
  try {
    // `checkReplacement` validates the shape of its argument.
    const restored = withOriginalMessages(transcript.messages(), value, messages)
    checkReplacement(transcript, restored)
    return {
      kind,
      messages: restored,
      preTokens: countOf(preTokens),
      postTokens: countOf(postTokens),
      ...(typeof summary === 'string' && { summary }),
      ...(personsWords === 'carried' && { personsWords }),
    }
  } catch (error) {
    return { kind: 'gave_up', message: messageOf(error) }
  }
}

// Spec R-JOUR-2.
/**
 * Replaces copies of unchanged messages by the original messages of the conversation. A log recognizes the originals by
 * identity and does not store them twice.
 */
function withOriginalMessages(
  conversation: readonly ModelMessage[],
  value: unknown,
  copies: readonly ModelMessage[],
): readonly ModelMessage[] {
  const originals = new Map<unknown, ModelMessage>(conversation.map((message) => [message, message]))
  const { messages } = value as { readonly messages: readonly unknown[] }
  return copies.map((copy, index) => originals.get(messages[index]) ?? copy)
}

function countOf(tokens: Json | undefined): number {
  return typeof tokens === 'number' && tokens >= 0 ? tokens : 0
}

const invalidResult: CompactionResult = Object.freeze({
  kind: 'gave_up',
  message: 'The compaction returned an invalid result.',
})
