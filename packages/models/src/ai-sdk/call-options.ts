import type { JsonObject, ModelMessage, ModelRequest, Sampling, ToolChoice } from '@halting/core'
import { containerOf } from '../anthropic/request-body.ts'
import type { CallOptions, FunctionTool, PromptMessage, ProviderOptions } from './language-model.ts'
import { promptOf } from './prompt.ts'
import type { TargetModel } from './prompt.ts'
import { traitsOf } from './provider-traits.ts'
import { thinkingOptions } from './thinking-options.ts'
import { searchOptions } from './web-search.ts'
import { headerSafe } from '../service/headers.ts'

export interface CallSettings extends TargetModel {
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly providerOptions: Readonly<Record<string, JsonObject>> | undefined
}

/** Builds a request for version 4 of the AI SDK's interface; `inVersion3` converts it to version 3. */
export function callOptionsOf(request: ModelRequest, given: CallSettings): CallOptions {
  const { tool: search, ...searching } = searchOptions(request.webSearch, given, given.providerOptions)
  const settings = { ...given, ...searching }
  const { cacheMark, marksTools } = traitsOf(settings)
  const { maxOutputTokens, providerOptions, reasoning } = thinkingOptions(
    request,
    settings,
    statelessOptions(withContainer(settings.providerOptions, request.messages, settings), settings),
  )
  const prompt = promptOf(request, settings)
  const tools = request.tools.map(({ name, description, input_schema: inputSchema }): FunctionTool => ({
    type: 'function',
    name,
    description,
    inputSchema,
  }))
  const served = search === undefined ? [] : [search]
  const toolMark = marksTools === true ? cacheMark : undefined
  return {
    prompt: cacheMark === undefined ? prompt : withBreakpoints(prompt, cacheMark),
    maxOutputTokens,
    ...(tools.length + served.length > 0 && {
      tools: [
        ...tools.map((tool, index) => (index === tools.length - 1 ? withProviderOptions(tool, toolMark) : tool)),
        ...served,
      ],
      toolChoice: toolChoiceOf(request.toolChoice),
    }),
    ...samplingOf(request.sampling),
    headers: { 'idempotency-key': headerSafe(request.idempotencyKey), ...lowerCased(settings.headers) },
    // The AI SDK's types are mutable, but no provider changes them.
    ...(providerOptions !== undefined && { providerOptions: providerOptions as ProviderOptions }),
    ...(reasoning !== undefined && { reasoning }),
  }
}

function toolChoiceOf(choice: ToolChoice = 'auto'): NonNullable<CallOptions['toolChoice']> {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.tool }
}

/** The provider itself warns about settings that the model does not support. */
function samplingOf({ stopSequences, ...others }: Sampling = {}): Partial<CallOptions> {
  // The AI SDK's types are mutable, but no provider changes them.
  return { ...others, ...(stopSequences !== undefined && { stopSequences: [...stopSequences] }) }
}

/**
 * Sets cache breakpoints for Anthropic's models, also on Bedrock. The breakpoints follow the system prompt and the two
 * newest user turns, as in our own adapter.
 */
function withBreakpoints(prompt: PromptMessage[], mark: ProviderOptions): PromptMessage[] {
  const turnEnds = prompt.flatMap(({ role }, index) => {
    const isAsked = role === 'user' || role === 'tool'
    const next = prompt[index + 1]?.role
    return isAsked && next !== 'user' && next !== 'tool' ? [index] : []
  })
  const marks = new Set(turnEnds.slice(-2))
  return prompt.map((message, index) =>
    message.role === 'system' || marks.has(index) ? withProviderOptions(message, mark) : message,
  )
}

function withProviderOptions<T extends object>(carrier: T, providerOptions: ProviderOptions | undefined): T {
  return providerOptions === undefined ? carrier : { ...carrier, providerOptions }
}

/**
 * Adds the container in which the service's tools last ran code for this model, so that their files are available
 * again. An explicit container takes precedence.
 */
function withContainer(
  options: CallSettings['providerOptions'],
  messages: readonly ModelMessage[],
  { provider, id }: CallSettings,
): CallSettings['providerOptions'] {
  if (!provider.includes('anthropic') || options?.anthropic?.container !== undefined) return options
  const container = containerOf(messages, id)
  return container === undefined
    ? options
    : { ...options, anthropic: { ...options?.anthropic, container: { id: container } } }
}

/**
 * Turns off storage at the service for the Responses API, as our own adapter does. The conversation carries the
 * reasoning, so a session can be resumed and forked at any time. Explicit options take precedence.
 */
function statelessOptions(
  options: CallSettings['providerOptions'],
  settings: CallSettings,
): CallSettings['providerOptions'] {
  const { storesBy = [] } = traitsOf(settings)
  const name = storesBy.find((one) => options?.[one] !== undefined) ?? storesBy[0]
  if (name === undefined) return options
  const ownOptions = options?.[name] ?? {}
  if (['store', 'conversation', 'previousResponseId'].some((field) => ownOptions[field] !== undefined)) return options
  return { ...options, [name]: { ...ownOptions, store: false } }
}

function lowerCased(headers: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
