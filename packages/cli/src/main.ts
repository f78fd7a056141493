import { checkFlagConflicts, checkOnePrompt, checkOneSession, flagWarnings } from './flags/flag-conflicts.ts'
import { type Command, isCommand, interpretWord, refuseMisspelledCommand } from './flags/commands.ts'
import type { Flags } from './flags/flags.ts'
import { refuseFlagsOfOthers, refuseLimits } from './flags/flag-commands.ts'
import type { HelpPage } from './flags/help.ts'
import { argumentGroups, type ParsedArguments, parseFlags } from './flags/parse.ts'
import { FailedError } from './failed-error.ts'
import { InterruptedError } from './interrupted-error.ts'
import { signalExitCodes } from './io/exit-codes.ts'
import { programMessage } from './io/figures.ts'
import { brokenExitCode, createOutput } from './io/output.ts'
import { standardInput } from './io/standard-input.ts'
import type { Program } from './program.ts'
import type { MissingKey } from './setup/first-start.ts'
import { UsageError } from './usage-error.ts'

// Loads only modules that parse the flags; everything else is imported on use. `startScripts` of
// scripts/program-bundle.mjs lists what each start loads.

export { isCommand } from './flags/commands.ts'

/** Runs the program with these arguments, and returns the exit code. Resolves after all output was written. */
export function main(argv: readonly string[]): Promise<number> {
  const output = createOutput(process.stdout, process.stderr)
  const { env } = process
  const home = new URL('../', import.meta.url)
  return mainWith({ argv, env, cwd: workingDirectory, stdin: standardInput(), output, home })
}

/** Like `main`, with the environment as parameters. `cwd` is called once, and may throw. */
export async function mainWith(program: Omit<Program, 'cwd'> & { readonly cwd: () => string }): Promise<number> {
  const { output, cwd } = program
  const exitCode = await (async () => dispatch({ ...program, cwd: cwd() }))().catch((thrown: unknown) => {
    if (thrown instanceof InterruptedError) return signalExitCodes.SIGINT
    output.err(programMessage(errorText(thrown)))
    return isUsage(thrown) ? 2 : 1
  })
  await output.flush()
  // If output could not be written, the program did not succeed.
  return exitCode === 0 && output.broken !== undefined ? brokenExitCode(output.broken) : exitCode
}

/** @throws UsageError if the working directory no longer exists */
function workingDirectory(): string {
  try {
    return process.cwd()
  } catch {
    throw new UsageError('The working directory no longer exists. Change to an existing directory.')
  }
}

async function dispatch(program: Program): Promise<number> {
  const named = commandIn(program.argv)
  if (named !== undefined) {
    const { command, others } = named
    if (command === 'mcp') {
      const { mcp } = await import('./mcp/mcp.ts')
      return mcp(others, program)
    }
    if (command === 'help') {
      const { pageNamed } = await import('./flags/help-page.ts')
      return showHelp(pageNamed(others), program)
    }
    const parsed = parseArguments(others, command)
    return (
      serveProgramFlags(parsed, program, command) ??
      withSessionStore(parsed.flags, program, command, (withStore) => runCommand(command, parsed, withStore))
    )
  }
  if (isHosted(program.argv)) {
    const { readHostProgram: hosted } = await import('./host/host-program.ts')
    const parsed = hosted(program)
    return (
      serveProgramFlags({ flags: parsed.flags, words: [] }, program) ??
      withSessionStore(parsed.flags, program, undefined, (withStore) => parsed.serve(withStore))
    )
  }
  const { flags, words } = parseArguments(program.argv)
  const served = serveProgramFlags({ flags, words }, program)
  if (served !== undefined) return served
  const [word] = words
  if (word !== undefined && mayBeCommand(word, flags, program.argv)) {
    const parsed = interpretWord(word)
    if (parsed.kind === 'slip') return askAboutMisspelling(word, parsed.of, program)
  }
  return withSessionStore(flags, program, undefined, (withStore) => runOrFirstStart(flags, words, withStore))
}

