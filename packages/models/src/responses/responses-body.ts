import type {
  Json,
  JsonObject,
  ModelMessage,
  ModelRequest,
  Sampling,
  Thinking,
  ToolChoice,
  WebSearchUse,
} from '@halting/core'
import { isJsonObject, isToolResult, isToolUse, wellFormedJson } from '@halting/core/adapters'
import type { ToolDefinition, ToolResultBlock } from '@halting/core/adapters'
import { createBodies } from '../bytes/bodies.ts'
import type { TurnKind } from '../bytes/wire-format.ts'
import { listOf, stringOf } from '../json-fields.ts'
import type { UnsupportedSettings } from '../service/unsupported-settings.ts'
import { reasoningSupport, supportsSampling, supportedEffortValue } from './reasoning-effort.ts'
import type { ReasoningEffort } from './reasoning-effort.ts'
import type { ReadableReasoning } from './readable-reasoning.ts'
import { isFreeformCall, itemsOf } from './responses-items.ts'
import type { FreeformTools } from './responses-items.ts'

/** Options of request bodies for the Responses API. */
export interface ResponsesBodyOptions {
  /** Model id at the service. */
  readonly model: string
  /** Id of the `Model`. */
  readonly id: string
  readonly freeform: FreeformTools
  /** Tools that the service runs, in the service's format. */
  readonly serverTools: readonly JsonObject[]
  /** Default for requests without `thinking`. */
  readonly thinking: Thinking | undefined
  /** Undefined for the service's default. */
  readonly effort: ReasoningEffort | undefined
  /** Summary of the reasoning to request (default: `auto` for OpenAI's reasoning models). */
  readonly summary: 'auto' | 'concise' | 'detailed' | 'none' | undefined
  /** Additional fields of every request; built-in fields take precedence. */
  readonly extraBody: JsonObject
  /** Fields that the service rejects. */
  readonly refused: RefusedFields
  /** Reasoning of this process, which may still be sent if the service rejected recorded reasoning. */
  readonly readableReasoning: ReadableReasoning
  /** Receives settings that the model does not support. */
  readonly unsupported?: UnsupportedSettings | undefined
}

/** Optional fields that a service rejected. */
export interface RefusedFields {
  /** `store`. */
  readonly store: boolean
  /** `include`: without it, reasoning cannot be sent back, and search sources are not reported. */
  readonly include: boolean
  /**
   * How often reasoning was rejected, because of another key or organization. Reasoning that this process did not
   * create after the last rejection is omitted.
   */
  readonly carriedReasoning: number
  /** `reasoning.summary`. */
  readonly summary: boolean
  /** Values of `reasoning.effort`. */
  readonly efforts: ReadonlySet<string>
}

/** Each item is a separate JSON value. */
const single: TurnKind = { opening: '', closing: '', merges: false, takesBreakpoint: false }

// Spec R-RESP-1.
/**
 * Creates the request bodies of one adapter, each as one buffer; each message is serialized only once.
 *
 * Nothing is stored at the service: every request has the whole conversation, including encrypted reasoning.
 */
export function createResponsesBody(options: ResponsesBodyOptions): (request: ModelRequest) => Uint8Array {
  const { freeform, id, refused, readableReasoning } = options
  const freeformResults = createFreeformResults()
  const isReadable = (item: JsonObject): boolean => readableReasoning.has(item, refused.carriedReasoning)
  const isFreeformResult = (result: ToolResultBlock): boolean => freeformResults.has(result)
  const items = { id, freeform, isReadable, isFreeformResult }
  const bodies = createBodies({
    render: (message) => ({
      kind: single,
      first: '',
      rest: itemsOf(message, items)
        .map((item) => JSON.stringify(item))
        .join(','),
    }),
  })
  const headOf = createHeads(options)
  const tailOf = createTails(options)
  return (request) => {
    freeformResults.look(request.messages)
    return bodies(headOf(request), request.messages, `]${tailOf(request)}}`)
  }
}

