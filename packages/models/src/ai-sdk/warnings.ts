import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { stringOf } from '../json-fields.ts'

/** Maximum number of warnings that one model reports. */
const maxWarnings = 50

/** Collects warnings about requests that a provider cannot send as asked; each is reported once per model. */
export class ProviderWarnings {
  readonly #reported = new Set<string>()

  /** Returns the warnings of a reply that were not reported before, as text for people. */
  newIn(warnings: readonly Json[], provider: string): readonly string[] {
    return warnings.flatMap((warning) => {
      const text = isJsonObject(warning) ? warningText(warning, provider) : ''
      if (text === '' || this.#reported.has(text) || this.#reported.size >= maxWarnings) return []
      this.#reported.add(text)
      return [text]
    })
  }
}

function warningText(warning: JsonObject, provider: string): string {
  // Version 3 has `setting` where version 4 has `feature`.
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
