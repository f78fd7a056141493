import { ConfigurationError, ModelError } from '@halting/core'
import type { Json, JsonObject, Model } from '@halting/core'
import { isJsonObject, wellFormedJson } from '@halting/core/adapters'
import { releaseBody } from '../bytes/bodies.ts'
import { sizesOf } from '../model-sizes.ts'
import { snapshotPrices } from '../prices/price-table.ts'
import { createReadableReasoning } from '../responses/readable-reasoning.ts'
import {
  reasoningEfforts,
  reasoningSupport,
  supportedEffortValue,
  isResponsesOnlyModel,
} from '../responses/reasoning-effort.ts'
import type { ReasoningEffort } from '../responses/reasoning-effort.ts'
import { createResponsesBody, usesOf } from '../responses/responses-body.ts'
import { ResponsesReader } from '../responses/responses-reader.ts'
import type { KeyHeader } from '../service/credentials.ts'
import { headersOf, keyRingOf, urlUnder } from '../service/endpoint.ts'
import { UnsupportedSettings } from '../service/unsupported-settings.ts'
import type { Redactor } from '../service/redactor.ts'
import { shownUrl } from '../service/secret-shapes.ts'
import { openAiBaseUrl } from '../services.ts'
import { callService, limitsOf } from '../service/service-model.ts'
import type { Protocol, Refusal, ProtocolHolder } from '../service/service-model.ts'
import type { ServiceLabels } from '../service/service-error.ts'
import { createChatBody } from './chat-body.ts'
import { ChatReader } from './chat-reader.ts'
import { asChatFields, asResponsesFields } from './extra-fields.ts'
import { generationLookUp, hasGenerations } from './generation-look-up.ts'
import { lacksApi, learnFromRefusal, initialKnowledge, mergeKnowledge } from './service-knowledge.ts'
import type { ServiceKnowledge, OpenAiApi } from './service-knowledge.ts'
import { knowledgeNotices } from './knowledge-notices.ts'
import type { OpenAiCompatibleOptions } from './openai-options.ts'
import type { ChatDialect } from './chat-messages.ts'

/** Returns the key header of OpenAI's protocols. */
export const openAiKeyHeader: KeyHeader = (apiKey) => ['authorization', `Bearer ${apiKey}`]

/** The API to use first, and whether to fall back to the other one if the service does not have it. */
export interface ApiChoice {
  readonly api: OpenAiApi
  readonly mayFallBack: boolean
}

/** Creates a model of OpenAI's protocols. @throws ConfigurationError for invalid options. */
export function makeOpenAiModel(options: OpenAiCompatibleOptions, redactor: Redactor, choice: ApiChoice): Model {
  const { model, id = model, serverTools = [], extraBody = {} } = options
  const keys = keyRingOf(options, openAiKeyHeader)
  const limits = limitsOf(options)
  const protocols = new Protocols(options, redactor, choice)
  const maxImageTokens = options.maxImageTokens ?? imageTokensOf(id) ?? imageTokensOf(model)
  const hasResponses = choice.api === 'responses'
  return {
    id,
    ...sizesOf(id, options, { contextWindow: 128_000, maxOutputTokens: 16_384 }),
    prices: snapshotPrices,
    ...(protocols.isOpenAi && { maxToolNameLength: 64 }),
    ...(maxImageTokens !== undefined && { maxImageTokens }),
    ...(hasResponses && serverTools.length > 0 && { maxServerToolUses: usesOf(serverTools, extraBody) }),
    ...(hasResponses && protocols.searchesTheWeb && { webSearch: { domains: 'allowed and blocked' } }),
    ...(protocols.hasGenerations && {
      lookUpUsage: generationLookUp({
        url: urlUnder(options.baseUrl, '/generation', openAiBaseUrl),
        keys,
        limits,
        headers: options.headers,
        redactor,
      }),
    }),
    call: (request, call) => callService(protocols.holder, keys, limits, request, call),
  }
}

/** Returns the maximum image tokens: gpt-4o-mini bills 2,833 tokens per image and 5,667 for each of at most 8 tiles. */
function imageTokensOf(id: string): number | undefined {
  return /(^|[^a-z0-9])gpt-4o-mini(-\d{4}-\d{2}-\d{2})?$/.test(id) ? 2_833 + 8 * 5_667 : undefined
}

/**
 * The protocols of one model, based on what is known about the service.
 *
 * P1: what one request learned applies to all. If two requests are refused concurrently, the second builds on what the
 *     first learned.
 */
class Protocols {
  readonly holder: ProtocolHolder
  readonly searchesTheWeb: boolean
  /** The address belongs to OpenAI or Azure, which reject longer tool names. */
  readonly isOpenAi: boolean
  /** The service reports the usage of a reply afterwards. */
  readonly hasGenerations: boolean
  readonly #options: OpenAiCompatibleOptions
  readonly #redactor: Redactor
  readonly #choice: ApiChoice
  readonly #urls: Readonly<Record<OpenAiApi, string>>
  readonly #readableReasoning = createReadableReasoning()
  readonly #unsupported: UnsupportedSettings
  #known: ServiceKnowledge
  /** The knowledge of which people have already been notified. */
  #reported: ServiceKnowledge
  #hasResponses = false

