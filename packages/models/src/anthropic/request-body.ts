import type { JsonObject, ModelMessage, ModelRequest, Sampling, Thinking, WebSearchUse } from '@halting/core'
import { wellFormedJson } from '@halting/core/adapters'
import type { ToolDefinition } from '@halting/core/adapters'
import { createBodies } from '../bytes/bodies.ts'
import { UnsupportedSettings } from '../service/unsupported-settings.ts'
import { isForeign, renderMessage, userTurn } from './message-bytes.ts'
import { liveContainerOf, withoutLostPrograms } from './programs.ts'
import { isCodeTool, isDeferred, toolFieldsOf } from './tool-options.ts'
import type { ToolOptionsByName } from './tool-options.ts'

/** What the body of a request to the Messages API depends on beside the request. */
export interface RequestBodyOptions {
  /** The id that the service knows the model by. */
  readonly model: string
  /** The id of the `Model`: what is signed in a message `by` another is not shown to this one. */
  readonly id: string
  /** Whether the service is asked to keep the prompt for the next request; true when absent. */
  readonly caching?: boolean | undefined
  /** How long it keeps it; `5m` when absent. An hour costs more to write. */
  readonly cacheTtl?: '5m' | '1h' | undefined
  /** What a request does not say otherwise. */
  readonly thinking?: Thinking | undefined
  /** How hard the model works on an answer. Default: that of the service. */
  readonly effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined
  /** Tokens that the model is told it has for the whole task. It paces itself by them; nothing is ended by them. */
  readonly taskBudget?: number | undefined
  /** The service's own tools, as it wants them listed: `{ type: 'web_search_20250305', name: 'web_search' }`. */
  readonly serverTools?: readonly JsonObject[] | undefined
  /** What the service is told about tools beside their definitions, by their names: who may call them, and which are found by search. */
  readonly toolOptions?: ToolOptionsByName | undefined
  /** What the service does to the conversation by itself, as it wants it told: `{ edits: [{ type: 'compact_20260112' }] }`. */
  readonly contextManagement?: JsonObject | undefined
}

// Spec R-PTC-4.
/**
 * Makes the bodies of one model's requests, each as one buffer. It is lent: see `Bodies`.
 *
 * Cache breakpoints stand after the tools, after the system prompt and after the two newest user turns: the newest
 * writes what the next request will read, the one before it reads what the last request wrote. Four is the most.
 * What changes between requests of a run stands behind the messages, so that those need not move. Where results are for code that runs at
 * the service, what stands beside them waits for its end.
 * @throws ConfigurationError for options of tools that no service takes.
 */
export function createRequestBody(
  options: RequestBodyOptions,
  unsupported: UnsupportedSettings = new UnsupportedSettings(options.model),
): (request: ModelRequest) => Uint8Array {
  const { id, serverTools = [], contextManagement } = options
  const managed =
    contextManagement === undefined ? '' : `,"context_management":${JSON.stringify(wellFormedJson(contextManagement))}`
  const fields = breakpointFields(options)
  const outputConfig = outputConfigField(options)
  const runsCode = serverTools.some(({ type }) => isCodeTool(type))
  const toolFields = toolFieldsOf(options.toolOptions, serverTools)
  const headOf = createHeads(options.model, createToolsField(serverTools, toolFields, fields), fields)
  const bodies = createBodies({
    render: (message) => renderMessage(message, id),
    breakpoints: { turns: fields === '' ? 0 : 2, fields },
    deferredKind: userTurn,
  })
  return (request) => {
    const { system, tools, maxOutputTokens, webSearch } = request
    const messages = runsCode ? withoutLostPrograms(request.messages, id, mayCall(request)) : request.messages
    let tail = `],"max_tokens":${maxOutputTokens},"stream":true`
    const thinking = thinkingField(request.thinking ?? options.thinking, maxOutputTokens)
    if (tools.length + serverTools.length > 0) tail += toolChoiceField(request, thinking !== '', unsupported)
    tail += thinking
    if (request.sampling !== undefined) tail += samplingFields(request.sampling, thinking !== '', unsupported)
    tail += outputConfig
    tail += managed
    const container = serverTools.length === 0 ? undefined : containerOf(messages, id)
    if (container !== undefined) tail += `,"container":${JSON.stringify(container)}`
    return bodies(headOf(system, tools, webSearch), messages, `${tail}}`)
  }
}

/** Whether code that runs at the service may go on to call tools. */
function mayCall({ tools, toolChoice }: ModelRequest): boolean {
  return tools.length > 0 && toolChoice !== 'none'
}

function breakpointFields({ caching = true, cacheTtl = '5m' }: RequestBodyOptions): string {
  if (!caching) return ''
  return `,"cache_control":{"type":"ephemeral"${cacheTtl === '1h' ? ',"ttl":"1h"' : ''}}`
}

type Heads = (system: string, tools: readonly ToolDefinition[], webSearch: WebSearchUse | undefined) => string

/** The list of tools and the system prompt seldom change within a run: their text is made once for as long as they do not. */
function createHeads(model: string, toolsField: ToolsField, fields: string): Heads {
  const known = new WeakMap<readonly ToolDefinition[], { readonly tools: string; system: string; head: string }>()
  const start = `{"model":${JSON.stringify(model)}`
  const headOf = (tools: string, system: string): string =>
    `${start}${tools}${systemField(system, fields)},"messages":[`
  return (system, tools, webSearch) => {
    if (webSearch !== undefined) return headOf(toolsField(tools, webSearch), system)
    const before = known.get(tools)
    if (before?.system === system) return before.head
    const text = before?.tools ?? toolsField(tools)
    const head = headOf(text, system)
    known.set(tools, { tools: text, system, head })
    return head
  }
}

