import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { stringOf } from '../json-fields.ts'

/** Most warnings that one model tells in its life. */
const mostWarnings = 50

/** What providers say of requests that they cannot send as they were asked to: each once in the life of a model. */
export class ProviderWarnings {
  readonly #reported = new Set<string>()

  /** Those with a reply that were not told before, in text for a person. */
  newIn(warnings: readonly Json[], provider: string): readonly string[] {
    return warnings.flatMap((warning) => {
      const text = isJsonObject(warning) ? warningText(warning, provider) : ''
      if (text === '' || this.#reported.has(text) || this.#reported.size >= mostWarnings) return []
      this.#reported.add(text)
      return [text]
    })
  }
}

function warningText(warning: JsonObject, provider: string): string {
  // Version 3 of the interface has `setting` where version 4 has `feature`.
  const [feature, setting, message] = [warning.feature, warning.setting, warning.message].map(stringOf)
  const details = stringOf(warning.details) || message
  const what = feature || setting
  const more = details ? `: ${details}` : ''
  switch (warning.type) {
    case 'unsupported':
    case 'unsupported-setting':
      return what ? `${provider} does not support "${what}" for this model${more}` : ''
    case 'compatibility':
      return what ? `${provider} handles "${what}" differently for this model${more}` : ''
    case 'deprecated':
      return what ? `${provider} reports that the option "${what}" is deprecated${more}` : ''
    default:
      return details ? `${provider} warns${more}` : ''
  }
}
