import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart } from '@ai-sdk/provider'

export interface ScriptedParts extends LanguageModelV3 {
  readonly calls: readonly LanguageModelV3CallOptions[]
  /** The number of cancelled streams. */
  cancelled(): number
}

export type Script = (
  controller: ReadableStreamDefaultController<LanguageModelV3StreamPart>,
  options: LanguageModelV3CallOptions,
) => void | Promise<void>

/** A model whose stream has these parts, or is controlled by a function. Parts may be garbage. */
export function scriptedParts(
  script: readonly unknown[] | Script,
  { provider = 'test.chat', headers }: { provider?: string; headers?: Record<string, string> } = {},
): ScriptedParts {
  const calls: LanguageModelV3CallOptions[] = []
  let cancelled = 0
  return {
    specificationVersion: 'v3',
    provider,
    modelId: 'test-model',
    supportedUrls: {},
    calls,
    cancelled: () => cancelled,
    doGenerate: () => Promise.reject(new Error('nobody asks for this')),
    doStream(options) {
      calls.push(options)
      const stream = new ReadableStream<LanguageModelV3StreamPart>({
        async start(controller) {
          if (typeof script === 'function') return script(controller, options)
          for (const part of script) controller.enqueue(part as LanguageModelV3StreamPart)
          controller.close()
        },
        cancel: () => void cancelled++,
      })
      return Promise.resolve({ stream, ...(headers !== undefined && { response: { headers } }) })
    },
  }
}

/** A model whose `doStream` throws this. */
export function throwingModel(thrown: unknown): LanguageModelV3 {
  return {
    ...scriptedParts([]),
    doStream() {
      throw thrown
    },
  }
}

export const usage = {
  inputTokens: { total: 10, noCache: 7, cacheRead: 2, cacheWrite: 1 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
}

export function finish(unified = 'stop', more: object = {}): unknown {
  return { type: 'finish', usage, finishReason: { unified, raw: undefined }, ...more }
}

export function text(words: string, id = '0'): readonly unknown[] {
  return [
    { type: 'text-start', id },
    { type: 'text-delta', id, delta: words },
    { type: 'text-end', id },
  ]
}

export function toolCall(input: string, more: object = {}): unknown {
  return { type: 'tool-call', toolCallId: 'call_1', toolName: 'Read', input, ...more }
}
