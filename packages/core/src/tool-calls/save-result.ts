import type { AbortCause } from '../values/abort.ts'
import type { Settled } from '../values/settle.ts'
import { messageOf } from '../values/errors.ts'
import { after, type Eventually } from '../values/eventually.ts'
import { fieldsOf } from '../values/given.ts'
import { isJsonObject, jsonOf } from '../values/json.ts'
import type { ToolUseBlock } from '../model/messages.ts'
import type { EffectScope } from '../steps/steps.ts'
import { headOf } from '../values/text.ts'
import { largeResultLimit, type LargeResults } from '../tools/large-results.ts'
import { lostReasons, type ReadCall, type Whole } from '../tools/result-texts.ts'
import { shortened, textLengthOf, wholeTextOf, withWhole } from '../tools/shortened.ts'
import type { ToolResult } from '../tools/tool-result.ts'
import type { RecordPosition } from '../run/record-position.ts'
import { currentModel } from '../request/current-model.ts'
import { windowOf } from '../request/window.ts'
import type { Run } from '../run/run.ts'
import type { ToolPhase } from '../run/tool-phase.ts'

interface CallPlace {
  readonly call: ToolUseBlock
  /** Place in the message. */
  readonly index: number
}

/** The recorded outcome of keeping a result, and all that its shortened form depends on beside its text. */
type SaveRecord = {
  readonly limit: number
  readonly whole: Whole
  /** It was not kept because the run was aborted. */
  readonly aborted?: AbortCause
}

// Spec R-TOOL-18.
/**
 * Enters a result, as the hooks left it. One that is over the limit is handed to `largeResults`, in a step of its own, and
 * entered with its head, its tail and where the whole is. On record that step counts, whatever the limit is now; a call that is passed
 * without it was shown whole.
 */
export function enterResult(
  run: Run,
  phase: ToolPhase,
  { call, index }: CallPlace,
  result: ToolResult,
  position: RecordPosition,
): Eventually<undefined> {
  const name = `save:${run.spent.request}:${index}:${call.id}`
  const { largeResults } = run.context
  const limit = limitOf(run)
  const isOnRecord = run.ports.steps.peek(run.key(name)) === 'done'
  const isOver = limit !== undefined && (result.spooled !== undefined || textLengthOf(result.content) > limit)
  const isDue = isOver && position === 'open'
  if (!isOnRecord && !isDue) {
    phase.setResult(index, result)
    return undefined
  }
  // What is entered if the run breaks before the step is done.
  phase.setShortened(index, unsavedResult(run, result, lostReasons.failed), result)
  const step = run.step<SaveRecord>(name, (scope) =>
    largeResults === null || limit === undefined
      ? { limit: Number.MAX_SAFE_INTEGER, whole: { lostBecause: lostReasons.noStore } }
      : save(run, largeResults, { call, text: wholeTextOf(result.content), spooled: result.spooled, limit }, scope),
  )
  return after(step, ({ value }) => {
    phase.setShortened(index, shortenedResult(result, value.limit, value.whole), result)
    phase.noteAbort(value.aborted)
    return undefined
  })
}

/** A result for which no `save` may be asked any more: what is over the limit is lost. */
export function unsavedResult(run: Run, result: ToolResult, lostBecause: string): ToolResult {
  const limit = limitOf(run)
  return limit === undefined ? result : shortenedResult(result, limit, { lostBecause })
}

function limitOf(run: Run): number | undefined {
  const { largeResults } = run.context
  return largeResults === null ? undefined : (largeResults.limit ?? largeResultLimit(windowOf(run, currentModel(run))))
}

function shortenedResult(result: ToolResult, limit: number, whole: Whole): ToolResult {
  const { spooled, ...shown } = result
  if (spooled === undefined) {
    const content = shortened(result.content, limit, whole)
    return content === result.content ? result : { ...result, content }
  }
  if (textLengthOf(result.content) <= limit) return { ...shown, content: withWhole(result.content, whole) }
  return {
    ...shown,
    content: shortened(result.content, limit, 'savedAs' in whole ? { ...whole, isMore: true } : whole),
  }
}

interface Saved {
  readonly call: ToolUseBlock
  readonly text: string
  readonly spooled: string | undefined
  readonly limit: number
}

/** The effect of the step. After an abort nothing is asked to keep anything. */
function save(
  run: Run,
  largeResults: LargeResults,
  { call, text, spooled, limit }: Saved,
  { signal, idempotencyKey }: EffectScope,
): Eventually<SaveRecord> {
  const { abort } = run.ports
  const lost = (lostBecause: string): SaveRecord => ({ limit, whole: { lostBecause } })
  const cut = (aborted: AbortCause): SaveRecord => ({ ...lost(lostReasons.aborted), aborted })
  const cause = abort.causeNow()
  if (cause !== undefined) return cut(cause)
  const about = { callId: call.id, toolName: call.name, text, idempotencyKey }
  const result = spooled === undefined ? about : { ...about, spooled }
  return run.withGrace(
    () => largeResults.save(result, { signal }),
    (settled: Settled<unknown>) => {
      switch (settled.kind) {
        case 'left':
          return cut(settled.cause)
        case 'threw':
          return abort.cause === undefined ? lost(reasonOf(settled.error)) : cut(abort.cause)
        case 'value':
          return isName(settled.value)
            ? { limit, whole: { savedAs: settled.value, ...readCallOf(run, largeResults, settled.value) } }
            : lost(lostReasons.noName)
      }
    },
  )
}

const longestName = 4_096
const longestReason = 300

/** Plain JavaScript may give anything back. */
function isName(given: unknown): given is string {
  return typeof given === 'string' && given !== '' && given.length <= longestName
}

/** On record: a result is shown alike whatever the program says later. A tool that the model does not have is not named. */
function readCallOf({ context }: Run, largeResults: LargeResults, name: string): { readonly readCall?: ReadCall } {
  try {
    const { tool, input, lineField } = fieldsOf(largeResults.readCall?.(name)) ?? {}
    if (typeof tool !== 'string' || tool === '' || tool.length > longestName) return {}
    if (!context.toolDefinitions.some((definition) => definition.name === tool)) return {}
    const fields = jsonOf(input)
    if (!isJsonObject(fields) || JSON.stringify(fields).length > longestName) return {}
    return { readCall: { tool, input: fields, ...(typeof lineField === 'string' && { lineField }) } }
  } catch {
    return {}
  }
}

function reasonOf(error: unknown): string {
  const reason = messageOf(error)
    .replaceAll(/\s+/g, ' ')
    .replace(/[. ]+$/, '')
  return reason === '' ? lostReasons.unknown : headOf(reason, longestReason)
}
