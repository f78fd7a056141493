import { isJsonObject } from '@halting/core/adapters'
import { calledPath, isInsideAny } from '@halting/policy/files'
import { isAbsolute, relative } from 'node:path'
import { patchToolName, shownPatchFiles } from '../../frontends/patch-files.ts'

/** Commands that delete, or write over what cannot be had back. What merely looks like one counts: nothing but the default answer depends on it. */
const harmful = [
  /\b(?:rm|rmdir|unlink|shred|truncate|dd|srm|mkfs[.\w]*|del|Remove-Item)\b/,
  /\bgit\b[^|;&\n]*\bpush\b[^|;&\n]*(?:\s--force|\s-[a-zA-Z]*f|\s--delete|\s--mirror|\s\+\S|\s:\S)/,
  /\bgit\b[^|;&\n]*\b(?:reset\s[^|;&\n]*--hard|clean\b|checkout\s[^|;&\n]*(?:-f|--)|restore\b|branch\s[^|;&\n]*-D|stash\s+(?:drop|clear)|filter-branch)/,
  /\bfind\b[^|;&\n]*\s-(?:delete|exec|execdir|ok)\b/,
  /\s--delete\b/,
  // What was fetched is run unseen, and what runs as root may do anything.
  /\|\s*(?:sudo\s+)?(?:ba|z|da|k|fi)?sh\b/,
  /\bsudo\b/,
  /\b(?:drop|truncate)\s+(?:table|database|schema)\b/i,
]

/** Whether a call may delete, push by force, run what was fetched or write outside the folder: then no key that is pressed by habit says yes (spec R-TERM-31). */
export function mayHarm(tool: string, input: unknown, cwd: string): boolean {
  if (!isJsonObject(input)) return true
  const path = input['file_path'] ?? input['notebook_path']
  if (tool === 'Edit' || tool === 'Write' || tool === 'NotebookEdit')
    return typeof path !== 'string' || isOutside(path, cwd)
  if (tool === patchToolName) {
    const files = shownPatchFiles(input)
    const paths = files.flatMap((file) => [file.path, file.target ?? file.path])
    return (
      files.length === 0 || files.some(({ kind }) => kind === 'delete') || paths.some((each) => isOutside(each, cwd))
    )
  }
  const command = input['command']
  if ((tool !== 'Bash' && tool !== 'Wait') || typeof command !== 'string') return false
  return harmful.some((pattern) => pattern.test(command)) || writesOutside(command, cwd)
}

/** As a tool reads the path, and where it leads. */
function isOutside(path: string, cwd: string): boolean {
  const called = calledPath(path, cwd)
  const from = relative(cwd, called)
  return from.startsWith('..') || isAbsolute(from) || !isInsideAny(called, [cwd])
}

/** What is redirected, copied or moved to a path that does not lie below the folder. */
function writesOutside(command: string, cwd: string): boolean {
  const targets = [...command.matchAll(/>>?\|?\s*(['"]?)([^\s'"|;&<>]+)\1/g)].map(([, , target = '']) => target)
  const moves = /\b(?:cp|mv|install|ln|rsync|tee|scp)\b/.test(command)
    ? [...command.matchAll(/\s(['"]?)((?:[~/$]|\.\.)[^\s'"|;&<>]*)\1/g)].map(([, , target = '']) => target)
    : []
  return [...targets, ...moves].some(
    (target) => target !== '/dev/null' && (/^[~$]/.test(target) || isOutside(target, cwd)),
  )
}
