import { nameOf, formsOf } from './wrappers.ts'
import type { ShellWord } from './words.ts'

/** A command inside the arguments of another one. */
export type InnerScript =
  | { readonly kind: 'script'; readonly script: string }
  | { readonly kind: 'words'; readonly words: readonly ShellWord[] }
  | { readonly kind: 'unknown'; readonly why: string }

const shells: ReadonlySet<string> = new Set(['bash', 'sh', 'dash', 'zsh', 'ksh', 'ash', 'fish', 'rbash'])

/** Commands that a command runs from its arguments: `eval`, `bash -c`, `trap`, `find -exec`. */
export function scriptsWithin(command: readonly ShellWord[]): readonly InnerScript[] {
  // With the wrappers off: `nohup bash -c ...` is `bash -c ...`.
  const [name, ...args] = formsOf(command).at(-1) ?? []
  if (name === undefined) return []
  const program = nameOf(name.value)
  if (program === 'eval') return args.length === 0 ? [] : [textScript(args, 'eval')]
  if (program === 'trap') return trapScript(args)
  if (program === 'find') return findScripts(args)
  if (shells.has(program)) return shellScript(args, program)
  return []
}

function textScript(words: readonly ShellWord[], program: string): InnerScript {
  return words.every((word) => word.kind === 'literal')
    ? { kind: 'script', script: words.map((word) => word.value).join(' ') }
    : { kind: 'unknown', why: `what ${program} runs is known only when it runs` }
}

function trapScript(args: readonly ShellWord[]): readonly InnerScript[] {
  const [script] = args.filter((word) => word.value !== '--')
  return script === undefined || script.value === '-' || script.value === '-l' || script.value === '-p'
    ? []
    : [textScript([script], 'trap')]
}

function shellScript(args: readonly ShellWord[], program: string): readonly InnerScript[] {
  const flag = args.findIndex((word) => /^-[A-Za-z]*c[A-Za-z]*$/.test(word.value) || word.kind !== 'literal')
  if (flag === -1) return []
  if (args[flag]?.kind !== 'literal')
    return [{ kind: 'unknown', why: `what ${program} runs is known only when it runs` }]
  const script = args.slice(flag + 1).find((word) => !/^[-+]/.test(word.value))
  return script === undefined ? [] : [textScript([script], program)]
}

const findRunners: ReadonlySet<string> = new Set(['-exec', '-execdir', '-ok', '-okdir'])

function findScripts(args: readonly ShellWord[]): readonly InnerScript[] {
  return args.flatMap((word, index): readonly InnerScript[] => {
    if (!findRunners.has(word.value)) return []
    const rest = args.slice(index + 1)
    const end = rest.findIndex(({ value }) => value === ';' || value === '+')
    return [{ kind: 'words', words: end === -1 ? rest : rest.slice(0, end) }]
  })
}
