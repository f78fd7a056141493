import { createSession } from '@halting/core/session'
import { cpSync, existsSync, mkdtempSync, rmSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endings, type RunEvent, type RunResult, type SdkMessage } from '@halting/core'
import type { Flags } from '../flags/flags.ts'
import { sessionPorts } from '../flags/session-ports.ts'
import { exitCodeOf, figuresOf, tokensOf } from '../headless/ending.ts'
import { watchInterruption, type Interruption } from '../headless/interruption.ts'
import { runOnce } from '../headless/run.ts'
import { createStepPrinter } from '../headless/step-printer.ts'
import { counted, elapsed, many, money } from '../io/figures.ts'
import { styleFor, type Style } from '../io/style.ts'
import type { Program } from '../program.ts'
import { queryOptionsOf, openToolbox } from '@halting/agent/open-session'
import { openModels, noPlugins, noSettings } from '@halting/agent/session-settings'
import { UsageError } from '../usage-error.ts'
import { pageFor } from '../io/page.ts'
import { tableLines } from '../io/table.ts'
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'

const prompt = 'Read config.mjs and fix the bug on line 42. Run node check.mjs to check it.'
const rules = ['Edit(./config.mjs)', 'Bash(node check.mjs)']

/**
 * `halting demo`: fixes a bug in a copy of an example. The model is scripted; the loop, tools, permissions and HTTP are
 * real. Returns the exit code of the run.
 */
export async function demo({ keep = false }: Flags, program: Program): Promise<number> {
  const { output } = program
  const example = fileURLToPath(new URL('examples/fix-the-bug/', program.home))
  if (!existsSync(example))
    throw new UsageError(`The example was not found: ${example}. Reinstall halting; the package contains it.`)
  const folder = mkdtempSync(join(tmpdir(), 'halting-demo-'))
  const remove = (): void => {
    if (!keep) rmSync(folder, { recursive: true, force: true })
  }
  // Also removed when a second Ctrl-C exits at once.
  process.once('exit', remove)
  const interruption = watchInterruption(output)
  try {
    cpSync(example, folder, { recursive: true, filter: (path) => !path.endsWith('script.json') })
    return await runDemo({ example, folder, keep }, program, interruption)
  } finally {
    interruption.release()
    process.off('exit', remove)
    remove()
  }
}

interface DemoRun {
  readonly example: string
  readonly folder: string
  readonly keep: boolean
}

async function runDemo(
  { example, folder, keep }: DemoRun,
  program: Program,
  interruption: Interruption,
): Promise<number> {
  const { output } = program
  const style = styleFor(output.isTerminal.stdout, program.env)
  const say = (line: string): void => output.out(`${line}\n`)
  const sayWrapped = (line: string): void => say(pageFor(output, line))
  const flags: Flags = { script: join(example, 'script.json'), allowedTools: rules, maxTurns: 10, maxBudgetUsd: 5 }
  // Ignores settings, so that everybody sees the same.
  const run = { ...noSettings, choices: flags, env: program.env, plugins: noPlugins }
  const ports = sessionPorts({ ...program, cwd: folder }, flags)
  const toolbox = openToolbox(run, { ...ports, env: withNode(program.env) })
  const models = await openModels(run, ports)
  try {
    sayWrapped(
      style.bold(
        'The model is scripted: its answers come from a file, over HTTP on this machine. No key, no network, no cost.',
      ),
    )
    sayWrapped(style.dim(`Folder: ${folder} (a copy). Allowed: reading, ${rules.join(', ')}.`))
    sayWrapped(`\n${style.bold('>')} ${prompt}\n`)
    const options = await queryOptionsOf(flags, ports, toolbox, models)
    const steps = createStepPrinter(
      (text) => output.out(text),
      style,
      () => output.width,
      'all',
    )
    const end = (terminal: RunResult): void => {
      say(`\n${style.bold('What changed')}\n`)
      say(coloredPatch(diffOfFolders(example, folder), style))
      say(endingText(terminal, models.model.id, interruption, style))
      if (keep) say(`\nFolder: ${folder}`)
    }
    const session = createSession({
      options,
      journal: undefined,
      answersQuestions: false,
      permissions: toolbox.permissions,
      cwd: folder,
      end: () => toolbox.workspace.dispose(),
    })
    try {
      const watcher = {
        see: (message: SdkMessage) => steps.see(message),
        onEvent: (event: RunEvent) => steps.onEvent(event),
        end,
        after: () => undefined,
        release: () => undefined,
      }
      const ask = (): void => void session.prompt(prompt)
      return await runOnce({
        session,
        ask,
        interruption,
        watcher,
      })
    } finally {
      await session.close()
    }
  } finally {
    await models.close()
  }
}

/** Appends the directory of this Node to PATH, so that the check can run it. */
function withNode(env: Program['env']): Program['env'] {
  return { ...env, PATH: `${env['PATH'] ?? ''}${delimiter}${dirname(process.execPath)}` }
}

function coloredPatch(patch: string, style: Style): string {
  if (patch === '') return 'Nothing.'
  const paint = (line: string): string => {
    if (line.startsWith('@@') || line.startsWith('---') || line.startsWith('+++')) return style.dim(line)
    if (line.startsWith('+')) return style.green(line)
    return line.startsWith('-') ? style.red(line) : line
  }
  return patch.split('\n').map(paint).join('\n')
}

function endingText(terminal: RunResult, model: string, interruption: Interruption, style: Style): string {
  const { summary, signal, reason } = terminal
  const { input, output } = tokensOf(summary.usage)
  const isSuccess = endings[reason].exitCode === 0
  const rows = [
    ['reason', { text: reason, style: isSuccess ? style.green : style.red }],
    ['category', `${signal.reason}${signal.wasForceStopped() ? ' (forced)' : ''}`],
    ['message', signal.message],
    [
      'turns',
      `${many(summary.turns, 'turn')}, ${many(summary.requests, 'request')}, ${many(summary.toolResults, 'tool result')}`,
    ],
    ['tokens', `${counted(input)} in, ${counted(output)} out`],
    ['cost', `${money(terminal.costUsd)} at the prices of ${model} (not charged)`],
    ['duration', elapsed(terminal.durationMs)],
    ['exit code', String(exitCodeOf(terminal, interruption.exitCode))],
  ]
  const lines = tableLines(rows, { columns: [{}, {}] })
  return [style.bold(`Why it stopped (${figuresOf(terminal)})`), '', ...lines].join('\n')
}

/** A unified diff of the files of two folders; '' if they are equal. Files that exist only in `before` are ignored. */
function diffOfFolders(before: string, after: string): string {
  return fileNamesIn(after)
    .map((name) => [name, readIfPresent(join(before, name)), readIfPresent(join(after, name))] as const)
    .filter(([, old, now]) => old !== now)
    .map(([name, old, now]) =>
      createTwoFilesPatch(`a/${name}`, `b/${name}`, old, now, undefined, undefined, {
        context: 3,
        headerOptions: FILE_HEADERS_ONLY,
      }),
    )
    .join('\n')
}

function fileNamesIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .toSorted()
}

function readIfPresent(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
