import { headOf } from '../values/text.ts'
import { fieldsOf } from '../values/validators.ts'

// Spec R-VERI-1.
/**
 * What a call did to files, as far as its tool knows. It determines whether the last change of a run was checked. If a
 * call both changed and checked files, its own change is checked. JSON.
 */
export type FileWork = {
  /** Number of lines changed, added or removed: an integer; zero when absent. */
  readonly changedLines?: number
  /** A completed check: tests, a build, a linter, a type checker, or a program that the run had changed. */
  readonly check?: {
    /** The command, as a person would type it. */
    readonly command: string
    /** Whether it found no problems. */
    readonly passed: boolean
  }
}

const maxCommandLength = 500

/** Parses the file work that a tool returned; undefined if it reports nothing. Never throws. */
export function fileWorkOf(value: unknown): FileWork | undefined {
  const { changedLines, check } = fieldsOf(value) ?? {}
  const { command, passed } = fieldsOf(check) ?? {}
  const isChange = typeof changedLines === 'number' && Number.isSafeInteger(changedLines) && changedLines > 0
  const isCheck = typeof command === 'string' && command.trim() !== '' && typeof passed === 'boolean'
  if (!isChange && !isCheck) return undefined
  return {
    ...(isChange && { changedLines }),
    ...(isCheck && { check: { command: headOf(command.trim(), maxCommandLength), passed } }),
  }
}
