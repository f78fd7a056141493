import type { Assignment, Command, Redirection, Statement, SyntaxNode } from 'unbash'
import { scriptOfShell, shells } from './inner-scripts.ts'
import { readScript } from './read-script.ts'
import { type ShellWord, shellWord } from './words.ts'
import { formsOf, nameOf } from './wrappers.ts'

/** A program that a command line runs, and how its end shows in what the line came to. */
export interface CommandStep {
  /** Name and arguments, without wrappers such as `timeout 60`; undefined for a word that only the shell knows. Without any: a redirect alone. */
  readonly words: readonly (string | undefined)[]
  /** As it is written, with its wrappers and without redirects. */
  readonly source: string
  /**
   * Where its exit code shows. `line`: a line that exits with 0 has run it, and it exited with 0. `printed`: a later command prints it, behind the text of
   * `printedBehind`. `nowhere`: what follows it, a pipe or `|| true` hides it.
   */
  readonly status: 'line' | 'printed' | 'nowhere'
  /** The text in front of the exit code that a later command prints; absent unless `status` is `printed`. */
  readonly printedBehind?: string
  /** Whether the line may have gone on without it: behind `&&` or `||`, in a branch, in a loop. */
  readonly isConditional: boolean
  /** Whether the line ends without waiting for it. */
  readonly isBackground: boolean
  /** Whether its output is part of the output of the line, as far as other programs let it through. */
  readonly isShown: boolean
  /** The programs that its output goes through, with their arguments; a word that only the shell knows is ''. */
  readonly through: readonly (readonly string[])[]
  /** Where it runs by the `cd`s before it, from where the line starts; '' there, undefined where only the shell knows. */
  readonly folder: string | undefined
  /** Files that its redirects write, as they are written. */
  readonly writes: readonly string[]
  /** The text that is given to it in the command line, by a here-document; '' without one. */
  readonly input: string
}

const longestCommand = 50_000
const deepest = 4
const mostSteps = 400

/** How what stands around a command lets its exit code through. */
interface Around {
  readonly status: CommandStep['status']
  readonly printedBehind?: string
  /** The same for the first command of a pipe. */
  readonly firstPrintedBehind?: string
  readonly isConditional: boolean
  readonly isBackground: boolean
  readonly isShown: boolean
  readonly through: readonly (readonly string[])[]
}

/**
 * The programs that a command line runs, in the order in which they are written, with how the exit code of each shows. For those who ask what came of a
 * line that has ended: it permits nothing. Empty where the line cannot be read. Touches no file, and takes a bounded time.
 */
export function commandSteps(command: string): readonly CommandStep[] {
  if (command.length > longestCommand) return []
  const walk = new Walk()
  const around: Around = { status: 'line', isConditional: false, isBackground: false, isShown: true, through: [] }
  walk.script(command, around, 0)
  return walk.steps.map((step, at) => shownLater(step, walk.steps.slice(at + 1)))
}

/** A file that a later command prints is shown. */
function shownLater(step: CommandStep, later: readonly CommandStep[]): CommandStep {
  if (step.isShown || step.writes.length === 0) return step
  const reader = later.find(
    ({ words: [name, ...args], isShown }) =>
      isShown && printers.has(name ?? '') && args.some((word) => word !== undefined && step.writes.includes(word)),
  )
  if (reader === undefined) return step
  return { ...step, isShown: true, through: [reader.words.map((word) => word ?? ''), ...reader.through] }
}

const printers: ReadonlySet<string> = new Set(['cat', 'tail', 'head', 'grep', 'egrep', 'rg', 'less', 'sed', 'awk'])

class Walk {
  readonly steps: CommandStep[] = []
  #folder: string | undefined = ''
  /** `set -e`. */
  #stopsAtFailure = false
  /** `set -o pipefail`. */
  #pipesFail = false
  #variables = new Map<string, ShellWord>()

  script(command: string, around: Around, depth: number): void {
    const { script } = readScript(command)
    if (script === undefined || (script.errors ?? []).length > 0) return
    this.#list(script.commands, around, depth)
  }

  #list(statements: readonly Statement[], around: Around, depth: number): void {
    for (const [at, statement] of statements.entries()) {
      if (this.steps.length > mostSteps) return
      const { command, background = false } = statement
      const isLast = at === statements.length - 1
      if (background) this.#apart(() => this.#node(command, { ...hidden(around), isBackground: true }, depth))
      else if (isLast || this.#endsLine(command)) this.#node(command, around, depth)
      else this.#node(command, printedBy(statements[at + 1], command, around), depth)
    }
  }

