import { isHarmlessAwk } from './programs/awk.ts'
import { isHarmlessSed } from './programs/sed.ts'
import type { ShellWord } from './words.ts'

/** The options of a program that filters text by a script. Any other option, or an abbreviation, may give it another script. */
interface FilterOptions {
  /** Option letters without a value. */
  readonly letters: string
  /** Option letters whose value is the rest of the word or the next word. */
  readonly lettersWithValue: string
  /** An option letter whose value is the rest of the word, or nothing. */
  readonly letterWithRest: string
  /** An option letter whose value is a script. */
  readonly letterOfScript: string
  readonly long: RegExp
  readonly longOfScript: string
  readonly isHarmless: (script: string) => boolean
}

const sed: FilterOptions = {
  letters: 'nErsuzb',
  lettersWithValue: 'l',
  letterWithRest: 'i',
  letterOfScript: 'e',
  long: /^--(?:quiet|silent|debug|posix|regexp-extended|separate|sandbox|unbuffered|null-data|zero-terminated|binary|follow-symlinks|help|version|in-place(?:=.*)?|line-length=.*)$/s,
  longOfScript: '--expression',
  isHarmless: isHarmlessSed,
}
const awk: FilterOptions = {
  letters: '',
  lettersWithValue: 'Fv',
  letterWithRest: '',
  letterOfScript: 'e',
  long: /^--(?:posix|csv|traditional|re-interval|characters-as-bytes|help|version)$/,
  longOfScript: '--source',
  isHarmless: isHarmlessAwk,
}
const forms: Readonly<Record<string, FilterOptions>> = {
  sed,
  gsed: sed,
  awk,
  gawk: awk,
  mawk: awk,
  nawk: awk,
  'original-awk': awk,
  goawk: awk,
}

/** Whether a filter program may run, read or write something through its script, with any options. */
export function scriptMayReach(name: string, args: readonly ShellWord[]): boolean {
  const form = Object.hasOwn(forms, name) ? forms[name] : undefined
  if (form === undefined) return false
  const scripts: (ShellWord | undefined)[] = []
  let isGivenEarly = false
  let first: ShellWord | undefined
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at]
    if (word === undefined) break
    const option = optionOf(form, word.value)
    if (option === 'unknown') return true
    if (option === 'none') {
      first ??= word
      continue
    }
    const value = option.value ?? (option.takesNext ? args[(at += 1)] : undefined)
    if (!option.isScript) continue
    scripts.push(value)
    isGivenEarly ||= first === undefined
  }
  return [...scripts, ...(isGivenEarly ? [] : [first])].some(
    (word) => word === undefined || word.kind !== 'literal' || !form.isHarmless(word.value),
  )
}

interface ReadOption {
  readonly isScript: boolean
  readonly value?: ShellWord
  readonly takesNext: boolean
}

function optionOf(form: FilterOptions, text: string): ReadOption | 'none' | 'unknown' {
  if (!text.startsWith('-') || text === '-') return 'none'
  if (text.startsWith('--')) {
    if (text === form.longOfScript) return { isScript: true, takesNext: true }
    if (text.startsWith(`${form.longOfScript}=`)) return script(text.slice(form.longOfScript.length + 1))
    return text === '--' || form.long.test(text) ? { isScript: false, takesNext: false } : 'unknown'
  }
  for (let at = 1; at < text.length; at += 1) {
    const letter = text.charAt(at)
    const rest = text.slice(at + 1)
    if (form.letterWithRest.includes(letter)) return { isScript: false, takesNext: false }
    if (form.lettersWithValue.includes(letter)) return { isScript: false, takesNext: rest === '' }
    if (form.letterOfScript.includes(letter)) return rest === '' ? { isScript: true, takesNext: true } : script(rest)
    if (!form.letters.includes(letter)) return 'unknown'
  }
  return { isScript: false, takesNext: false }
}

function script(value: string): ReadOption {
  return { isScript: true, value: { source: value, value, kind: 'literal' }, takesNext: false }
}