type ToolsField = (tools: readonly ToolDefinition[], webSearch?: WebSearchUse) => string

const webSearchName = 'web_search'

/**
 * The first version of the service's web search. Later ones filter results by code that the service runs: how often it does
 * is bounded by nothing, so no budget could be reserved for it.
 */
function webSearchTool({ maxUses, allowedDomains, blockedDomains }: WebSearchUse): JsonObject {
  return {
    type: 'web_search_20250305',
    name: webSearchName,
    max_uses: maxUses,
    ...(allowedDomains !== undefined && { allowed_domains: allowedDomains }),
    ...(blockedDomains !== undefined && { blocked_domains: blockedDomains }),
  }
}

/** The breakpoint stands at the last tool that takes one: the service refuses it where the model has yet to find the tool. */
function createToolsField(
  serverTools: readonly JsonObject[],
  toolFields: ReadonlyMap<string, JsonObject>,
  fields: string,
): ToolsField {
  const served = serverTools.map(({ cache_control: _, ...tool }) => wellFormedJson(tool))
  const withoutSearch = served.filter(({ name }) => name !== webSearchName)
  return (tools, webSearch) => {
    const own = tools.map(({ name, description, input_schema }): JsonObject => ({
      name,
      description,
      input_schema,
      ...toolFields.get(name),
    }))
    const all = webSearch === undefined ? [...own, ...served] : [...own, ...withoutSearch, webSearchTool(webSearch)]
    const marked = all.findLastIndex((tool) => !isDeferred(tool))
    const texts = all.map((tool, index) => withFields(JSON.stringify(tool), index === marked ? fields : ''))
    return texts.length === 0 ? '' : `,"tools":[${texts.join(',')}]`
  }
}

function systemField(system: string, fields: string): string {
  if (system.trim() === '') return ''
  return `,"system":[${withFields(JSON.stringify({ type: 'text', text: system }), fields)}]`
}

function withFields(block: string, fields: string): string {
  return `${block.slice(0, -1)}${fields}}`
}

function outputConfigField({ effort, taskBudget }: RequestBodyOptions): string {
  const config = {
    ...(effort !== undefined && { effort }),
    ...(taskBudget !== undefined && { task_budget: { type: 'tokens', total: taskBudget } }),
  }
  return Object.keys(config).length === 0 ? '' : `,"output_config":${JSON.stringify(config)}`
}

/** The least that the API takes for thinking, and the least that is left for the answer. */
const leastThinkingTokens = 1_024
const leastAnswerTokens = 1_024

function thinkingField(thinking: Thinking | undefined, maxTokens: number): string {
  if (thinking === undefined || thinking.type === 'disabled') return ''
  if (thinking.type === 'adaptive') return ',"thinking":{"type":"adaptive"}'
  const budget = Math.min(thinking.budgetTokens, maxTokens - leastAnswerTokens)
  return budget < leastThinkingTokens ? '' : `,"thinking":{"type":"enabled","budget_tokens":${budget}}`
}

/** While the model thinks, the API takes no choice of tools that requires a call. */
function toolChoiceField(
  { toolChoice, tools }: ModelRequest,
  isThinking: boolean,
  unsupported: UnsupportedSettings,
): string {
  if (toolChoice === 'none') return ',"tool_choice":{"type":"none"}'
  if (toolChoice === undefined || toolChoice === 'auto' || tools.length === 0) return ''
  if (isThinking) {
    unsupported.note(['toolChoice'], whileThinking)
    return ''
  }
  const choice = toolChoice === 'required' ? { type: 'any' } : { type: 'tool', name: toolChoice.tool }
  return `,"tool_choice":${JSON.stringify(choice)}`
}

const whileThinking = ' while it thinks'

/** While the model thinks, the API takes no temperature, and only a high `top_p`. It has no seed. */
function samplingFields(
  { temperature, topP, stopSequences, seed }: Sampling,
  isThinking: boolean,
  unsupported: UnsupportedSettings,
): string {
  const hasTemperature = temperature !== undefined && !isThinking
  const hasTopP = topP !== undefined && (!isThinking || topP >= leastTopPOfThinking)
  if (temperature !== undefined && !hasTemperature) unsupported.note(['temperature'], whileThinking)
  if (topP !== undefined && !hasTopP) unsupported.note([`topP below ${leastTopPOfThinking}`], whileThinking)
  if (seed !== undefined) unsupported.note(['seed'])
  const fields = [
    hasTemperature ? `,"temperature":${temperature}` : '',
    hasTopP ? `,"top_p":${topP}` : '',
    stopSequences === undefined ? '' : `,"stop_sequences":${JSON.stringify(stopSequences)}`,
  ]
  return fields.join('')
}

const leastTopPOfThinking = 0.95

/** Where the service's own tools last ran code for this model: files of theirs are found there again. */
export function containerOf(messages: readonly ModelMessage[], id: string): string | undefined {
  const last = messages.findLast(
    (message) =>
      message.role === 'assistant' &&
      typeof message.container?.id === 'string' &&
      message.container.id !== '' &&
      !isForeign(message, id),
  )
  return last === undefined ? undefined : liveContainerOf(last, id)
}
