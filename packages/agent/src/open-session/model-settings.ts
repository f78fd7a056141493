import type { ModelSettings } from '@halting/models'
import { patchToolName } from '@halting/policy/files'
import type { Settings } from '@halting/policy/settings'
import type { Environment } from '../tools/limits.ts'

/** What decides how models are asked, whichever is named. */
export interface AskedBy {
  readonly settings: Pick<Settings, 'openaiApi' | 'webSearch' | 'toolProfile'>
  readonly env: Environment
}

/**
 * What settings say of every model of the environment: the API of OpenAI's models, where no variable says it, and whether the
 * service behind an address searches the web. All who make a model by its name go by this, so that none is made otherwise.
 */
export function modelSettingsOf({ settings, env }: AskedBy): Pick<ModelSettings, 'anthropic' | 'openai'> {
  const { openaiApi: api, webSearch, toolProfile } = settings
  const isSaid = (env['HALTING_OPENAI_API']?.trim() ?? '') !== ''
  const search = webSearch === 'service' ? { webSearch: true } : {}
  // Codex models write a patch as text: in JSON each of its line breaks would be escaped.
  const freeform = toolProfile === 'codex' ? { freeform: { [patchToolName]: patchAsText } } : {}
  return { anthropic: search, openai: { ...(api !== undefined && !isSaid && { api }), ...search, ...freeform } }
}

/**
 * How a patch is written as text, for services that constrain a tool's text by a grammar: the format that Codex models were trained on. Our reader
 * (`patch-format.ts`) accepts more.
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

/** `apply_patch` as a tool of text. */
const patchAsText = {
  field: 'input',
  format: { type: 'grammar', syntax: 'lark', definition: `${grammar.join('\n')}\n` },
}
