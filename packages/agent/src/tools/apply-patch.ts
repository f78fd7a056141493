import type { Tool } from '@halting/core'
import { parsePatch, patchedFilesOf, patchTextOf, patchToolName } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'
import { loneSurrogate } from './input-texts.ts'
import { isWritable } from './input.ts'
import { noPatch, notPatch } from './patches/patch-format-texts.ts'
import { withErrorResults } from './error-results.ts'
import type { Workspace } from './workspace.ts'

/** Input of the apply_patch tool: a patch in the format of Codex. */
export interface ApplyPatchInput {
  readonly input: string
}

/** Changes several files with one patch, or none of them. For models trained on its format. */
export function createApplyPatchTool(workspace: Workspace): Tool<ApplyPatchInput> {
  return {
    name: patchToolName,
    description: `Creates, changes, moves and deletes files by one patch. Applies all of it, or nothing. Format:
*** Begin Patch
*** Add File: new.txt
+each line with a plus
*** Update File: src/app.py
*** Move to: src/main.py (optional)
@@ class App (optional: a line above the change, to find the place)
 unchanged line
-removed line
+added line
*** Delete File: old.txt
*** End Patch
Copy unchanged and removed lines exactly from the file: they must be there once below the @@ line, so give about 3 unchanged lines before and after a change. Order hunks from top to bottom, with one section for each file. Add *** End of File after a hunk at the end of the file. Read a file before you delete it.`,
    inputSchema: {
      type: 'object',
      properties: { input: { type: 'string', description: 'The patch' } },
      required: ['input'],
      additionalProperties: false,
    },
    canonicalInput(rawInput) {
      const { patch, ...others } = rawInput
      return patch === undefined || 'input' in rawInput ? rawInput : { ...others, input: patch }
    },
    readOnly: false,
    editsFiles: true,
    validate(input) {
      const text = patchTextOf(input)
      if (text === undefined) return { valid: false, message: noPatch }
      if (!isWritable(text)) return { valid: false, message: loneSurrogate('input') }
      const parsed = parsePatch(text)
      return parsed.kind === 'patch'
        ? { valid: true, input: { input: text } }
        : { valid: false, message: notPatch(parsed.problem) }
    },
    async precheck({ input }, context) {
      // Loaded on demand.
      const [{ locatedFiles, mayQuote, pathsOf, planPatch }, { notApplied }] = await Promise.all([
        import('./patches/plan-patch.ts'),
        import('./patches/patch-texts.ts'),
      ])
      const files = locatedFiles(patchedFilesOf(input), workspace, realPath)
      // Files that may not be read without asking are not inspected.
      if (!pathsOf(files).every((at) => mayQuote(at, { workspace, context }))) return undefined
      const { content } = await withErrorResults({ path: files[0]?.at.path ?? '', doing: 'written' }, async () => {
        const plan = await planPatch(files, { workspace, context })
        return { content: plan.kind === 'refused' ? notApplied(plan.problems) : '' }
      })
      return typeof content === 'string' && content !== '' ? content : undefined
    },
    async execute({ input }, context) {
      // Loaded on demand.
      const [{ locatedFiles }, { applyPatch }] = await Promise.all([
        import('./patches/plan-patch.ts'),
        import('./patches/write-patch.ts'),
      ])
      const patched = patchedFilesOf(input)
      return withErrorResults({ path: patched[0]?.path ?? '', doing: 'written' }, async () => {
        const files = locatedFiles(patched, workspace, (path) => workspace.realPathOf(path, context))
        return applyPatch(files, { workspace, context })
      })
    },
  }
}
