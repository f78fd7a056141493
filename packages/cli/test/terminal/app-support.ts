import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Flags } from '../../src/flags/flags.ts'
import type { Program } from '../../src/program.ts'
import { openLiveSession } from '../../src/flags/open-session.ts'
import { type App, createApp } from '../../src/terminal/app/app.ts'
import type { OpenSession, ClusterConnection } from '../../src/terminal/app/context.ts'
import { openSessionOf } from '../../src/terminal/app/open-session.ts'
import { fileList } from '../../src/terminal/completion/file-list.ts'
import { openHistory, type PromptHistory } from '../../src/terminal/history/history-file.ts'
import { bindingsOf } from '../../src/terminal/keys/keybindings.ts'
import { createScreen } from '../../src/terminal/screen/screen.ts'
import { createTheme } from '../../src/terminal/theme.ts'
import { programInMemory } from '../support/program-in-memory.ts'
import { type VirtualTerminal, virtualTerminal } from './virtual-terminal.ts'

// The interactive program in a terminal in memory, with a scripted model over loopback.

export const key = {
  enter: '\r',
  altEnter: '\u001B\r',
  escape: '\u001B[27u',
  altUp: '\u001B[1;3A',
  up: '\u001B[A',
  down: '\u001B[B',
  shiftTab: '\u001B[Z',
  tab: '\t',
  backspace: '\u007F',
  ctrl: (letter: string): string => String.fromCharCode(letter.charCodeAt(0) - 96),
  paste: (text: string): string => `\u001B[200~${text}\u001B[201~`,
}

/** Waits as long as a person who reads the question first: earlier keys do not count as an answer. */
export const answerDelay = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 450))

export interface RunningApp {
  readonly terminal: VirtualTerminal
  readonly app: App
  readonly history: PromptHistory
  readonly cwd: string
  readonly home: string
  /** Sessions that were opened, in order. */
  readonly sessions: readonly OpenSession[]
  readonly type: (...data: readonly string[]) => void
  /** Types a line, and sends it. */
  readonly say: (text: string) => void
  /** Resolves when no run is active, and no prompt is queued. */
  readonly settled: () => Promise<void>
}

export interface AppSetup {
  readonly replies?: readonly unknown[]
  readonly script?: Readonly<Record<string, unknown>>
  readonly flags?: Flags
  readonly files?: Readonly<Record<string, string>>
  readonly keybindings?: unknown
  readonly prompt?: string
  readonly columns?: number
  readonly rows?: number
  /** Starts again in the folders of an earlier start. */
  readonly again?: Pick<RunningApp, 'cwd' | 'home'>
  readonly env?: Readonly<Record<string, string>>
  /** Typed before the session is open. */
  readonly whileOpening?: readonly string[]
  /** Opens the session; from flags and settings when absent. */
  readonly open?: (flags: Flags, program: Program) => Promise<OpenSession>
  /** Opens the sessions of `open`; on this machine when absent. */
  readonly cluster?: ClusterConnection
  /** Milliseconds; the usual time when absent. */
  readonly now?: () => number
  /** Text on the screen once the session is open; the name of its model when absent. */
  readonly opensWith?: string
}

export async function startApp(setup: AppSetup = {}): Promise<RunningApp> {
  const cwd = setup.again?.cwd ?? folder('halting-app-')
  const home = setup.again?.home ?? folder('halting-home-')
  for (const [name, text] of Object.entries(setup.files ?? {})) {
    mkdirSync(join(cwd, name, '..'), { recursive: true })
    writeFileSync(join(cwd, name), text)
  }
  const script = join(home, 'script.json')
  writeFileSync(script, JSON.stringify({ replies: setup.replies ?? [], ...setup.script }))
  const env = { PATH: process.env['PATH'], HOME: home, ...setup.env }
  const terminal = virtualTerminal({ columns: setup.columns ?? 80, rows: setup.rows ?? 24 })
  const screen = createScreen(terminal)
  const history = await openHistory({
    folder: join(home, '.halting'),
    cwd,
    redact: (text) => text,
    now: () => new Date(),
    onProblem: () => undefined,
  })
  const opened: OpenSession[] = []
  const open = setup.open ?? openTestSession
  const app = createApp({
    screen,
    program: programInMemory({ cwd, env, isTerminal: true }),
    flags: setup.cluster === undefined ? { script, ...setup.flags } : (setup.flags ?? {}),
    ...(setup.cluster !== undefined && { cluster: setup.cluster }),
    bindings: bindingsOf(setup.keybindings, 'keybindings.json'),
    history,
    files: setup.cluster === undefined ? fileList(cwd, () => performance.now()) : undefined,
    theme: createTheme('none'),
    async openSession(flags, program) {
      const live = await open(flags, program)
      opened.push(live)
      return live
    },
    branch: () => '',
    now: setup.now ?? (() => Date.now()),
  })
  screen.start()
  onTestFinished(async () => {
    app.leave(0)
    await app.ended.catch(() => undefined)
    await screen.stop()
  })
  app.begin({ prompt: setup.prompt ?? '' })
  for (const data of setup.whileOpening ?? []) terminal.type(data)
  const { model = 'scripted' } = setup.script ?? {}
  await terminal.waitFor(setup.opensWith ?? (setup.cluster === undefined ? ` · ${String(model)}` : 'on the cluster'))
  const type = (...data: readonly string[]): void => data.forEach((each) => terminal.type(each))
  return {
    terminal,
    app,
    history,
    cwd,
    home,
    sessions: opened,
    type,
    say: (text) => type(text, key.enter),
    async settled() {
      await app.settled()
      // A frame is drawn a moment after the change that it shows.
      await new Promise((resolve) => setTimeout(resolve, 40))
      await terminal.arrived()
    },
  }
}

async function openTestSession(flags: Flags, program: Program): Promise<OpenSession> {
  return openSessionOf(
    await openLiveSession(flags, program, { answersQuestions: true, unmetWithoutWork: 'end', background: 'keep' }),
  )
}

export function folder(prefix: string): string {
  const made = mkdtempSync(join(tmpdir(), prefix))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}