/** Runs `work` while sessions are stored where the flag, the variable or the settings specify. */
async function withSessionStore(
  flags: Flags,
  program: Program,
  command: Command | undefined,
  work: (program: Program) => Promise<number>,
): Promise<number> {
  const { withConfiguredStore } = await import('./session-store/configured-store.ts')
  const wanted = await withConfiguredStore(flags, program, command)
  if (wanted.sessionStore === undefined) return work(wanted)
  const { openSessionStore } = await import('./session-store/open-store.ts')
  const opened = openSessionStore(wanted.sessionStore, wanted)
  try {
    return await work(wanted)
  } finally {
    await opened.close()
  }
}

/** The command of a call, even if flags precede it. After `-p` or `--`, a word is a prompt. */
function commandIn(
  argv: readonly string[],
): { readonly command: Command; readonly others: readonly string[] } | undefined {
  const [first, ...others] = argv
  if (isCommand(first)) return { command: first, others }
  if (first?.startsWith('-') !== true || isHosted(argv)) return undefined
  const groups = argumentGroups(argv)
  const at = groups.findIndex(({ flag }) => flag === undefined)
  const [word] = groups[at]?.tokens ?? []
  if (!isCommand(word) || groups.some(({ flag }) => flag === 'print')) return undefined
  // Some commands change files, so a word that may be a prompt runs none of them.
  const chosen = groups.find(({ flag }) => flag === 'continue' || flag === 'resume' || flag === 'forkSession')
  if (chosen !== undefined)
    throw new UsageError(
      `"${word}" is a command, and ${chosen.tokens[0]} starts a session. Nothing ran. For the command, use halting ${word}. For a prompt, put -- or -p before it.`,
    )
  return { command: word, others: groups.toSpliced(at, 1).flatMap(({ tokens }) => tokens) }
}

/** Whether a word may be a command: not a sentence, a path or an address, and not after `-p` or `--`. */
function mayBeCommand(word: string, flags: Flags, argv: readonly string[]): boolean {
  return flags.print !== true && /^[\w-]+$/.test(word) && !argv.includes('--')
}

/** Asks whether a word is a misspelled command or a prompt, since a typo must not cost a request. */
async function askAboutMisspelling(word: string, command: Command, program: Program): Promise<number> {
  const { stdin, output } = program
  if (!stdin.isTTY || !output.isTerminal.stdout || !output.isTerminal.stderr)
    return refuseMisspelledCommand(word, command)
  const { askLine } = await import('./io/ask.ts')
  output.err(`There is no command "${word}".\n`)
  const question = `Run halting ${command} (c), send it as a prompt (p), or quit (Enter)? [c/p/Q] `
  const answer = (await askLine(question, { stdin, stderr: process.stderr }))?.toLowerCase() ?? ''
  const rest = argumentGroups(program.argv).flatMap(({ flag, tokens }) => (flag === undefined ? [] : tokens))
  if (answer.startsWith('c')) return dispatch({ ...program, argv: [command, ...rest] })
  if (answer.startsWith('p')) return dispatch({ ...program, argv: [...rest, '--', word] })
  return 2
}

/** Whether a host sends messages on stdin. */
function isHosted(argv: readonly string[]): boolean {
  const flags = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : argv.length)
  return flags.some(
    (argument, at) =>
      argument === '--input-format=stream-json' || (argument === '--input-format' && flags[at + 1] === 'stream-json'),
  )
}

const oneCommand = 'halting permissions takes one Bash command. Put it in quotes: halting permissions "npm test".'

