import type { JsonObject, ModelMessage, ModelRequest, Sampling, Thinking, WebSearchUse } from '@halting/core'
import { wellFormedJson } from '@halting/core/adapters'
import type { ToolDefinition } from '@halting/core/adapters'
import { createBodies } from '../bytes/bodies.ts'
import { UnsupportedSettings } from '../service/unsupported-settings.ts'
import { isForeign, renderMessage, userTurn } from './message-bytes.ts'
import { liveContainerOf, withoutLostPrograms } from './programs.ts'
import { isCodeTool, isDeferred, toolFieldsOf } from './tool-options.ts'
import type { ToolOptionsByName } from './tool-options.ts'

/** Options of request bodies for the Messages API. */
export interface RequestBodyOptions {
  /** Model id at the service. */
  readonly model: string
  /** Id of the `Model`; signed content of messages `by` another model is omitted. */
  readonly id: string
  /** Whether to request prompt caching (default: true). */
  readonly caching?: boolean | undefined
  /** How long the service caches the prompt (default: `5m`). Writing for an hour costs more. */
  readonly cacheTtl?: '5m' | '1h' | undefined
  /** Default for requests without `thinking`. */
  readonly thinking?: Thinking | undefined
  /** Effort of the model (default: the service's). */
  readonly effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined
  /** Token budget announced to the model for the whole task. The model paces itself; nothing is enforced. */
  readonly taskBudget?: number | undefined
  /** Tools that the service runs, in the service's format: `{ type: 'web_search_20250305', name: 'web_search' }`. */
  readonly serverTools?: readonly JsonObject[] | undefined
  /** Additional options of tools by name: who may call them, and which are found by search. */
  readonly toolOptions?: ToolOptionsByName | undefined
  /** Context management by the service, in its format: `{ edits: [{ type: 'compact_20260112' }] }`. */
  readonly contextManagement?: JsonObject | undefined
}

// Spec R-PTC-4.
/**
 * Creates the request bodies of one model. Each body is one buffer, which is lent to the caller: see `Bodies`.
 *
 * Cache breakpoints follow the tools, the system prompt and the two newest user turns: the newest writes what the next
 * request reads, and the one before reads what the last request wrote. Four is the maximum. Parts that change between
 * requests follow the messages, so that those need not move. Content next to results for the service's code is deferred
 * until the code has ended.
 * @throws ConfigurationError for invalid tool options.
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

/** Whether the service's code may continue to call tools. */
function mayCall({ tools, toolChoice }: ModelRequest): boolean {
  return tools.length > 0 && toolChoice !== 'none'
}

function breakpointFields({ caching = true, cacheTtl = '5m' }: RequestBodyOptions): string {
  if (!caching) return ''
  return `,"cache_control":{"type":"ephemeral"${cacheTtl === '1h' ? ',"ttl":"1h"' : ''}}`
}

type Heads = (system: string, tools: readonly ToolDefinition[], webSearch: WebSearchUse | undefined) => string

/** Tools and system prompt rarely change within a run, so their text is cached. */
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
 * Returns the first version of the web search tool. Later versions filter results with code that the service runs
 * without a limit, so no budget could be reserved.
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

/**
 * Sets the breakpoint at the last tool that supports one: the service rejects it at tools that the model has yet to
 * find.
 */
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

/** Minimum thinking budget that the API accepts, and minimum number of tokens left for the answer. */
const leastThinkingTokens = 1_024
const leastAnswerTokens = 1_024

function thinkingField(thinking: Thinking | undefined, maxTokens: number): string {
  if (thinking === undefined || thinking.type === 'disabled') return ''
  if (thinking.type === 'adaptive') return ',"thinking":{"type":"adaptive"}'
  const budget = Math.min(thinking.budgetTokens, maxTokens - leastAnswerTokens)
  return budget < leastThinkingTokens ? '' : `,"thinking":{"type":"enabled","budget_tokens":${budget}}`
}

/** During thinking the API rejects a tool choice that requires a call. */
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

/** During thinking the API rejects a temperature and a low `top_p`. It has no seed. */
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

/**
 * Returns the container in which the service's tools last ran code for this model, so that their files are available
 * again.
 */
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
