import { ConfigurationError } from '@halting/core'
import type { JsonObject, Model, ModelReply, ModelRequest } from '@halting/core'
import type { ModelCallOptions } from '@halting/core/adapters'
import { defaultIdleTimeoutMs, defaultRequestTimeoutMs } from '../http/deadlines.ts'
import { sizesOf } from '../model-sizes.ts'
import { snapshotPrices } from '../prices/price-table.ts'
import { callRedacted, createRedactor } from '../service/redactor.ts'
import { secretsOf } from '../service/secrets.ts'
import { callError } from './call-error.ts'
import { callOptionsOf } from './call-options.ts'
import { inVersion3 } from './language-model.ts'
import type { AiSdkModel, CallOptions } from './language-model.ts'
import { headersOf, openParts } from './part-source.ts'
import { readParts } from './read-parts.ts'
import { ProviderWarnings } from './warnings.ts'
import { webSearchOf } from './web-search.ts'

/** Options of `fromAiSdk`. */
export interface AiSdkOptions {
  /** Id for pricing and reports, such as `openai/gpt-5` (default: the model's `modelId`). */
  readonly id?: string | undefined
  /** Context window in tokens, input and output together (default: from the price snapshot, or 128,000). */
  readonly contextWindow?: number | undefined
  /** Maximum length of a reply in tokens (default: from the price snapshot, or 16,384). */
  readonly maxOutputTokens?: number | undefined
  /** Output tokens requested unless an earlier reply was truncated (default: 32,000); never more than `maxOutputTokens`. */
  readonly defaultOutputTokens?: number | undefined
  /** Maximum uses of the service's tools in one request, if `providerOptions` or the model enable such tools. */
  readonly maxServerToolUses?: number | undefined
  /** Additional headers; they override the built-in ones of the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Options passed to the provider with every request. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined
  /** Maximum silence of a stream in milliseconds (default: 300,000). */
  readonly idleTimeoutMs?: number | undefined
  /** Maximum time until the response starts, in milliseconds (default: 600,000). */
  readonly requestTimeoutMs?: number | undefined
}

/**
 * Adapts any language model of the AI SDK, `LanguageModelV3` or `LanguageModelV4`. The program supplies the provider
 * package; nothing of `@ai-sdk/provider` is imported, not even types.
 * @throws ConfigurationError for anything else, such as the name of a model.
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Model {
  refuseOtherVersions(model)
  const id = options.id ?? model.modelId
  const { idleTimeoutMs = defaultIdleTimeoutMs, requestTimeoutMs = defaultRequestTimeoutMs } = options
  const { maxServerToolUses, headers, providerOptions } = options
  const { provider, modelId } = model
  const warnings = new ProviderWarnings()
  const webSearch = webSearchOf(model)
  const redactor = createRedactor(secretsOf({ headers }))
  return {
    id,
    ...sizesOf(id, options, { contextWindow: 128_000, maxOutputTokens: 16_384 }),
    prices: snapshotPrices,
    ...(maxServerToolUses !== undefined && { maxServerToolUses }),
    ...(webSearch !== undefined && { webSearch }),
    call: (request, call) => callRedacted(redactor, call, (redacted) => attempt(request, redacted)),
  }

  /** Returns the options in the form that the model's version expects. */
  function optionsFor(options: CallOptions): never {
    // Type tests compare both forms with the AI SDK's types; `doStream` names neither (see `AiSdkModel`).
    return (model.specificationVersion === 'v3' ? inVersion3(options) : options) as never
  }

  async function attempt(request: ModelRequest, call: ModelCallOptions): Promise<ModelReply> {
    const { signal } = call
    const opened = await openParts(
      (abortSignal) =>
        model.doStream(
          optionsFor({ ...callOptionsOf(request, { id, provider, modelId, headers, providerOptions }), abortSignal }),
        ),
      { signal, idleTimeoutMs, requestTimeoutMs },
    )
    if (opened.kind === 'failed') {
      throw callError(opened.thrown, { provider, phase: 'opening', headers: headersOf({}), nowMs: Date.now() })
    }
    try {
      return await readParts(opened.source, {
        provider,
        modelId,
        messageId: `msg_${request.idempotencyKey}`,
        warnings,
        // An aborted call emits nothing.
        emit: (update) => {
          if (!signal.aborted) call.emit(update)
        },
      })
    } finally {
      opened.source.dispose()
    }
  }
}

function refuseOtherVersions(model: AiSdkModel): void {
  // A JavaScript program may pass a model of another version, or a model name.
  const value: unknown = model
  const { specificationVersion: version, doStream }: { specificationVersion?: unknown; doStream?: unknown } =
    typeof value === 'object' && value !== null ? value : {}
  if ((version === 'v3' || version === 'v4') && typeof doStream === 'function') return
  const what = typeof version === 'string' ? `a model of version ${version}` : `a value of type ${typeof value}`
  throw new ConfigurationError(
    `fromAiSdk expects a language model of the AI SDK (version v3 or v4), and received ${what}. ` +
      'Create one with a current provider package, such as createOpenAI(…)("gpt-5") of @ai-sdk/openai.',
  )
}
