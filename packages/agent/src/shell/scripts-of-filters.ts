import { isHarmlessAwk } from './programs/awk.ts'
import { isHarmlessSed } from './programs/sed.ts'
import type { ShellWord } from './words.ts'

interface Form {
  /** The script stands in these. */
  readonly gives: RegExp
  /** It is read from a file. */
  readonly reads: RegExp
  /** An option that takes the next word along. */
  readonly takes: RegExp
  readonly isHarmless: (script: string) => boolean
}

const sed: Form = {
  gives: /^(?:-[A-Za-z]*e|--expression(?:=|$))/,
  reads: /^(?:-[A-Za-z]*f|--fil)/,
  takes: /^(?:-l|--line-length)$/,
  isHarmless: isHarmlessSed,
}
const awk: Form = {
  gives: /^(?:-e|--source)/,
  reads: /^(?:-[fEilW]|--(?:file|exec|include|load))/,
  takes: /^-[Fv]$/,
  isHarmless: isHarmlessAwk,
}
const forms: Readonly<Record<string, Form>> = { sed, awk, gawk: awk, mawk: awk, nawk: awk }

/** Whether a program that filters text may run, read or write by its script, whatever its options are. */
export function scriptMayReach(name: string, args: readonly ShellWord[]): boolean {
  const form = Object.hasOwn(forms, name) ? forms[name] : undefined
  if (form === undefined) return false
  const scripts: (ShellWord | undefined)[] = []
  let first: ShellWord | undefined
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at]
    const value = word?.value ?? ''
    if (form.gives.test(value))
      scripts.push(/^(?:-[A-Za-z]*e|--expression|--source)$/.test(value) ? args[(at += 1)] : undefined)
    else if (form.reads.test(value)) return true
    else if (form.takes.test(value)) at += 1
    else if (!value.startsWith('-') || value === '-') first ??= word
  }
  return (scripts.length > 0 ? scripts : [first]).some(
    (word) => word === undefined || word.kind !== 'literal' || !form.isHarmless(word.value),
  )
}