/** Tracks the results of freeform tools, which the preceding calls identify. */
function createFreeformResults(): {
  look(messages: readonly ModelMessage[]): void
  has(result: ToolResultBlock): boolean
} {
  const known = new WeakSet<ToolResultBlock>()
  const idsIn = new WeakMap<object, ReadonlySet<string> | null>()
  const idsOf = (content: ModelMessage['content']): ReadonlySet<string> | null => {
    if (typeof content === 'string') return null
    const before = idsIn.get(content)
    if (before !== undefined) return before
    const ids = content
      .filter(isToolUse)
      .filter(isFreeformCall)
      .map((call) => call.id)
    const found = ids.length === 0 ? null : new Set(ids)
    idsIn.set(content, found)
    return found
  }
  return {
    look(messages) {
      let ids: ReadonlySet<string> | null = null
      for (const { role, content } of messages) {
        if (role === 'assistant') ids = idsOf(content)
        else if (ids !== null && typeof content !== 'string') {
          for (const block of content) if (isToolResult(block) && ids.has(block.tool_use_id)) known.add(block)
        }
      }
    },
    has: (result) => known.has(result),
  }
}

type HeadOf = (request: Pick<ModelRequest, 'system' | 'tools' | 'webSearch'>) => string

/** Caches the parts that rarely change within a run. */
function createHeads({ model, freeform, serverTools, refused }: ResponsesBodyOptions): HeadOf {
  const served = serverTools.map((tool) => ({ tool, text: JSON.stringify(wellFormedJson(tool)) }))
  const start = `{"model":${JSON.stringify(model)}${refused.store ? '' : ',"store":false'},"stream":true`
  const textOf: HeadOf = ({ system, tools, webSearch }) => {
    // The search of the request replaces a permanent one.
    const others = webSearch === undefined ? served : served.filter(({ tool }) => !isWebSearch(tool))
    const listed = [
      ...tools.map((tool) => JSON.stringify(toolOf(tool, freeform))),
      ...others.map(({ text }) => text),
      ...(webSearch === undefined ? [] : [JSON.stringify(searchTool(webSearch))]),
    ]
    const instructions = system.trim() === '' ? '' : `,"instructions":${JSON.stringify(system)}`
    const named = listed.length === 0 ? '' : `,"tools":[${listed.join(',')}]`
    return `${start}${instructions}${named},"input":[`
  }
  let known: (Parameters<HeadOf>[0] & { readonly text: string }) | undefined
  return ({ system, tools, webSearch }) => {
    if (known?.system !== system || known.tools !== tools || known.webSearch !== webSearch) {
      const search = webSearch === undefined ? {} : { webSearch }
      known = { system, tools, ...search, text: textOf({ system, tools, ...search }) }
    }
    return known.text
  }
}

function toolOf({ name, description, input_schema }: ToolDefinition, freeform: FreeformTools): JsonObject {
  const text = Object.hasOwn(freeform, name) ? freeform[name] : undefined
  if (text === undefined) {
    // Strict schemas are restricted: they do not allow optional fields and maps.
    return { type: 'function', name, description, parameters: input_schema, strict: false }
  }
  return {
    type: 'custom',
    name,
    description,
    ...(text.format !== undefined && { format: wellFormedJson(text.format) }),
  }
}

function isWebSearch({ type }: JsonObject): boolean {
  return stringOf(type).startsWith('web_search')
}

function searchTool({ allowedDomains, blockedDomains }: WebSearchUse): JsonObject {
  const filters = {
    ...(allowedDomains !== undefined && { allowed_domains: allowedDomains }),
    ...(blockedDomains !== undefined && { blocked_domains: blockedDomains }),
  }
  return { type: 'web_search', ...(Object.keys(filters).length > 0 && { filters }) }
}

/** Fields that `extraBody` cannot override. */
const reservedFields: ReadonlySet<string> = new Set(
  (
    'model input instructions tools tool_choice store stream include reasoning max_output_tokens max_tool_calls ' +
    // Fields that require a stored conversation.
    'previous_response_id conversation'
  ).split(' '),
)

function createTails(options: ResponsesBodyOptions): (request: ModelRequest) => string {
  const { serverTools, extraBody } = options
  const extraOf = (set: JsonObject): string =>
    Object.entries(extraBody)
      .filter(([name, value]) => !reservedFields.has(name) && !(name in set) && value !== undefined)
      .map(([name, value]) => field(name, value))
      .join('')
  const extra = extraOf({})
  return (request) => {
    const { tools, toolChoice, webSearch, maxOutputTokens, sampling } = request
    const reasoning = reasoningOf(options, request)
    const hasTools = tools.length + serverTools.length > 0 || webSearch !== undefined
    const fields = [
      hasTools ? field('tool_choice', toolChoiceOf(options, toolChoice)) : '',
      field('max_output_tokens', maxOutputTokens),
      field('max_tool_calls', maxToolCalls(options, webSearch)),
      field('include', includeOf(options, webSearch)),
      field('reasoning', reasoning),
    ]
    if (sampling === undefined) return fields.join('') + extra
    const set = samplingOf(options, sampling, isJsonObject(reasoning) ? reasoning.effort : undefined)
    return (
      fields.join('') +
      Object.entries(set)
        .map(([name, value]) => field(name, value))
        .join('') +
      extraOf(set)
    )
  }
}

