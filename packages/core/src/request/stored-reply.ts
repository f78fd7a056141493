import { isJsonObject, jsonOf, putJson } from '../values/json.ts'
import { noUsage, type AssistantMessage } from '../model/messages.ts'
import { checkReportedUsage, type ReportedUsage } from '../model/reported-usage.ts'
import { headOf } from '../values/text.ts'
import type { FrozenBlocks } from './frozen-blocks.ts'

/** The run's own copy of a reply. */
export interface StoredReply {
  /** A JSON copy: changes of the adapter to its own object have no effect. */
  readonly message: AssistantMessage
  /** The usage reported by the service. The message has zeros if it cannot be counted. */
  readonly reportedUsage: ReportedUsage
  /** The error that broke the stream; undefined if none did. */
  readonly streamError: unknown
  readonly isBillingUnknown: boolean
  /** Whether a usage of zero is valid, rather than missing. */
  readonly mayBeFree: boolean
  /** Warnings of the reply, as in `ModelReply`; undefined if there are none. */
  readonly warnings: readonly string[] | undefined
}

/** Copies the reply of a model adapter for the model `by`; undefined if it is not a valid reply. */
export function storeReply(value: unknown, blocks: FrozenBlocks, by: string): StoredReply | undefined {
  try {
    if (typeof value !== 'object' || value === null || !('message' in value)) return undefined
    // JavaScript code may return any fields, or none.
    const { message, streamError, billed, warnings } = value as { readonly [field: string]: unknown }
    const copy = copyMessage(message, blocks, by)
    return (
      copy && {
        ...copy,
        streamError: streamError ?? undefined,
        isBillingUnknown: billed === 'unknown',
        mayBeFree: billed === 'nothing',
        warnings: warningsIn(warnings),
      }
    )
  } catch {
    // The reply is unreadable.
    return undefined
  }
}

/** Maximum number of warnings of one reply, and maximum length of one. */
const maxWarnings = 20
const longestWarning = 1_000

function warningsIn(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined
  const warnings = value.filter((warning) => typeof warning === 'string' && warning !== '')
  if (warnings.length === 0) return undefined
  return warnings.slice(0, maxWarnings).map((warning: string) => headOf(warning, longestWarning))
}

/** Fields that are checked individually; all others are copied. */
const checkedFields: ReadonlySet<string> = new Set(['role', 'id', 'model', 'content', 'stop_reason', 'usage', 'by'])

function copyMessage(
  value: unknown,
  blocks: FrozenBlocks,
  by: string,
): Pick<StoredReply, 'message' | 'reportedUsage'> | undefined {
  const source = typeof value === 'object' && value !== null && 'toJSON' in value ? jsonOf(value) : value
  if (typeof source !== 'object' || source === null) return undefined
  const { id, model, content, stop_reason: stopReason, usage } = source as { readonly [field: string]: unknown }
  if (!Array.isArray(content) || typeof usage !== 'object' || usage === null) return undefined
  const blocksCopy = blocks.messageBlocks(content)
  const ownUsage = jsonOf(usage)
  if (blocksCopy === undefined || !isJsonObject(ownUsage)) return undefined
  const reportedUsage = checkReportedUsage(ownUsage)
  const message: AssistantMessage = {
    role: 'assistant',
    id: textOr(id, ''),
    model: textOr(model, ''),
    content: blocksCopy,
    stop_reason: textOr(stopReason, null),
    usage: reportedUsage.isUsable ? reportedUsage.usage : noUsage,
    by,
  }
  for (const field of Object.keys(source)) if (!checkedFields.has(field)) putJson(message, source, field)
  return { message, reportedUsage }
}

function textOr<T>(value: unknown, otherwise: T): string | T {
  return typeof value === 'string' ? value : otherwise
}
