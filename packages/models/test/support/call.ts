import { ModelError } from '@halting/core'
import type { Model, ModelReply, ModelRequest } from '@halting/core'
import type { ModelUpdate } from '@halting/core/adapters'
import type { ModelErrorJson } from '@halting/core/adapters'
import { anthropic } from '../../src/index.ts'
import type { AnthropicOptions } from '../../src/index.ts'

export function requestOf(parts: Partial<ModelRequest> = {}): ModelRequest {
  return {
    system: '',
    messages: [{ role: 'user', content: 'hi' }],
    tools: [],
    maxOutputTokens: 100,
    idempotencyKey: 'run-1/main/model:1',
    ...parts,
  }
}

export function modelAt(url: string, options: Partial<AnthropicOptions> = {}): Model {
  return anthropic({ model: 'claude-test', baseUrl: url, apiKey: 'key', ...options })
}

export interface Called {
  readonly reply?: ModelReply
  readonly error?: unknown
  readonly updates: readonly ModelUpdate[]
}

/** Makes one call and returns everything about it. Never throws. */
export async function call(
  model: Model,
  options: { request?: ModelRequest; signal?: AbortSignal; onUpdate?: (update: ModelUpdate) => void } = {},
): Promise<Called> {
  const updates: ModelUpdate[] = []
  const emit = (update: ModelUpdate): void => {
    updates.push(update)
    options.onUpdate?.(update)
  }
  const signal = options.signal ?? new AbortController().signal
  try {
    return { reply: await model.call(options.request ?? requestOf(), { signal, emit }), updates }
  } catch (error) {
    return { error, updates }
  }
}

/** The error as data. Fails the test if it is not a ModelError. */
export function recordOf(error: unknown): ModelErrorJson {
  if (!(error instanceof ModelError)) throw new TypeError('expected a ModelError', { cause: error })
  return error.toRecord()
}
