import { isJsonObject, jsonOf, putJson } from '../values/json.ts'
import { noUsage, type AssistantMessage } from '../model/messages.ts'
import { toldUsage, type ToldUsage } from '../model/told-usage.ts'
import { headOf } from '../values/text.ts'
import type { OwnBlocks } from './own-blocks.ts'

/** The run's own copy of a reply. */
export interface OwnReply {
  /** A JSON copy: changes of the adapter to its own object have no effect. */
  readonly message: AssistantMessage
  /** The usage reported by the service. The message has zeros if it cannot be counted. */
  readonly told: ToldUsage
  /** The error that broke the stream; undefined if none did. */
  readonly streamError: unknown
  readonly isBillingUnknown: boolean
  /** Whether a usage of zero is valid, rather than missing. */
  readonly mayBeFree: boolean
  /** From `ModelReply`; undefined for none. */
  readonly warnings: readonly string[] | undefined
}

/** Copies the reply of a model adapter for the model `by`; undefined if it is not a valid reply. */
export function ownReply(given: unknown, blocks: OwnBlocks, by: string): OwnReply | undefined {
  try {
    if (typeof given !== 'object' || given === null || !('message' in given)) return undefined
    // JavaScript code may return any fields, or none.
    const { message, streamError, billed, warnings } = given as { readonly [field: string]: unknown }
    const own = ownMessage(message, blocks, by)
    return (
      own && {
        ...own,
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
const mostWarnings = 20
const longestWarning = 1_000

function warningsIn(given: unknown): readonly string[] | undefined {
  if (!Array.isArray(given)) return undefined
  const warnings = given.filter((warning) => typeof warning === 'string' && warning !== '')
  if (warnings.length === 0) return undefined
  return warnings.slice(0, mostWarnings).map((warning: string) => headOf(warning, longestWarning))
}

/** Fields that are checked individually; all others are copied. */
const ownFields: ReadonlySet<string> = new Set(['role', 'id', 'model', 'content', 'stop_reason', 'usage', 'by'])

function ownMessage(given: unknown, blocks: OwnBlocks, by: string): Pick<OwnReply, 'message' | 'told'> | undefined {
  const source = typeof given === 'object' && given !== null && 'toJSON' in given ? jsonOf(given) : given
  if (typeof source !== 'object' || source === null) return undefined
  const { id, model, content, stop_reason: stopReason, usage } = source as { readonly [field: string]: unknown }
  if (!Array.isArray(content) || typeof usage !== 'object' || usage === null) return undefined
  const own = blocks.inMessage(content)
  const ownUsage = jsonOf(usage)
  if (own === undefined || !isJsonObject(ownUsage)) return undefined
  const told = toldUsage(ownUsage)
  const message: AssistantMessage = {
    role: 'assistant',
    id: textOr(id, ''),
    model: textOr(model, ''),
    content: own,
    stop_reason: textOr(stopReason, null),
    usage: told.isUsable ? told.usage : noUsage,
    by,
  }
  for (const field of Object.keys(source)) if (!ownFields.has(field)) putJson(message, source, field)
  return { message, told }
}

function textOr<T>(given: unknown, otherwise: T): string | T {
  return typeof given === 'string' ? given : otherwise
}
