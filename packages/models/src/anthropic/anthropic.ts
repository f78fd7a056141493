import { ConfigurationError } from '@halting/core'
import type { Model, ModelRequest } from '@halting/core'
import { hasDeferredParts, releaseBody } from '../bytes/bodies.ts'
import { modelOptionsOf, withUsualKey } from '../model-call.ts'
import type { OptionsBesideName } from '../model-call.ts'
import { sizesOf } from '../model-sizes.ts'
import { snapshotPrices } from '../prices/price-table.ts'
import { keyRingOf, withRedactor } from '../service/endpoint.ts'
import { UnsupportedSettings } from '../service/unsupported-settings.ts'
import type { Redactor } from '../service/redactor.ts'
import { callService, limitsOf } from '../service/service-model.ts'
import type { Protocol, ProtocolHolder } from '../service/service-model.ts'
import { endpointOf, isAnthropicUrl, messagesKeyHeader } from './endpoint.ts'
import type { EndpointOptions } from './endpoint.ts'
import { extraPassesOf, isAdvisor, usesOf, usualSizes } from './extra-passes.ts'
import { createRequestBody } from './request-body.ts'
import type { RequestBodyOptions } from './request-body.ts'
import type { ModelUpdate } from '@halting/core/adapters'
import type { StreamReader } from '../service/stream-reader.ts'
import { MessageAssembler } from './message-assembler.ts'
import { emitAndRead } from './emit-event.ts'

/** Options of `anthropic`. */
export interface AnthropicOptions extends EndpointOptions, Omit<RequestBodyOptions, 'id'> {
  /** Id for pricing and reports, if it differs from `model`. */
  readonly id?: string | undefined
  /** Context window in tokens, input and output together (default: from the price snapshot, or 200,000). */
  readonly contextWindow?: number | undefined
  /** Maximum length of a reply in tokens (default: from the price snapshot, or 64,000). */
  readonly maxOutputTokens?: number | undefined
  /**
   * The service supports the web search of the Messages API, for requests with `webSearch` (default: only
   * api.anthropic.com).
   */
  readonly webSearch?: boolean | undefined
  /** Output tokens requested unless an earlier reply was truncated (default: 32,000); never more than `maxOutputTokens`. */
  readonly defaultOutputTokens?: number | undefined
  /**
   * Maximum uses per request of all `serverTools` without `max_uses`, such as code execution and tool search, whose
   * uses the service does not limit. A budget requires it: it reserves this number, and uses beyond it are reported. No
   * limit by default.
   */
  readonly maxServerToolUses?: number | undefined
}

/**
 * A model of the Anthropic Messages API, or of a compatible service: `anthropic('claude-sonnet-5-5')` or `anthropic({
 * model, … })`. Without a key and a `baseUrl`, the key is `ANTHROPIC_API_KEY`. The price comes from the snapshot, if it
 * has one.
 * @throws ConfigurationError for an invalid address, key, header or call.
 */
export function anthropic(model: string | AnthropicOptions, more?: OptionsBesideName<AnthropicOptions>): Model {
  const form = { name: 'anthropic', sample: 'claude-sonnet-5-5' }
  const named: AnthropicOptions = modelOptionsOf(form, model, more)
  const options = withUsualKey(named, 'ANTHROPIC_API_KEY')
  return withRedactor(options, (redactor) => makeModel(options, redactor))
}

function makeModel(options: AnthropicOptions, redactor: Redactor): Model {
  const id = options.id ?? options.model
  const keys = keyRingOf(options, messagesKeyHeader)
  const limits = limitsOf(options)
  const sizes = sizesOf(id, options, usualSizes)
  const serverTools = (options.serverTools ?? []).filter((tool) => !isAdvisor(tool))
  const maxServerToolUses = usesOf(serverTools, checkedUses(options.maxServerToolUses))
  const passes = extraPassesOf({ ...options, id, ...sizes, maxServerToolUses })
  const unsupported = new UnsupportedSettings(id)
  const bodyOf = createRequestBody({ ...options, id }, unsupported)
  /** Requests whose body omits deferred parts of their messages. */
  const deferring = new WeakSet<ModelRequest>()
  const protocol: Protocol = {
    ...endpointOf(options),
    redactor,
    labels: {
      name: 'the Messages API',
      baseUrlSetting: 'ANTHROPIC_BASE_URL',
      keySetting: 'ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or apiKeyHelper',
    },
    body(request) {
      const body = bodyOf(request)
      if (hasDeferredParts(body)) deferring.add(request)
      return body
    },
    release: releaseBody,
    reader: (request, emit) => messagesReader(emit, deferring.has(request)),
    onReply: () => unsupported.take(),
  }
  const holder: ProtocolHolder = { protocol }
  const { webSearch = isAnthropicUrl(protocol.url) } = options
  return {
    id,
    ...sizes,
    ...(serverTools.length > 0 && { maxServerToolUses }),
    ...(webSearch && { webSearch: { domains: 'allowed and blocked' } as const }),
    ...(passes.length > 0 && { extraPasses: passes }),
    prices: snapshotPrices,
    call: (request, call) => callService(holder, keys, limits, request, call),
  }
}

function checkedUses(given: number | undefined): number | undefined {
  if (given === undefined || (Number.isSafeInteger(given) && given >= 0)) return given
  throw new ConfigurationError(`maxServerToolUses must be a whole number, 0 or more (received ${String(given)}).`)
}

// Spec R-PTC-5.
/**
 * Reads a stream of the Messages API and emits its events. If parts of the request were deferred, a reply that ends its
 * turn becomes a pause, so that the deferred parts follow.
 */
export function messagesReader(emit: (update: ModelUpdate) => void, hasDeferred = false): StreamReader {
  const assembler = new MessageAssembler(emit)
  return {
    take(event, text) {
      return emitAndRead(emit, event, () => assembler.take(event, text))
    },
    // The stream ends with an event.
    end() {},
    takeWhole(answer) {
      if (answer.type !== 'message') return false
      return assembler.take({ type: 'message_start', message: answer }).kind === 'more'
    },
    finish() {
      const assembled = assembler.finish()
      if (!hasDeferred || assembled.kind !== 'complete' || assembled.message.stop_reason !== 'end_turn')
        return assembled
      return { ...assembled, message: { ...assembled.message, stop_reason: 'pause_turn' } }
    },
  }
}
