import { nearestSupportedEffort } from '../responses/reasoning-effort.ts'
import type { ReasoningEffort } from '../responses/reasoning-effort.ts'
import type { RefusedFields } from '../responses/responses-body.ts'
import type { ServiceKnowledge } from './service-knowledge.ts'

/** The model and its request, for notices. */
export interface AskedModel {
  readonly model: string
  /** Address of the Responses API, without secrets. */
  readonly responsesUrl: string
  /** The requested effort, as the API receives it. */
  readonly effort: ReasoningEffort | undefined
  readonly mayReason: boolean
  /** A summary of the reasoning is requested. */
  readonly wantsSummary: boolean
}

type Field = Exclude<keyof RefusedFields, 'efforts'>

/**
 * Describes the effect of omitting a field; undefined if it has none for this model. A missing row does not compile.
 */
const wordsByField: Readonly<Record<Field, (asked: AskedModel) => string | undefined>> = {
  include: ({ model, mayReason }) =>
    mayReason
      ? `The service returns no encrypted reasoning of ${model}: its reasoning is not part of later requests.`
      : undefined,
  store: ({ model }) => `The service rejects the field "store": whether it stores requests to ${model} is not known.`,
  carriedReasoning: ({ model }) =>
    `The service cannot read earlier reasoning of ${model}, which may be that of another key or organization. ` +
    'Requests leave it out; new reasoning is preserved.',
  summary: ({ model, wantsSummary }) =>
    wantsSummary
      ? `The service returns no summaries of the reasoning of ${model}: its reasoning is not shown.`
      : undefined,
}

// The keys of this record are exactly those of its type.
const fields = Object.keys(wordsByField) as Field[]

// Spec R-RESP-14.
/**
 * Returns notices about what was learned since the last ones: omitted fields and changed requests. A renamed field
 * needs no notice.
 */
export function knowledgeNotices(
  reported: ServiceKnowledge,
  known: ServiceKnowledge,
  asked: AskedModel,
): readonly string[] {
  const { model, responsesUrl } = asked
  const [before, now] = [reported.refused, known.refused]
  const notices: string[] = []
  if (reported.api !== known.api) {
    notices.push(
      `${model} is not available through the Responses API at ${responsesUrl}. halting uses chat completions, ` +
        'which may not carry its reasoning from one request to the next. ' +
        'To skip this attempt, set openaiApi (or the option api) to chat_completions.',
    )
  }
  for (const field of fields) {
    const words = !before[field] && now[field] ? wordsByField[field](asked) : undefined
    if (words !== undefined) notices.push(words)
  }
  return [...notices, ...noticesOfEffort(before.efforts, now.efforts, asked)]
}

function noticesOfEffort(
  before: ReadonlySet<string>,
  now: ReadonlySet<string>,
  { model, effort }: AskedModel,
): readonly string[] {
  if (effort === undefined) return []
  const usedEffort = nearestSupportedEffort(effort, now)
  if (usedEffort === nearestSupportedEffort(effort, before)) return []
  const instead = usedEffort === undefined ? 'Its default effort is used' : `Effort ${usedEffort} is used`
  return [`${model} does not support effort ${effort}. ${instead} instead.`]
}
