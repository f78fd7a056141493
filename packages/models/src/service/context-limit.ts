import type { ModelErrorJson } from '@halting/core/adapters'
import { isJsonObject } from '@halting/core/adapters'
import type { Json } from '@halting/core'

/**
 * What a refusal says about the context window: the limit, and the size of the request. `limit` is the limit that the
 * service applies: usually the window, sometimes the input alone or a per-minute quota. `includesOutput` is true if the
 * output cap counts against it; then a lower cap helps as much as a shorter conversation.
 */
export type ContextLimit = NonNullable<ModelErrorJson['contextLimit']>

/**
 * How services report the limit. Placeholders are numbers: `used` for input, `output` for the reply, `total` for both.
 * Each is between fixed words, so matching takes linear time.
 */
const limitWordings = [
  // Anthropic, also on Bedrock and Vertex
  'prompt is too long: {used} tokens > {limit} maximum',
  'exceed context limit: {used} + {output} > {limit}',
  // OpenAI, Azure
  'exceed the configured limit of {limit} tokens',
  // OpenAI, Groq: the per-minute quota, which is the largest request that can ever succeed
  '(TPM): Limit {limit}, Requested {used}',
  // OpenAI, Azure, DeepSeek, vLLM, OpenRouter
  'maximum context length is {limit}',
  // vLLM
  "model's context length is only {limit} tokens",
  'prompt (length {used}) is longer than the maximum model length of {limit}',
  'prompt ({used} tokens) is too long and exceeds limit of {limit}',
  // SGLang, Together, LiteLLM
  "input ({used} tokens) is longer than the model's context length ({limit}",
  "input length ({used}) exceeds model's maximum context length ({limit})",
  "exceeds the model's maximum context length of {limit}",
  // Poolside
  'input length {used} exceeds the maximum allowed input length of {limit}',
  // Text Generation Inference, Together
  'tokens + `max_new_tokens` must be <= {limit}',
  '`inputs` must have less than {limit} tokens. Given: {used}',
  // Gemini, Vertex
  'input token count ({used}) exceeds the maximum number of tokens allowed ({limit})',
  'input token count exceeds the maximum number of tokens allowed ({limit})',
  'input token count exceeds the maximum number of tokens allowed {limit}',
  'input token count is {used} but model only supports up to {limit}',
  // Mistral
  'prompt contains {used} tokens and {output} draft tokens, too large for model with {limit} maximum context length',
  'prompt contains {used} tokens, too large for model with {limit} maximum context length',
  // xAI
  'maximum prompt length is {limit} but the request contains {used} tokens',
  // llama.cpp, its Python package, and LM Studio
  'request ({used} tokens) exceeds the available context size ({limit} tokens)',
  'requested tokens ({used}) exceed context window of {limit}',
  'n_keep: {used}>= n_ctx: {limit}',
  'loaded with context length of only {limit} tokens',
  // Moonshot
  'exceeded model token limit: {limit} (requested: {used})',
  'exceeded model token limit: {limit}',
  // Cerebras
  'current length is {used} while limit is {limit}',
  // GitHub Copilot
  'prompt token count of {used} exceeds the limit of {limit}',
  // Fireworks, Ollama's cloud
  'prompt is too long: {used}, model maximum context length: {limit}',
  // SiliconFlow
  'length of prompt_tokens ({used}) must be less than max_seq_len ({limit})',
  // Qwen
  'range of input length should be [1, {limit}]',
  // Cohere
  'tokens in the prompt exceeds the limit of {limit}',
] as const

/** How services report the request size when the limit is in another sentence. */
const countWordings = [
  // OpenAI, Azure
  'messages resulted in {used} tokens',
  // vLLM
  'your request has {used} input tokens',
  'your prompt contains {used} input tokens',
  'you passed {used} input tokens',
  // SGLang
  '{used} tokens from the input messages',
  // Text Generation Inference, Together
  'given: {used} `inputs` tokens',
  // LM Studio
  'keep the first {used} tokens',
  // OpenAI, DeepSeek, vLLM, OpenRouter
  'you requested {total} tokens',
  'you requested about {total} tokens',
] as const

