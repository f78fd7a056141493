import type { ChatDialect } from './chat-messages.ts'

/** How the chat completions of a service differ from those of others. */
export interface ServiceQuirks extends Omit<ChatDialect, 'id'> {
  /** The field for the longest reply. */
  readonly outputLimitField: 'max_tokens' | 'max_completion_tokens'
  /** Usage is reported without being asked for, and the field that asks for it is refused. */
  readonly reportsUsageUnasked: boolean
}

const none: ServiceQuirks = {
  hasShortCallIds: false,
  separatesUserFromResults: false,
  outputLimitField: 'max_tokens',
  reportsUsageUnasked: false,
}

export const mistralQuirks: ServiceQuirks = {
  ...none,
  hasShortCallIds: true,
  separatesUserFromResults: true,
  reportsUsageUnasked: true,
}

/** OpenAI's own service, and Azure's. */
const openAiQuirks: ServiceQuirks = { ...none, outputLimitField: 'max_completion_tokens' }

/** Services with quirks, by domain: a quirk also holds where a program gives nothing but an address. */
const quirksByDomain: { readonly [domain: string]: ServiceQuirks } = {
  'openai.com': openAiQuirks,
  'openai.azure.com': openAiQuirks,
  'cognitiveservices.azure.com': openAiQuirks,
  'services.ai.azure.com': openAiQuirks,
  'mistral.ai': mistralQuirks,
}

/** The quirks of the service at this host. */
export function quirksOf(hostname: string): ServiceQuirks {
  const domain = Object.keys(quirksByDomain).find((each) => hostname === each || hostname.endsWith(`.${each}`))
  return (domain !== undefined && quirksByDomain[domain]) || none
}

/** Whether the service at this host is OpenAI's own, or Azure's. */
export function isOpenAiHost(hostname: string): boolean {
  return quirksOf(hostname) === openAiQuirks
}