function parseArguments(argv: readonly string[], command?: Command): ParsedArguments {
  const parsed = parseFlags(argv, { command })
  if (parsed.flags.help === true || parsed.flags.version === true) return parsed
  checkFlagConflicts(parsed.flags)
  if (command !== undefined && takesSession.has(command)) checkOneSession(command, parsed.words)
  else if (command === 'permissions' && parsed.words.length > 1) throw new UsageError(oneCommand)
  else if (command === undefined || !takesWords.has(command)) checkOnePrompt(parsed.words)
  const [word] = parsed.words
  if (command !== undefined && !takesWord.has(command) && !takesWords.has(command) && word !== undefined) {
    throw new UsageError(
      `halting ${command} takes only flags. To send "${command} ${word} …" as a prompt, put it in quotes after -p.`,
    )
  }
  refuseFlagsOfOthers(parsed.flags, command)
  refuseLimits(parsed.flags, command)
  refuseFlagsOfClusters(parsed.flags, command)
  return parsed
}

/** @throws UsageError for a flag of clusters that this command does not support */
function refuseFlagsOfClusters({ cluster, tenant }: Flags, command?: Command): void {
  if (cluster !== undefined && !ofClusters.has(command))
    throw new UsageError(
      '--cluster is only valid with -p, acp, sessions, why, what-if, replay, report, inspect, approve, deny, doctor and cluster budget.',
    )
  const isOfOpening = cluster !== undefined && beginsSessions.has(command)
  const takesTenant = command === 'serve' || command === 'cluster' || command === 'sessions' || isOfOpening
  if (tenant !== undefined && !takesTenant)
    throw new UsageError('--tenant needs halting serve, or a new session with --cluster.')
}

/** Commands that start sessions; on a cluster, the options of a new session name the tenant. */
const beginsSessions: ReadonlySet<Command | undefined> = new Set<Command | undefined>([undefined, 'acp'])
const ofClusters: ReadonlySet<Command | undefined> = new Set<Command | undefined>([
  undefined,
  'acp',
  'approve',
  'cluster',
  'deny',
  'doctor',
  'inspect',
  'replay',
  'report',
  'sessions',
  'what-if',
  'why',
])
const takesWords: ReadonlySet<Command> = new Set<Command>([
  'approve',
  'budget',
  'cluster',
  'completion',
  'deny',
  'grade',
  'inspect',
  'memory',
  'report',
  'rewind',
  'sessions',
  'what-if',
])
const takesSession: ReadonlySet<Command> = new Set<Command>(['replay', 'undo', 'why'])
const takesWord: ReadonlySet<Command | undefined> = new Set<Command>([
  'acp',
  'models',
  'context',
  'loop',
  'permissions',
  'trust',
  ...takesSession,
])

function serveProgramFlags(
  { flags, words }: ParsedArguments,
  program: Program,
  command?: Command,
): Promise<number> | undefined {
  if (flags.version === true) return showVersion(program)
  return flags.help === true ? showHelpOfCall({ flags, words }, program, command) : undefined
}

/** At the first start there is no key. This prints an introduction before anything else happens. */
async function runOrFirstStart(flags: Flags, words: readonly string[], program: Program): Promise<number> {
  const run = (): Promise<number> => runPrompt(flags, words, program)
  try {
    return await run()
  } catch (thrown) {
    if (!isMissingKey(thrown)) throw thrown
    const { firstStart } = await import('./setup/first-start.ts')
    return firstStart(thrown, flags, program, run)
  }
}

/** Checks a field instead of the class, so that the models package need not be loaded. */
function isMissingKey(thrown: unknown): thrown is Error & MissingKey {
  return thrown instanceof Error && 'keyVariables' in thrown
}

