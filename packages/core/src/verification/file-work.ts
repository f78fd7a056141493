import { headOf } from '../values/text.ts'
import { fieldsOf } from '../values/validators.ts'

// Spec R-VERI-1.
/**
 * What a call did to files, as far as its tool knows. It decides whether the last change of a run was checked. A call
 * that both changed and checked files has checked its own change. JSON.
 */
export type FileWork = {
  /** Lines changed, added or removed: a whole number; zero when absent. */
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