  /** Whether the line ends where a statement fails, although others follow. */
  #endsLine(node: SyntaxNode): boolean {
    if (node.type !== 'AndOr') return this.#stopsAtFailure
    return node.operators.at(-1) === '||' && endsInFailure(node.commands.at(-1), ['exit'])
  }

  #node(node: SyntaxNode, around: Around, depth: number): void {
    switch (node.type) {
      case 'Command':
        return this.#command(node, around, depth)
      case 'AndOr':
        return this.#andOr(node, around, depth)
      case 'Pipeline':
        return this.#pipeline(node, around, depth)
      case 'Redirected':
        return this.#node(node.command, this.#redirected(node.redirects, around).around, depth)
      case 'BraceGroup':
        return this.#list(node.body.commands, around, depth)
      case 'Subshell':
        return this.#apart(() => this.#list(node.body.commands, around, depth))
      case 'If': {
        this.#list(node.clause.commands, hidden(around), depth)
        const branches = [node.then, ...node.elif.flatMap(({ clause, then }) => [clause, then]), node.else]
        for (const branch of branches) if (branch !== undefined) this.#list(branch.commands, maybe(around), depth)
        return undefined
      }
      case 'For':
      case 'ArithmeticFor':
      case 'Select':
        return this.#list(node.body.commands, maybe(around), depth)
      case 'While':
        this.#list(node.clause.commands, hidden(around), depth)
        return this.#list(node.body.commands, maybe(around), depth)
      case 'Case':
        for (const { body } of node.items) this.#list(body.commands, maybe(around), depth)
        return undefined
      default:
        return undefined
    }
  }

  #andOr(node: Extract<SyntaxNode, { type: 'AndOr' }>, around: Around, depth: number): void {
    const { commands, operators } = node
    for (const [at, command] of commands.entries()) {
      // `a && b` needs both, `a || b` neither, and `a || exit 1` needs a.
      const behind = operators.slice(at)
      const or = behind.indexOf('||')
      const isNeeded = or < 0 || (or === behind.length - 1 && endsInFailure(commands.at(-1)))
      const isOther = operators[at - 1] === '||'
      const inner = isNeeded && !isOther ? around : hidden(around)
      this.#node(command, at > 0 && inner.status === 'nowhere' ? maybe(around) : inner, depth)
    }
  }

  #pipeline(node: Extract<SyntaxNode, { type: 'Pipeline' }>, around: Around, depth: number): void {
    const isNegated = node.prefixes.some(({ type }) => type === 'Negation')
    const { firstPrintedBehind, ...others } = around
    for (const [at, command] of node.commands.entries()) {
      const behind = node.commands.slice(at + 1).map(wordsOfNode)
      const isLast = behind.length === 0
      const isPrinted = at === 0 && firstPrintedBehind !== undefined && !isNegated
      const inner: Around = isPrinted
        ? { ...others, status: 'printed', printedBehind: firstPrintedBehind }
        : (isLast || this.#pipesFail) && !isNegated
          ? others
          : hidden(others)
      const step = (): void => this.#node(command, { ...inner, through: [...behind, ...around.through] }, depth)
      if (node.commands.length === 1) step()
      else this.#apart(step)
    }
  }

  /** What changes the shell is undone behind it. */
  #apart(work: () => void): void {
    const [folder, stops, pipes, variables] = [this.#folder, this.#stopsAtFailure, this.#pipesFail, this.#variables]
    this.#variables = new Map(variables)
    work()
    this.#folder = folder
    this.#stopsAtFailure = stops
    this.#pipesFail = pipes
    this.#variables = variables
  }

  #command(node: Command, around: Around, depth: number): void {
    for (const part of node.prefix) if (part.type === 'Assignment' && node.name === undefined) this.#assign(part)
    const { around: after, writes, input } = this.#redirected(node.redirects, around)
    const all = [...(node.name === undefined ? [] : [node.name]), ...node.args].map((word) =>
      shellWord(word, this.#variables),
    )
    const words = formsOf(all).at(-1) ?? all
    const [name, ...args] = words
    const program = name?.kind === 'literal' ? nameOf(name.value) : undefined
    const script = this.#scriptOf(program, args)
    if (script !== undefined && depth < deepest) {
      this.#apart(() => this.script(script, after, depth + 1))
      return
    }
    const texts = words.map(textOf)
    if (program === 'cd' || program === 'pushd') this.#enter(texts)
    else if (program === 'set') this.#set(texts)
    else if (program === 'export') for (const part of node.args) if (part.type === 'Assignment') this.#assign(part)
    const { firstPrintedBehind: _, ...shown } = after
    this.steps.push({
      ...shown,
      words: texts,
      source: all.map(({ source }) => source).join(' '),
      folder: this.#folder,
      writes,
      input,
    })
  }

  #scriptOf(program: string | undefined, args: readonly ShellWord[]): string | undefined {
    const word =
      program === 'eval' && args.length === 1 ? args[0] : shells.has(program ?? '') ? scriptOfShell(args) : undefined
    return typeof word === 'object' && word.kind === 'literal' ? word.value : undefined
  }

  #assign({ name, value, append }: Assignment): void {
    this.#variables.delete(name)
    if (value.type !== 'Word' || append === true) return
    const word = shellWord(value, this.#variables)
    if (word.kind === 'literal') this.#variables.set(name, word)
  }

  #enter([, ...args]: readonly (string | undefined)[]): void {
    const [target] = args.filter((word) => word !== '--' && word !== '-P' && word !== '-L')
    const from = this.#folder
    if (target === undefined || target === '-' || target.startsWith('~')) this.#folder = undefined
    else if (target.startsWith('/')) this.#folder = target
    else this.#folder = from === undefined ? undefined : from === '' ? target : `${from}/${target}`
  }

  #set([, ...args]: readonly (string | undefined)[]): void {
    for (const [at, word = ''] of args.entries()) {
      if (/^-[a-z]*e/.test(word)) this.#stopsAtFailure = true
      if (/^\+[a-z]*e/.test(word)) this.#stopsAtFailure = false
      if (word === 'pipefail') this.#pipesFail = !(args[at - 1] ?? '').startsWith('+')
      if (word === 'errexit') this.#stopsAtFailure = !(args[at - 1] ?? '').startsWith('+')
    }
  }

  #redirected(
    redirects: readonly Redirection[],
    around: Around,
  ): { readonly around: Around; readonly writes: readonly string[]; readonly input: string } {
    const writes: string[] = []
    let isShown = around.isShown
    let input = ''
    for (const redirect of redirects) {
      if (redirect.type === 'HereDoc') input += redirect.body.text
      if (redirect.type !== 'Redirect' || redirect.target === undefined) continue
      const { operator, descriptor, target } = redirect
      const { kind, value, source } = shellWord(target, this.#variables)
      const isCopy = operator === '>&' && /^(?:\d+-?|-)$/.test(value)
      if (!operator.includes('>') || isCopy) continue
      const isOfErrors = descriptor?.type === 'FileDescriptor' && descriptor.value > 1
      if (!isOfErrors) isShown = value === '/dev/stdout' || value === '/dev/stderr' || value === '/dev/tty'
      writes.push(kind === 'literal' ? value : source)
    }
    return { around: { ...around, isShown }, writes, input }
  }
}

