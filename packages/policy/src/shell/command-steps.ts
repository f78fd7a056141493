import type { Assignment, Command, Redirection, Statement, SyntaxNode } from 'unbash'
import { forEachChild } from 'unbash'
import { scriptOfShell, shells } from './inner-scripts.ts'
import { readScript } from './read-script.ts'
import { type ShellWord, shellWord } from './words.ts'
import { formsOf, nameOf } from './wrappers.ts'

/** A program that a command line runs, and how its exit code shows in the result of the line. */
export interface CommandStep {
  /** Name and arguments, without wrappers such as `timeout 60`; undefined for a word that only the shell knows. Empty for a redirect alone. */
  readonly words: readonly (string | undefined)[]
  /** As it is written, with its wrappers and without redirects. */
  readonly source: string
  /**
   * Where its exit code is visible. `line`: if the line exits with 0, it has run and exited with 0. `printed`: a later command prints it, after the
   * text of `printedBehind`. `nowhere`: a later command, a pipe or `|| true` hides it.
   */
  readonly status: 'line' | 'printed' | 'nowhere'
  /** The text before the exit code that a later command prints; absent unless `status` is `printed`. */
  readonly printedBehind?: string
  /** Whether the line may have continued without it: after `&&` or `||`, in a branch, in a loop. */
  readonly isConditional: boolean
  /** Whether the line ends without waiting for it. */
  readonly isBackground: boolean
  /** Whether its output is part of the output of the line, as far as other programs pass it on. */
  readonly isShown: boolean
  /** The programs that its output passes through, with their arguments; a word that only the shell knows is ''. */
  readonly through: readonly (readonly string[])[]
  /** Its folder relative to the start of the line, by the preceding `cd`s; '' for the start, undefined if only the shell knows it. */
  readonly folder: string | undefined
  /** Files that the redirects of the command write, as they are written in the line. */
  readonly writes: readonly string[]
  /** The text of a here-document that the command reads; '' without one. */
  readonly input: string
}

const longestCommand = 50_000
const deepest = 4
const maxSteps = 400

/** How the surroundings of a command pass on its exit code. */
interface StepContext {
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
 * The programs that a command line runs, in the order of the text, with how the exit code of each is visible. For evaluating a line that has ended;
 * it does not permit anything. Empty if the line cannot be parsed. Accesses no file, and takes bounded time.
 */
export function commandSteps(command: string): readonly CommandStep[] {
  if (command.length > longestCommand) return []
  const walk = new Walk()
  const around: StepContext = { status: 'line', isConditional: false, isBackground: false, isShown: true, through: [] }
  walk.script(command, around, 0)
  return walk.steps.map((step, at) => shownLater(step, walk.steps.slice(at + 1)))
}

/** Output to a file that a later command prints counts as shown. */
function shownLater(step: CommandStep, later: readonly CommandStep[]): CommandStep {
  if (step.isShown || step.writes.every((path) => path.startsWith('/dev/'))) return step
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
  /** Whether `set -e` is in effect. */
  #stopsAtFailure = false
  /** Whether `set -o pipefail` is in effect. */
  #pipesFail = false
  /** Whether the shell ignores `set -e` here: in the conditions of `&&`, `||` and `!`. */
  #isTested = false
  /** Whether the shell may already have ended with exit code 0. */
  #mayHaveEnded = false
  #variables = new Map<string, ShellWord>()
  /** Functions and aliases of the line, which replace programs, each with whether it may end the shell. */
  readonly #own = new Map<string, boolean>()

  script(command: string, around: StepContext, depth: number): void {
    const { script } = readScript(command)
    if (script === undefined || (script.errors ?? []).length > 0) return
    this.#list(script.commands, around, depth)
  }

  #list(statements: readonly Statement[], around: StepContext, depth: number): void {
    for (const [at, statement] of statements.entries()) {
      if (this.steps.length > maxSteps) return
      const { command, background = false } = statement
      const isLast = at === statements.length - 1
      if (background) this.#inSubshell(() => this.#node(command, { ...hideStatus(around), isBackground: true }, depth))
      else if (isLast || this.#endsLine(command)) this.#node(command, around, depth)
      else this.#node(command, printedBy(statements[at + 1], command, around), depth)
    }
  }

  /** Whether the line ends if a statement fails, although others follow. */
  #endsLine(node: SyntaxNode): boolean {
    if (node.type !== 'AndOr') return this.#stopsAtFailure && !this.#isTested
    return node.operators.at(-1) === '||' && endsInFailure(node.commands.at(-1), ['exit'])
  }