function toolChoiceOf({ freeform }: ResponsesBodyOptions, choice: ToolChoice | undefined): Json | undefined {
  if (choice === undefined || choice === 'auto') return undefined
  if (typeof choice === 'string') return choice
  return { type: Object.hasOwn(freeform, choice.tool) ? 'custom' : 'function', name: choice.tool }
}

/** The API has no stop sequences and no seed; reasoning models accept no temperature. */
function samplingOf(
  { model, unsupported }: ResponsesBodyOptions,
  { temperature, topP, stopSequences, seed }: Sampling,
  effort: Json | undefined,
): JsonObject {
  const isFixed = !supportsSampling(model, effort)
  const missing = {
    ...(isFixed && temperature !== undefined && { temperature }),
    ...(isFixed && topP !== undefined && { topP }),
    ...(stopSequences !== undefined && { stopSequences }),
    ...(seed !== undefined && { seed }),
  }
  unsupported?.note(Object.keys(missing))
  return {
    ...(!isFixed && temperature !== undefined && { temperature }),
    ...(!isFixed && topP !== undefined && { top_p: topP }),
  }
}

function field(name: string, value: Json | undefined): string {
  return value === undefined ? '' : `,${JSON.stringify(name)}:${JSON.stringify(value)}`
}

/**
 * Returns the maximum number of server tool calls, which limits the fees of a request. Undefined if a tool has no
 * limit.
 */
function maxToolCalls(
  { serverTools, extraBody }: ResponsesBodyOptions,
  webSearch: WebSearchUse | undefined,
): number | undefined {
  if (serverTools.length === 0 && webSearch === undefined) return undefined
  const most = usesOf(serverTools, extraBody) + (webSearch?.maxUses ?? 0)
  return most === Infinity ? undefined : most
}

/** Returns how often the service may use these tools in one request; Infinity without a limit. */
export function usesOf(serverTools: readonly JsonObject[], { max_tool_calls: most }: JsonObject): number {
  if (serverTools.length === 0) return 0
  return typeof most === 'number' && Number.isInteger(most) && most >= 0 ? most : Infinity
}

function includeOf(
  { model, serverTools, extraBody, refused }: ResponsesBodyOptions,
  webSearch: WebSearchUse | undefined,
): Json | undefined {
  // Always include what the user requested.
  const requested = listOf(extraBody.include)
  if (refused.include) return requested.length === 0 ? undefined : requested
  const searches = webSearch !== undefined || serverTools.some(isWebSearch)
  const included = new Set<Json>([
    ...(reasoningSupport(model) === 'no' ? [] : ['reasoning.encrypted_content']),
    ...(searches ? ['web_search_call.action.sources'] : []),
    ...requested,
  ])
  return included.size === 0 ? undefined : [...included]
}

function reasoningOf(
  { model, effort, summary, extraBody, refused, thinking: usualThinking }: ResponsesBodyOptions,
  { thinking = usualThinking }: ModelRequest,
): Json | undefined {
  const { effort: given, summary: configured, ...more } = isJsonObject(extraBody.reasoning) ? extraBody.reasoning : {}
  const isOff = thinking?.type === 'disabled' && reasoningSupport(model) !== 'no'
  const supportedEffort = supportedEffortValue(isOff ? 'none' : (effort ?? given), refused.efforts)
  const usual = reasoningSupport(model) === 'yes' ? 'auto' : undefined
  const requested = summary === 'none' || refused.summary ? undefined : (summary ?? configured ?? usual)
  const fields = {
    ...more,
    ...(supportedEffort !== undefined && { effort: supportedEffort }),
    ...(requested !== undefined && { summary: requested }),
  }
  return Object.keys(fields).length === 0 ? undefined : fields
}
