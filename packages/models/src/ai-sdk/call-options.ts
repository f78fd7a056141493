import type {
  LanguageModelV3CallOptions,
  LanguageModelV3FunctionTool,
  LanguageModelV3Prompt,
  SharedV3ProviderOptions,
} from '@ai-sdk/provider'
import type { ModelRequest } from '@halting/core'
import { promptOf } from './prompt.ts'
import type { Speaker } from './prompt.ts'
import { headerSafe } from '../service/headers.ts'

export interface CallSettings extends Speaker {
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly providerOptions: SharedV3ProviderOptions | undefined
}

/** A request as the AI SDK takes it. */
export function callOptionsOf(request: ModelRequest, settings: CallSettings): LanguageModelV3CallOptions {
  const { provider, headers, providerOptions } = settings
  const caches = provider.includes('anthropic')
  const prompt = promptOf(request, settings)
  const tools = request.tools.map(({ name, description, input_schema: inputSchema }): LanguageModelV3FunctionTool => ({
    type: 'function',
    name,
    description,
    inputSchema,
  }))
  return {
    prompt: caches ? withBreakpoints(prompt) : prompt,
    maxOutputTokens: request.maxTokens,
    ...(tools.length > 0 && {
      tools: caches ? tools.map((tool, index) => (index === tools.length - 1 ? marked(tool) : tool)) : tools,
      toolChoice: { type: request.toolChoice ?? 'auto' },
    }),
    headers: { 'idempotency-key': headerSafe(request.idempotencyKey), ...lowerCased(headers) },
    ...(providerOptions !== undefined && { providerOptions }),
  }
}

const breakpoint: SharedV3ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/**
 * Anthropic's models read from the cache what a breakpoint was set after: they stand where our own adapter sets them,
 * after the tools, the system prompt and the two newest user turns.
 */
function withBreakpoints(prompt: LanguageModelV3Prompt): LanguageModelV3Prompt {
  const turnEnds = prompt.flatMap(({ role }, index) => {
    const isAsked = role === 'user' || role === 'tool'
    const next = prompt[index + 1]?.role
    return isAsked && next !== 'user' && next !== 'tool' ? [index] : []
  })
  const marks = new Set(turnEnds.slice(-2))
  return prompt.map((message, index) => (message.role === 'system' || marks.has(index) ? marked(message) : message))
}

function marked<T extends object>(carrier: T): T & { readonly providerOptions: SharedV3ProviderOptions } {
  return { ...carrier, providerOptions: breakpoint }
}

function lowerCased(headers: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