  constructor(options: OpenAiCompatibleOptions, redactor: Redactor, choice: ApiChoice) {
    this.#options = options
    this.#redactor = redactor
    this.#choice = choice
    this.#unsupported = new UnsupportedSettings(options.id ?? options.model)
    this.#urls = {
      responses: urlUnder(options.baseUrl, '/responses', openAiBaseUrl),
      chat_completions: urlUnder(options.baseUrl, '/chat/completions', openAiBaseUrl),
    }
    const { hostname } = new URL(this.#urls.responses)
    const isOpenAi = isOpenAiHost(hostname)
    this.isOpenAi = isOpenAi
    this.hasGenerations = hasGenerations(hostname)
    this.searchesTheWeb = options.webSearch ?? isOpenAi
    if (choice.api === 'chat_completions' && isOpenAi && isResponsesOnlyModel(options.model)) {
      throw new ConfigurationError(
        `${options.model} is only served by the Responses API, but chat completions are configured for it. ` +
          'Remove HALTING_OPENAI_API, the setting openaiApi or the option api, or choose another model.',
      )
    }
    const outputLimitField = options.outputLimitField ?? quirksOf(hostname).outputLimitField
    this.#known = initialKnowledge({ api: choice.api, outputLimitField })
    this.#reported = this.#known
    this.holder = { protocol: this.#protocolOf(this.#known) }
  }

  #protocolOf(known: ServiceKnowledge): Protocol {
    const { headers } = this.#options
    const shared = {
      url: this.#urls[known.api],
      redactor: this.#redactor,
      headers: headersOf({}, headers),
      labels: this.#labelsOf(known.api),
      release: releaseBody,
    }
    return known.api === 'responses'
      ? { ...shared, ...this.#responses(known), ...this.#learning(known) }
      : { ...shared, ...this.#chat(known), ...this.#learning(known) }
  }

  #labelsOf(api: OpenAiApi): ServiceLabels {
    const { settings } = this.#options
    return {
      name: api === 'responses' ? 'the Responses API' : 'the chat completions API',
      baseUrlSetting: settings?.baseUrl ?? 'OPENAI_BASE_URL',
      keySetting: settings?.key ?? 'OPENAI_API_KEY',
    }
  }

  #learning(known: ServiceKnowledge): Pick<Protocol, 'afterRefusal' | 'onReply'> {
    return {
      afterRefusal: (refusal) => {
        const isOther = known.api === 'responses' && this.#mayFallBack() && lacksApi(refusal)
        if (isOther && isResponsesOnlyModel(this.#options.model)) throw this.#responsesAreMissing(refusal)
        const learned = isOther
          ? { ...known, api: 'chat_completions' as const }
          : learnFromRefusal(known, refusal, (refusals) => this.#readableReasoning.isAny(refusals))
        if (learned === undefined) return undefined
        // P1
        this.#known = known === this.#known ? learned : mergeKnowledge(this.#known, learned)
        this.holder.protocol = this.#protocolOf(this.#known)
        return this.holder.protocol
      },
      onReply: () => {
        if (known.api === 'responses') this.#hasResponses = true
        return [...this.#unreportedNotices(), ...this.#unsupported.take()]
      },
    }
  }

  /** Returns notices about what was learned since the last reply. */
  #unreportedNotices(): readonly string[] {
    const [reported, known] = [this.#reported, this.#known]
    if (reported === known) return []
    this.#reported = known
    const { model, reasoningSummary } = this.#options
    return knowledgeNotices(reported, known, {
      model,
      responsesUrl: shownUrl(this.#urls.responses),
      effort: this.#effortFor(known.api),
      mayReason: reasoningSupport(model) !== 'no',
      wantsSummary:
        known.api === 'responses' &&
        reasoningSummary !== 'none' &&
        (reasoningSummary !== undefined || reasoningSupport(model) === 'yes'),
    })
  }

  /** Returns the requested effort in the form of this API. */
  #effortFor(api: OpenAiApi): ReasoningEffort | undefined {
    const { effort, extraBody = {} } = this.#options
    const known = (value: Json | undefined): ReasoningEffort | undefined =>
      reasoningEfforts.find((one) => one === value)
    if (api === 'chat_completions') return known(extraBody.reasoning_effort) ?? highestOfChat(effort)
    const { reasoning } = asResponsesFields(extraBody)
    return effort ?? (isJsonObject(reasoning) ? known(reasoning.effort) : undefined)
  }

  /** Whether the other API may be used: once a reply came from the Responses API, the service has it. */
  #mayFallBack(): boolean {
    return this.#choice.mayFallBack && !this.#hasResponses
  }

  #responsesAreMissing({ status = 404 }: Refusal): ModelError {
    const { baseUrlSetting } = this.#labelsOf('responses')
    return new ModelError({
      kind: 'invalid_request',
      status,
      message:
        `${this.#options.model} is only served by the Responses API, but ${shownUrl(this.#urls.responses)} answered ` +
        `${status}. Set ${baseUrlSetting} to a service that has it, or choose another model.`,
      billed: 'nothing',
    })
  }

  #responses({ refused }: ServiceKnowledge): Pick<Protocol, 'body' | 'reader'> {
    const {
      model,
      id = model,
      freeform = {},
      serverTools = [],
      effort,
      thinking,
      reasoningSummary: summary,
    } = this.#options
    const extraBody = asResponsesFields(wellFormedJson(this.#options.extraBody ?? {}))
    const readableReasoning = this.#readableReasoning
    return {
      body: createResponsesBody({
        model,
        id,
        freeform,
        serverTools,
        effort,
        thinking,
        summary,
        extraBody,
        refused,
        readableReasoning: readableReasoning,
        unsupported: this.#unsupported,
      }),
      reader: (request, emit) => {
        const emitAndNote: typeof emit = (update) => {
          readableReasoning.note(update, refused.carriedReasoning)
          emit(update)
        }
        return new ResponsesReader(model, request, refused.carriedReasoning > 0 ? emitAndNote : emit, { freeform })
      },
    }
  }

  #chat({ outputLimitField, refused }: ServiceKnowledge): Pick<Protocol, 'body' | 'reader'> {
    const { model, id = model, dialect } = this.#options
    const hasFallenBack = this.#choice.api === 'responses'
    const extraBody = this.#chatFields(hasFallenBack, refused.efforts)
    const hostQuirks = quirksOf(new URL(this.#urls.responses).hostname)
    // Mistral models on another host use that host's name of the output limit.
    const quirks = dialect === 'mistral' ? mistralQuirks : hostQuirks
    const { hasShortCallIds, separatesUserFromResults, reportsUsageUnasked } = quirks
    const streamOptions = extraBody.stream_options
    const asksForUsage = streamOptions === undefined ? !reportsUsageUnasked : streamOptions !== null
    const dialectOptions = { hasShortCallIds, separatesUserFromResults, outputLimitField, asksForUsage }
    const bodyOf = createChatBody({ model, id, extraBody, unsupported: this.#unsupported, ...dialectOptions })
    return {
      body: (request) => {
        if (hasFallenBack && request.webSearch !== undefined) throw this.#noSearch()
        return bodyOf(request)
      },
      reader: (request, emit) => new ChatReader(model, request, emit),
    }
  }

  #noSearch(): ModelError {
    const message = `${shownUrl(this.#urls.responses)} does not offer the Responses API, which this model needs for web search.`
    return new ModelError({ kind: 'invalid_request', message, billed: 'nothing' })
  }

  #chatFields(hasFallenBack: boolean, refused: ReadonlySet<string>): JsonObject {
    const { effort, extraBody = {} } = this.#options
    const { reasoning_effort: given, ...fields } = hasFallenBack ? asChatFields(extraBody) : extraBody
    const supportedEffort = supportedEffortValue(given ?? highestOfChat(effort), refused)
    return supportedEffort === undefined ? fields : { ...fields, reasoning_effort: supportedEffort }
  }
}

/** Limits the effort: most chat completions services support no more than `high`. */
function highestOfChat(effort: ReasoningEffort | undefined): ReasoningEffort | undefined {
  return effort === 'xhigh' || effort === 'max' ? 'high' : effort
}

/** How the chat completions of a service differ from others. */
interface ServiceQuirks extends Omit<ChatDialect, 'id'> {
  /** Field for the maximum reply length. */
  readonly outputLimitField: 'max_tokens' | 'max_completion_tokens'
  /** The service reports usage anyway, and rejects the field that requests it. */
  readonly reportsUsageUnasked: boolean
}

const none: ServiceQuirks = {
  hasShortCallIds: false,
  separatesUserFromResults: false,
  outputLimitField: 'max_tokens',
  reportsUsageUnasked: false,
}

const mistralQuirks: ServiceQuirks = {
  ...none,
  hasShortCallIds: true,
  separatesUserFromResults: true,
  reportsUsageUnasked: true,
}

/** OpenAI's own service, and Azure's. */
const openAiQuirks: ServiceQuirks = { ...none, outputLimitField: 'max_completion_tokens' }

/** Services with quirks, by domain, so that they apply even if a program only sets an address. */
const quirksByDomain: { readonly [domain: string]: ServiceQuirks } = {
  'openai.com': openAiQuirks,
  'openai.azure.com': openAiQuirks,
  'cognitiveservices.azure.com': openAiQuirks,
  'services.ai.azure.com': openAiQuirks,
  'mistral.ai': mistralQuirks,
}

/** Returns the quirks of the service at this host. */
function quirksOf(hostname: string): ServiceQuirks {
  const domain = Object.keys(quirksByDomain).find((each) => hostname === each || hostname.endsWith(`.${each}`))
  return (domain !== undefined && quirksByDomain[domain]) || none
}

/** Whether the host belongs to OpenAI or Azure. */
function isOpenAiHost(hostname: string): boolean {
  return quirksOf(hostname) === openAiQuirks
}
