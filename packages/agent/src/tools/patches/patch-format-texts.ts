// Inputs of the apply_patch tool that are not patches.
import type { PatchProblem } from '@halting/policy/files'

export const noPatch = 'the field input is missing. It must be a string with a patch that starts with *** Begin Patch.'

/** Why a text is not a patch. */
export function notPatch(problem: PatchProblem): string {
  switch (problem.kind) {
    case 'no begin':
      return 'the first line must be *** Begin Patch.'
    case 'no end':
      return 'the last line must be *** End Patch. The patch may have been cut off: send all of it, or split it into smaller patches.'
    case 'text after end':
      return 'there is text after *** End Patch. Send only the patch.'
    case 'no files':
      return 'the patch is empty. Add a section that starts with *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH.'
    case 'no path':
      return `line ${problem.line} has no path. Write it after the colon: *** Update File: src/app.ts`
    case 'bad path':
      return `the path in line ${problem.line} contains a NUL character.`
    case 'no hunks':
      return `line ${problem.line} updates ${problem.path}, but no hunk follows. Add one that starts with @@.`
    case 'no header':
      return `line ${problem.line} must start a section (*** Add File: PATH, *** Update File: PATH or *** Delete File: PATH). Received ${quoted(problem.text)}.`
    case 'no plus':
      return `line ${problem.line}: each line of an added file must start with +. Received ${quoted(problem.text)}.`
    case 'no sign':
      return `line ${problem.line}: each line of a hunk must start with a space (unchanged), - (removed) or + (added). Received ${quoted(problem.text)}.`
  }
}

/** A line in quotes, at most 80 characters of it. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text)
}
