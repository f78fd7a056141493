import type { JsonObject, ModelRequest } from '@halting/core'
import type { CallOptions, FunctionTool, PromptMessage, ProviderOptions } from './language-model.ts'
import { promptOf } from './prompt.ts'
import type { Speaker } from './prompt.ts'
import { headerSafe } from '../service/headers.ts'

export interface CallSettings extends Speaker {
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly providerOptions: Readonly<Record<string, JsonObject>> | undefined
}

/** A request as version 4 of the AI SDK's interface takes it; `inVersion3` is the other form. */
export function callOptionsOf(request: ModelRequest, settings: CallSettings): CallOptions {
  const { provider, headers, providerOptions } = settings
  const caches = provider.includes('anthropic')
  const prompt = promptOf(request, settings)
  const tools = request.tools.map(({ name, description, input_schema: inputSchema }): FunctionTool => ({
    type: 'function',
    name,
    description,
    inputSchema,
  }))
  return {
    prompt: caches ? withBreakpoints(prompt) : prompt,
    maxOutputTokens: request.maxOutputTokens,
    ...(tools.length > 0 && {
      tools: caches ? tools.map((tool, index) => (index === tools.length - 1 ? marked(tool) : tool)) : tools,
      toolChoice: { type: request.toolChoice ?? 'auto' },
    }),
    headers: { 'idempotency-key': headerSafe(request.idempotencyKey), ...lowerCased(headers) },
    // The AI SDK's types are writable; no provider writes.
    ...(providerOptions !== undefined && { providerOptions: providerOptions as ProviderOptions }),
  }
}

const breakpoint: ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/**
 * Anthropic's models read from the cache what a breakpoint was set after: they stand where our own adapter sets them,
 * after the tools, the system prompt and the two newest user turns.
 */
function withBreakpoints(prompt: PromptMessage[]): PromptMessage[] {
  const turnEnds = prompt.flatMap(({ role }, index) => {
    const isAsked = role === 'user' || role === 'tool'
    const next = prompt[index + 1]?.role
    return isAsked && next !== 'user' && next !== 'tool' ? [index] : []
  })
  const marks = new Set(turnEnds.slice(-2))
  return prompt.map((message, index) => (message.role === 'system' || marks.has(index) ? marked(message) : message))
}

function marked<T extends object>(carrier: T): T & { readonly providerOptions: ProviderOptions } {
  return { ...carrier, providerOptions: breakpoint }
}

function lowerCased(headers: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