const outputWordings = [
  '{output} in the completion',
  '{output} for the completion',
  '{output} in the output',
  // vLLM
  'is too large: {output}',
  'requested {output} output tokens',
  // SGLang
  '{output} tokens for the completion',
  // Text Generation Inference, Together
  'and {output} `max_new_tokens`',
] as const

const stopsCounting = /you passed \d+ input tokens/i

/** Messages in which the output cap counts although they do not repeat its value. */
const countsOutput = /tokens \+ `max_new_tokens`/i

/** How Ollama reports that a prompt is too long: only the excess. */
const excessWordings = ['exceeded max context length by {excess} tokens'] as const

/** Patterns are compiled when the first refusal is read: most runs receive no refusal. */
const patterns = new Map<string, RegExp>()

function patternOf(wording: string): RegExp {
  const pattern = patterns.get(wording) ?? makePattern(wording)
  patterns.set(wording, pattern)
  return pattern
}

function makePattern(wording: string): RegExp {
  const source = wording
    .split(/(\{\w+\})/)
    .map((part) => (part.startsWith('{') ? numberNamed(part.slice(1, -1)) : escaped(part)))
    .join('')
  return new RegExp(source, 'i')
}

/**
 * Matches a whole number, with optional thousands separators; not a part of a longer number or a name, such as "1.5" or
 * "128k".
 */
function numberNamed(name: string): string {
  return String.raw`(?<![\d.,])(?<${name}>\d{1,3}(?:[,._'\u00a0\u2009\u202f]\d{3}){1,4}|\d{1,15})(?!\w|[.,]\d)`
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`)
}

/** Parses the context limit in a message; undefined if it names no limit. */
function limitIn(message: string): ContextLimit | undefined {
  const found = firstOf(limitWordings, message)
  const limit = countOf(found?.limit)
  if (limit === null) return undefined
  const output = countOf(found?.output ?? firstOf(outputWordings, message)?.output)
  const count = found?.used === undefined ? firstOf(countWordings, message) : found
  const total = countOf(count?.total)
  // Without the output share, the total is the only known size of the input.
  const reported = countOf(count?.used) ?? (total === null ? null : positive(total - (output ?? 0)))
  // Recent vLLM versions stop counting one token above what the cap leaves, and report that as the prompt length.
  const isCutShort = output !== null && (reported ?? 0) + output === limit + 1 && stopsCounting.test(message)
  const used = isCutShort ? null : reported
  const includesOutput = output !== null || countsOutput.test(message)
  return { used, limit, ...(includesOutput && { includesOutput }) }
}

/** Returns by how many tokens a prompt is too long, if the message says only that. */
export function excessTokensOf(message: string): number | undefined {
  return countOf(firstOf(excessWordings, message)?.['excess']) ?? undefined
}

type Figures = { readonly [name: string]: string | undefined }

function firstOf(wordings: readonly string[], message: string): Figures | undefined {
  for (const wording of wordings) {
    const groups = patternOf(wording).exec(message)?.groups
    if (groups !== undefined) return groups
  }
  return undefined
}

function countOf(digits: string | undefined): number | null {
  return digits === undefined ? null : positive(Number(digits.replaceAll(/\D/g, '')))
}

function positive(count: unknown): number | null {
  return typeof count === 'number' && Number.isSafeInteger(count) && count > 0 ? count : null
}

/** Returns the context limit of a refusal: from its message, or from the fields that llama.cpp adds. */
export function contextLimitOf(message: string, fields: Json | undefined): ContextLimit | undefined {
  const { n_ctx, n_prompt_tokens } = isJsonObject(fields) ? fields : {}
  const limit = positive(n_ctx)
  if (limit !== null) return { used: positive(n_prompt_tokens), limit }
  return limitIn(message)
}