  #node(node: SyntaxNode, around: StepContext, depth: number): void {
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
        return this.#inSubshell(() => this.#list(node.body.commands, around, depth))
      case 'Function':
        this.#own.set(node.name.value, mayEndShell(node.body))
        return undefined
      case 'If': {
        this.#list(node.clause.commands, hideStatus(around), depth)
        const branches = [node.then, ...node.elif.flatMap(({ clause, then }) => [clause, then]), node.else]
        for (const branch of branches)
          if (branch !== undefined) this.#list(branch.commands, asConditional(around), depth)
        return undefined
      }
      case 'For':
      case 'ArithmeticFor':
      case 'Select':
        return this.#list(node.body.commands, asConditional(around), depth)
      case 'While':
        this.#list(node.clause.commands, hideStatus(around), depth)
        return this.#list(node.body.commands, asConditional(around), depth)
      case 'Case':
        for (const { body } of node.items) this.#list(body.commands, asConditional(around), depth)
        return undefined
      default:
        return undefined
    }
  }

  #andOr(node: Extract<SyntaxNode, { type: 'AndOr' }>, around: StepContext, depth: number): void {
    const { commands, operators } = node
    for (const [at, command] of commands.entries()) {
      // `a && b` needs both, `a || b` neither, and `a || exit 1` needs a.
      const behind = operators.slice(at)
      const or = behind.indexOf('||')
      const isNeeded = or < 0 || (or === behind.length - 1 && endsInFailure(commands.at(-1)))
      const isOther = operators[at - 1] === '||'
      const inner = isNeeded && !isOther ? around : hideStatus(around)
      const isFailure = isOther && passesFailure(command)
      this.#tested(at < commands.length - 1, () => {
        const mayHaveEnded = this.#mayHaveEnded
        this.#node(command, at > 0 && inner.status === 'nowhere' ? asConditional(around) : inner, depth)
        if (isFailure) this.#mayHaveEnded = mayHaveEnded
      })
    }
  }

  #pipeline(node: Extract<SyntaxNode, { type: 'Pipeline' }>, around: StepContext, depth: number): void {
    const isNegated = node.prefixes.some(({ type }) => type === 'Negation')
    const { firstPrintedBehind, ...others } = around
    for (const [at, command] of node.commands.entries()) {
      const behind = node.commands.slice(at + 1).map(wordsOfNode)
      const isLast = behind.length === 0
      const isPrinted = at === 0 && firstPrintedBehind !== undefined && !isNegated
      const inner: StepContext = isPrinted
        ? { ...others, status: 'printed', printedBehind: firstPrintedBehind }
        : (isLast || this.#pipesFail) && !isNegated
          ? others
          : hideStatus(others)
      const step = (): void => this.#node(command, { ...inner, through: [...behind, ...around.through] }, depth)
      this.#tested(isNegated, () => {
        if (node.commands.length === 1) step()
        else this.#inSubshell(step)
      })
    }
  }

  #tested(isTested: boolean, work: () => void): void {
    const before = this.#isTested
    this.#isTested ||= isTested
    work()
    this.#isTested = before
  }

  /** Runs `work` as in a subshell: changes of shell options are undone afterwards. */
  #inSubshell(work: () => void): void {
    const [folder, stops, pipes, variables] = [this.#folder, this.#stopsAtFailure, this.#pipesFail, this.#variables]
    const mayHaveEnded = this.#mayHaveEnded
    this.#variables = new Map(variables)
    work()
    this.#folder = folder
    this.#stopsAtFailure = stops
    this.#pipesFail = pipes
    this.#variables = variables
    this.#mayHaveEnded = mayHaveEnded
  }

  /** Runs `work` as in a new shell, which inherits no options. */
  #inNewShell(work: () => void): void {
    const isTested = this.#isTested
    this.#inSubshell(() => {
      this.#stopsAtFailure = false
      this.#pipesFail = false
      this.#isTested = false
      work()
    })
    this.#isTested = isTested
  }

  #command(node: Command, around: StepContext, depth: number): void {
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
      if (program === 'eval') this.script(script, after, depth + 1)
      else this.#inNewShell(() => this.script(script, after, depth + 1))
      return
    }
    const texts = words.map(textOf)
    const isOwn = this.#own.has(name?.value ?? '')
    const { firstPrintedBehind: _, ...shown } =
      this.#mayHaveEnded && after.status === 'line' ? asConditional(after) : after
    if (program === 'export') for (const part of node.args) if (part.type === 'Assignment') this.#assign(part)
    this.#heed(program, texts, after.isConditional)
    if (this.#own.get(name?.value ?? '') === true || endsShell(program, words)) this.#mayHaveEnded = true
    this.steps.push({
      ...shown,
      words: isOwn ? [undefined, ...texts.slice(1)] : texts,
      source: all.map(({ source }) => source).join(' '),
      folder: this.#folder,
      writes,
      input,
    })
  }

  /** Applies what a builtin changes for the following commands. */
  #heed(program: string | undefined, texts: readonly (string | undefined)[], isConditional: boolean): void {
    if (program === 'cd' || program === 'pushd') this.#enter(texts)
    else if (program === 'set') this.#set(texts, isConditional)
    else if (program === 'alias')
      for (const text of texts.slice(1)) this.#own.set(text?.split('=', 1)[0] ?? '', /\bexit\b/.test(text ?? ''))
    else if (program === 'hash' && texts.includes('-p')) this.#own.set(texts.at(-1) ?? '', false)
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

  /** An option that may not have been set counts as not set. */
  #set([, ...args]: readonly (string | undefined)[], isConditional: boolean): void {
    for (const [at, word = ''] of args.entries()) {
      if (word === '--' || word === '-') return
      const isOn = !isConditional && !(/^[-+]/.test(word) ? word : (args[at - 1] ?? '')).startsWith('+')
      if (/^[-+][a-z]*e/.test(word) || word === 'errexit') this.#stopsAtFailure = isOn
      if (word === 'pipefail') this.#pipesFail = isOn
      // After `set -n`, the shell runs no further commands.
      if (/^-[a-z]*n/.test(word) || word === 'noexec') this.#mayHaveEnded = true
    }
  }

  #redirected(
    redirects: readonly Redirection[],
    around: StepContext,
  ): { readonly around: StepContext; readonly writes: readonly string[]; readonly input: string } {
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

function hideStatus({ printedBehind: _, firstPrintedBehind: __, ...others }: StepContext): StepContext {
  return { ...others, status: 'nowhere' }
}

function asConditional(around: StepContext): StepContext {
  return { ...hideStatus(around), isConditional: true }
}

function textOf({ kind, value, source }: ShellWord): string | undefined {
  return kind === 'literal' ? value : kind === 'glob' ? source : undefined
}

function wordsOfNode(node: SyntaxNode): readonly string[] {
  if (node.type !== 'Command') return ['']
  const all = [...(node.name === undefined ? [] : [node.name]), ...node.args].map((word) => shellWord(word))
  return (formsOf(all).at(-1) ?? all).map((word) => textOf(word) ?? '')
}

/** Whether the statement ends in a failure: `exit 1`, `false`, `return 1`, also at the end of a group. */
function endsInFailure(node: SyntaxNode | undefined, names: readonly string[] = ['exit', 'return', 'false']): boolean {
  if (node === undefined) return false
  if (node.type === 'BraceGroup') return endsInFailure(node.body.commands.at(-1)?.command, names)
  const [name = ''] = node.type === 'Command' ? wordsOfNode(node) : []
  return names.includes(name) && (name === 'false' || hasFailureCode(node, /^["']?\$\{?\?\}?["']?$/))
}

/** Whether the first argument is a failing exit code, which the shell takes modulo 256, or a text with one. */
function hasFailureCode(node: SyntaxNode, others: RegExp): boolean {
  const [code] = node.type === 'Command' ? node.args : []
  const text = code?.text ?? ''
  return /^\d{1,9}$/.test(text) ? Number(text) % 256 !== 0 : others.test(text)
}

/** Whether an `exit` directly after a failed command passes on its failure. */
function passesFailure(node: SyntaxNode): boolean {
  if (node.type !== 'Command' || wordsOfNode(node)[0] !== 'exit') return false
  return node.args.length === 0 || hasFailureCode(node, /^["']?\$\{?\?\}?["']?$/)
}

/** Whether these words may end the shell with exit code 0, now or at the end of the line: `exit`, `exec true`, `trap 'exit 0' EXIT`. */
function endsShell(program: string | undefined, [, ...args]: readonly ShellWord[]): boolean {
  const texts = args.map(({ source }) => source)
  if (program === 'command' || program === 'builtin') return /^["']?ex(?:it|ec)\b/.test(texts[0] ?? '')
  if (program === 'exec') return texts.length > 0
  if (program === 'trap') return mentionsExit.test(texts[0] ?? '')
  return program === 'exit' && !(/^\d{1,9}$/.test(texts[0] ?? '') && Number(texts[0]) % 256 !== 0)
}

const mentionsExit = /\b(?:exit|exec)\b/

/** Whether the body of a function contains an `exit`. */
function mayEndShell(node: SyntaxNode): boolean {
  if (node.type === 'Command') return /^(?:exit|exec|command|builtin|eval)$/.test(node.name?.value ?? '')
  let found = false
  forEachChild(node, (child) => {
    found ||= mayEndShell(child)
  })
  return found
}

/** How the exit code of a statement is shown by the next one: `echo "exit: $?"` prints it. */
function printedBy(next: Statement | undefined, node: SyntaxNode, around: StepContext): StepContext {
  const apart = hideStatus(around)
  if (next?.command.type !== 'Command') return apart
  const { name, args } = next.command
  if (name?.value !== 'echo' && name?.value !== 'printf') return apart
  const texts = args.map(({ text }) => text.replaceAll(/["']/g, '')).filter((text) => !/^-[neE]+$/.test(text))
  const [, before, variable] = /^(.*?)\$(\?|\{\?\}|\{PIPESTATUS\[0\]\})/s.exec(texts.join(' ')) ?? []
  const behind = before?.split(/\\n|\n/).at(-1)
  // The shell runs the content of `$(...)` first, which changes the exit code.
  if (before === undefined || behind === undefined || variable === undefined || /\$\(|`/.test(before)) return apart
  if (!variable.includes('PIPE')) return { ...apart, status: 'printed', printedBehind: behind }
  return node.type === 'Pipeline'
    ? { ...apart, firstPrintedBehind: behind }
    : { ...apart, status: 'printed', printedBehind: behind }
}