async function runPrompt(flags: Flags, words: readonly string[], program: Program): Promise<number> {
  const { output, stdin } = program
  const isInteractive = flags.print !== true && stdin.isTTY && output.isTerminal.stdout
  if (flags.cluster !== undefined && !isInteractive) {
    const { promptOnCluster } = await import('./cluster/prompt.ts')
    return promptOnCluster(flags, words, program)
  }
  if (isInteractive) {
    for (const warning of flagWarnings(flags)) output.err(programMessage(warning))
    const { runTerminal } = await import('./terminal/run-terminal.ts')
    return runTerminal(flags, words, program)
  }
  if (flags.resume === '') {
    const { printResumableSessions } = await import('./sessions/sessions.ts')
    return printResumableSessions(program)
  }
  for (const warning of flagWarnings(flags)) output.err(programMessage(warning))
  const { headless } = await import('./headless/headless.ts')
  return headless(flags, words, program)
}

/** Editors append the word `setup` to their own call of `halting acp` to set up a key in a terminal (spec R-ACP-19). */
async function runAcp({ flags, words: [word] }: ParsedArguments, program: Program): Promise<number> {
  if (word === undefined) {
    const { acp } = await import('./acp/acp.ts')
    return acp(flags, program)
  }
  if (word !== 'setup')
    throw new UsageError(`halting acp takes flags, or the word setup. "${word}" is neither: remove it.`)
  const { setup } = await import('./setup/setup.ts')
  return setup({}, program)
}

async function runCommand(
  command: Exclude<Command, 'mcp' | 'help'>,
  { flags, words }: ParsedArguments,
  program: Program,
): Promise<number> {
  switch (command) {
    case 'acp':
      return runAcp({ flags, words }, program)
    case 'approve':
    case 'deny': {
      const { answer } = await import('./sessions/answer.ts')
      return answer(command, flags, words, program)
    }
    case 'budget': {
      const { budget } = await import('./budget/budget.ts')
      return budget(flags, words, program)
    }
    case 'check': {
      const { check } = await import('./check/check.ts')
      return check(flags, program)
    }
    case 'cluster':
    case 'serve':
      return runCluster(command, { flags, words }, program)
    case 'grade':
    case 'replay':
    case 'report':
    case 'what-if':
    case 'why':
      return runOverSessions(command, { flags, words }, program)
    case 'config':
    case 'permissions':
    case 'trust':
      return runOnSettings(command, { flags, words }, program)
    case 'completion':
    case 'demo':
    case 'init':
      return runWithoutSession(command, { flags, words }, program)
    case 'context': {
      const { context } = await import('./context/context.ts')
      return context(flags, words, program)
    }
    case 'doctor': {
      const { doctor } = await import('./doctor/doctor.ts')
      return doctor(flags, program)
    }
    case 'rewind':
    case 'sessions':
    case 'undo':
      return runOnSession(command, { flags, words }, program)
    case 'inspect': {
      const { inspect } = await import('./inspect/inspect.ts')
      return inspect(flags, words, program)
    }
    case 'loop':
      return runLoop(flags, words, program)
    case 'memory': {
      const { memory } = await import('./memory/memory.ts')
      return memory(flags, words, program)
    }
    case 'models': {
      const { listModels } = await import('./list-models/list-models.ts')
      return listModels(flags, words, program)
    }
    case 'setup': {
      const { setup } = await import('./setup/setup.ts')
      return setup(flags, program)
    }
  }
}

/** Commands about effective settings. */
async function runOnSettings(
  command: 'config' | 'permissions' | 'trust',
  { flags, words }: ParsedArguments,
  program: Program,
): Promise<number> {
  switch (command) {
    case 'config': {
      const { config } = await import('./config/config.ts')
      return config(flags, program)
    }
    case 'permissions': {
      const { explainPermissions } = await import('./permissions/permissions.ts')
      return explainPermissions(flags, words, program)
    }
    case 'trust': {
      const { trust } = await import('./trust/trust.ts')
      return trust(flags, words, program)
    }
  }
}

