import type { ModelSettings } from '@halting/models'
import { patchToolName } from '@halting/policy/files'
import type { Settings } from '@halting/policy/settings'
import type { Environment } from '../tools/limits.ts'

/** The settings that determine how models are called, independent of the model. */
export interface AskedBy {
  readonly settings: Pick<Settings, 'openaiApi' | 'webSearch' | 'toolProfile'>
  readonly env: Environment
}

/**
 * The settings for every model of the environment: the API of OpenAI's models unless a variable sets it, and whether
 * the service at a custom URL offers web search. Used wherever a model is created by name, so that all are created
 * alike.
 */
export function modelSettingsOf({ settings, env }: AskedBy): Pick<ModelSettings, 'anthropic' | 'openai'> {
  const { openaiApi: api, webSearch, toolProfile } = settings
  const isSet = (env['HALTING_OPENAI_API']?.trim() ?? '') !== ''
  const search = webSearch === 'service' ? { webSearch: true } : {}
  // Codex models write a patch as text: in JSON each of its line breaks would be escaped.
  const freeform = toolProfile === 'codex' ? { freeform: { [patchToolName]: patchAsText } } : {}
  return { anthropic: search, openai: { ...(api !== undefined && !isSet && { api }), ...search, ...freeform } }
}

/**
 * The grammar of a patch, for services that constrain a tool's text: the format on which Codex models were trained.
 * Our parser (`patch-format.ts`) accepts more.
 */
const grammar = [
  'start: "*** Begin Patch" LF section+ "*** End Patch" LF?',
  'section: added | deleted | updated',
  'added: "*** Add File: " path LF ("+" rest LF)+',
  'deleted: "*** Delete File: " path LF',
  'updated: "*** Update File: " path LF moved? hunks?',
  'moved: "*** Move to: " path LF',
  'hunks: (place | changed)+ last?',
  'place: "@@" (" " path)? LF',
  'changed: (" " | "-" | "+") rest LF',
  'last: "*** End of File" LF',
  'path: /.+/',
  'rest: /.*/',
  '%import common.LF',
]

/** `apply_patch` as a tool with text input. */
const patchAsText = {
  field: 'input',
  format: { type: 'grammar', syntax: 'lark', definition: `${grammar.join('\n')}\n` },
}
