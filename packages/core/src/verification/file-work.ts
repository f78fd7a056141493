import { headOf } from '../values/text.ts'
import { fieldsOf } from '../values/given.ts'

// Spec R-VERI-1.
/**
 * What a call did to files, as far as its tool can tell: whether the last change of a run was checked follows from these. A call that did both is one that
 * checked what it had changed. JSON.
 */
export type FileWork = {
  /** Lines that it changed, added or removed: a whole number; none when absent. */
  readonly changedLines?: number
  /** A check that it ran to its end: tests, a build, a linter, a type check, or a program that the run had changed. */
  readonly check?: {
    /** What was run, as a person would type it. */
    readonly command: string
    /** Whether it found nothing wrong. */
    readonly passed: boolean
  }
}

const longestCommand = 500

/** What a tool gave, read; undefined where it tells of nothing. Never throws. */
export function fileWorkOf(given: unknown): FileWork | undefined {
  const { changedLines, check } = fieldsOf(given) ?? {}
  const { command, passed } = fieldsOf(check) ?? {}
  const isChange = typeof changedLines === 'number' && Number.isSafeInteger(changedLines) && changedLines > 0
  const isCheck = typeof command === 'string' && command.trim() !== '' && typeof passed === 'boolean'
  if (!isChange && !isCheck) return undefined
  return {
    ...(isChange && { changedLines }),
    ...(isCheck && { check: { command: headOf(command.trim(), longestCommand), passed } }),
  }
}
