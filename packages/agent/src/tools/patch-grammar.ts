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
export const patchAsText = {
  field: 'input',
  format: { type: 'grammar', syntax: 'lark', definition: `${grammar.join('\n')}\n` },
}
