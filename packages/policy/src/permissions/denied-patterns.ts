import { patchToolName } from '../files/patch-format.ts'
import type { DeniedPatterns } from '../sandbox/describe.ts'
import type { PermissionRule } from './rule.ts'

/** The files that deny rules name: confinement protects them. */
export function deniedPatterns(deny: readonly PermissionRule[]): DeniedPatterns {
  const pathPatterns = (tools: ReadonlySet<string>): DeniedPatterns['read'] =>
    deny.flatMap(({ tool, spec }) => (spec.kind === 'path' && tools.has(tool) ? [spec.pattern] : []))
  return { read: pathPatterns(readers), edit: pathPatterns(writers) }
}

const readers: ReadonlySet<string> = new Set(['Read', 'Grep', 'Glob'])
const writers: ReadonlySet<string> = new Set(['Edit', 'Write', 'NotebookEdit', patchToolName])