function hidden({ printedBehind: _, firstPrintedBehind: __, ...others }: Around): Around {
  return { ...others, status: 'nowhere' }
}

function maybe(around: Around): Around {
  return { ...hidden(around), isConditional: true }
}

function textOf({ kind, value, source }: ShellWord): string | undefined {
  return kind === 'literal' ? value : kind === 'glob' ? source : undefined
}

function wordsOfNode(node: SyntaxNode): readonly string[] {
  if (node.type !== 'Command') return ['']
  const all = [...(node.name === undefined ? [] : [node.name]), ...node.args].map((word) => shellWord(word))
  return (formsOf(all).at(-1) ?? all).map((word) => textOf(word) ?? '')
}

/** `exit 1`, `false`, `return 1`, also at the end of a group. */
function endsInFailure(node: SyntaxNode | undefined, names: readonly string[] = ['exit', 'return', 'false']): boolean {
  if (node === undefined) return false
  if (node.type === 'BraceGroup') return endsInFailure(node.body.commands.at(-1)?.command, names)
  const [name = '', code] = node.type === 'Command' ? wordsOfNode(node) : []
  return names.includes(name) && (name === 'false' || (code !== undefined && code !== '0'))
}

/** How the exit code of a statement shows by that behind it: `echo "exit: $?"` prints it. */
function printedBy(next: Statement | undefined, node: SyntaxNode, around: Around): Around {
  const apart = hidden(around)
  if (next?.command.type !== 'Command') return apart
  const { name, args } = next.command
  if (name?.value !== 'echo' && name?.value !== 'printf') return apart
  const texts = args.map(({ text }) => text.replaceAll(/["']/g, '')).filter((text) => !/^-[neE]+$/.test(text))
  const [, before, variable] = /^(.*?)\$(\?|\{\?\}|\{PIPESTATUS\[0\]\})/s.exec(texts.join(' ')) ?? []
  const behind = before?.split(/\\n|\n/).at(-1)
  if (behind === undefined || variable === undefined) return apart
  if (!variable.includes('PIPE')) return { ...apart, status: 'printed', printedBehind: behind }
  return node.type === 'Pipeline'
    ? { ...apart, firstPrintedBehind: behind }
    : { ...apart, status: 'printed', printedBehind: behind }
}