/** Commands about finished sessions. */
async function runOverSessions(
  command: 'grade' | 'replay' | 'report' | 'what-if' | 'why',
  { flags, words }: ParsedArguments,
  program: Program,
): Promise<number> {
  switch (command) {
    case 'grade': {
      const { grade } = await import('./grade/grade.ts')
      return grade(flags, words, program)
    }
    case 'replay': {
      const { replaySession } = await import('./replay/replay.ts')
      return replaySession(flags, words, program)
    }
    case 'report': {
      const { report } = await import('./report/report.ts')
      return report(flags, words, program)
    }
    case 'what-if': {
      const { whatIfCommand } = await import('./what-if/what-if.ts')
      return whatIfCommand(flags, words, program)
    }
    case 'why': {
      const { why } = await import('./why/why.ts')
      return why(flags, words, program)
    }
  }
}

/** Commands that change stored sessions or their files. */
async function runOnSession(
  command: 'rewind' | 'sessions' | 'undo',
  { flags, words }: ParsedArguments,
  program: Program,
): Promise<number> {
  switch (command) {
    case 'rewind': {
      const { rewind } = await import('./undo/rewind.ts')
      return rewind(flags, words, program)
    }
    case 'sessions': {
      const { sessions } = await import('./sessions/sessions.ts')
      return sessions(flags, words, program)
    }
    case 'undo': {
      const { undo } = await import('./undo/undo.ts')
      return undo(flags, words, program)
    }
  }
}

/** Commands that need no session. */
async function runWithoutSession(
  command: 'completion' | 'demo' | 'init',
  { flags, words }: ParsedArguments,
  program: Program,
): Promise<number> {
  if (command === 'completion') {
    const { completion } = await import('./completion/completion.ts')
    return completion(words, program)
  }
  if (command === 'demo') {
    const { demo } = await import('./demo/demo.ts')
    return demo(flags, program)
  }
  const { init } = await import('./init/init.ts')
  return init(program)
}

async function runLoop(flags: Flags, words: readonly string[], program: Program): Promise<number> {
  for (const warning of flagWarnings(flags)) program.output.err(programMessage(warning))
  const { loop } = await import('./loop/loop.ts')
  return loop(flags, words, program)
}

async function runCluster(
  command: 'cluster' | 'serve',
  { flags, words }: ParsedArguments,
  program: Program,
): Promise<number> {
  if (command === 'serve') {
    const { serve } = await import('./cluster/serve.ts')
    return serve(flags, program)
  }
  const [what, ...others] = words
  if (what === 'budget') {
    const { tenantBudget } = await import('./cluster/tenant-budget.ts')
    return tenantBudget(flags, others, program)
  }
  const { cluster } = await import('./cluster/dev.ts')
  return cluster(flags, words, program)
}

async function showHelpOfCall({ flags, words }: ParsedArguments, program: Program, command?: Command): Promise<number> {
  const { pageForCall } = await import('./flags/help-page.ts')
  return showHelp(pageForCall(command, flags, words), program)
}

async function showHelp(page: HelpPage, { output }: Program): Promise<number> {
  const { helpText } = await import('./flags/help.ts')
  output.out(helpText(page, output.width))
  return 0
}

async function showVersion(program: Program): Promise<number> {
  const { versionOf } = await import('./version.ts')
  program.output.out(`2.1.0 (halting ${versionOf(program)})\n`)
  return 0
}

/** Errors of core for invalid options have the code `configuration`. Checks the code, so that core need not be loaded. */
function isUsage(thrown: unknown): boolean {
  return (
    thrown instanceof UsageError || (thrown instanceof Error && 'code' in thrown && thrown.code === 'configuration')
  )
}

function errorText(thrown: unknown): string {
  if ((isUsage(thrown) && thrown instanceof Error) || thrown instanceof FailedError) return thrown.message
  // A disk or store failed while closing, or an update replaced the program (bin/halting.js). Neither is a bug of the program.
  if (thrown instanceof Error && 'code' in thrown && ['driver', 'replaced'].includes(String(thrown.code)))
    return thrown.message
  return `internal error: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`
}
