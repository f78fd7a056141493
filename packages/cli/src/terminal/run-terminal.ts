import { redactSecrets } from '@halting/agent'
import type { Flags } from '../flags/flags.ts'
import { signalExitCodes } from '../io/exit-codes.ts'
import type { Program } from '../program.ts'
import { checkModel } from '../session/models.ts'
import { settingsFor } from '../session/run-settings.ts'
import { trustAtStart } from '../trust/at-start.ts'
import { UsageError } from '../usage-error.ts'
import { createApp } from './app/app.ts'
import { branchReader } from './app/branch.ts'
import { workTree } from './app/work-tree.ts'
import { openSessionOf } from './app/open-session.ts'
import { fileList } from './completion/file-list.ts'
import { openHistory } from './history/history-file.ts'
import { readKeybindings } from './keys/keybindings.ts'
import { createTheme, firstTheme, themeNamed } from './theme.ts'
import { ownFolder } from './own-folder.ts'
import { processTerminal } from './screen/process-terminal.ts'
import { createScreen } from './screen/screen.ts'
import { whyNoScreen } from './screen/usable.ts'

// All that is only for the interactive program is loaded with this file.

/** `halting` in a terminal: a conversation with runs, until it is left. Returns the exit code. */
export async function runTerminal(given: Flags, words: readonly string[], program: Program): Promise<number> {
  const { env, cwd, stdin, output } = program
  const why = whyNoScreen(env, { stdin, stdout: process.stdout })
  if (why !== undefined) throw new UsageError(why)
  await trustAtStart(given, program, { stdin, stderr: process.stderr })
  const run = await settingsFor(given, program)
  // Before the screen: without a key the first start is told on the plain terminal (spec R-SETUP-1a).
  checkModel(run)
  const { settings } = run
  const folder = ownFolder(program)
  const bindings = await readKeybindings(folder)
  const history = await openHistory({
    folder,
    cwd,
    redact: settings.redactSecrets === true ? redactSecrets : (text) => text,
    now: () => new Date(),
    onProblem: (message) => app.note(message),
  })
  // `--resume` alone asks which.
  const { resume, ...others } = given
  const flags = resume === '' ? others : given
  let isFirst = true
  const screen = createScreen(processTerminal(stdin, process.stdout), {
    onSignal: (signal) => app.leave(signalExitCodes[signal]),
  })
  const asked = given.theme ?? themeNamed(settings.theme)
  const theme = createTheme(firstTheme(asked, env, undefined))
  const branchOf = branchReader(cwd, () => performance.now())
  const tree = workTree(cwd, env, () => screen.requestFrame())
  const app = createApp({
    screen,
    program,
    flags,
    bindings,
    history,
    files: fileList(cwd, () => performance.now()),
    theme,
    async openSession(chosen, around) {
      // Loaded when the screen is there already.
      const { openLive } = await import('../session/open-live.ts')
      const live = await openLive(chosen, around, { answersQuestions: true, background: 'keep', isOneShot: isFirst })
      isFirst = false
      live.session.listen((event) => tree.onEvent(event))
      tree.look()
      return openSessionOf(live)
    },
    branch() {
      const branch = branchOf()
      return branch !== '' && tree.hasChanges ? `${branch}*` : branch
    },
    now: () => Date.now(),
  })
  screen.start()
  void screen.background.then((background) => {
    theme.choose(firstTheme(asked, env, background))
    screen.requestFrame()
  })
  for (const warning of bindings.warnings) app.note(warning)
  app.begin({ prompt: words[0] ?? '', ...(resume === '' && { command: 'resume' }) })
  let exitCode: number
  try {
    exitCode = await app.ended
  } finally {
    await screen.stop()
  }
  const last = app.last?.session.snapshot
  if (last?.file !== undefined && last.last !== undefined)
    output.out(`Go on with it: halting --resume ${app.last?.session.id}\n`)
  return exitCode
}
