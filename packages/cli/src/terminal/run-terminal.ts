import { homeFolder } from '@halting/policy/files'
import { notificationChannelOfClaude } from '@halting/policy'
import type { NotificationChannel, Settings } from '@halting/policy/settings'
import { redactSecrets } from '@halting/agent'
import { systemClock } from '@halting/core/steps'
import { createKeyRedactor } from '@halting/models'
import type { TerminalCluster } from '../cluster/terminal-cluster.ts'
import type { Flags } from '../flags/flags.ts'
import { runLimitOfTerminal, waitOfPeople } from '../flags/run-limit.ts'
import { signalExitCodes } from '../io/exit-codes.ts'
import { oneLine, programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { checkModel } from '@halting/agent/session-settings'
import { type RunSettings, settingsFor } from '../flags/session-ports.ts'
import { isTrueValue } from '../telemetry/true-value.ts'
import { trustAtStart } from '../trust/trust-question.ts'
import { UsageError } from '../usage-error.ts'
import { type AppOptions, createApp } from './app/app.ts'
import type { OpenSession } from './app/context.ts'
import { branchReader } from './app/branch.ts'
import { watchWorktree } from './app/worktree-status.ts'
import { openSessionOf } from './app/open-session.ts'
import { type FileList, fileList } from './completion/file-list.ts'
import { openHistory } from './history/history-file.ts'
import { readKeybindings } from './keys/keybindings.ts'
import { createTheme, firstTheme, themeNamed } from './theme.ts'
import { userFolder } from './user-folder.ts'
import { processTerminal } from './screen/process-terminal.ts'
import { createScreen } from './screen/screen.ts'
import { missingTerminalReason } from './screen/terminal-requirements.ts'

// Loads everything that only the interactive program needs.

/** `halting` in a terminal: a conversation until the person quits. Returns the exit code. */
export async function runTerminal(
  commandLineFlags: Flags,
  words: readonly string[],
  program: Program,
): Promise<number> {
  const { env, cwd, stdin, output } = program
  const why = missingTerminalReason(env, { stdin, stdout: process.stdout })
  if (why !== undefined) throw new UsageError(why)
  const cluster = await openCluster(commandLineFlags)
  const { settings, env: settingsEnv } =
    cluster === undefined ? await localSettings(commandLineFlags, program) : await userSettings(program)
  const folder = userFolder(program)
  const bindings = await readKeybindings(folder)
  const redactKeys = createKeyRedactor(env)
  const history = await openHistory({
    folder,
    cwd,
    redact: (text) => (settings.redactSecrets === true ? redactSecrets(redactKeys(text)) : redactKeys(text)),
    now: () => new Date(),
    onProblem: (message) => app.note(message),
  })
  // `--resume` without an id lets the person choose.
  const { resume, ...others } = commandLineFlags
  const flags = resume === '' ? others : commandLineFlags
  const screen = createScreen(processTerminal(stdin, process.stdout), {
    onSignal: (signal) => app.leave(signalExitCodes[signal]),
  })
  const chosen = commandLineFlags.theme ?? themeNamed(settings.theme)
  const theme = createTheme(firstTheme(chosen, env, undefined))
  const sessions =
    cluster === undefined ? localSessions(program, () => screen.requestFrame()) : clusterSessions(cluster)
  const app = createApp({
    screen,
    program,
    flags,
    bindings,
    history,
    ...(cluster !== undefined && { cluster }),
    theme,
    files: sessions.files,
    openSession: sessions.open,
    branch: () => sessions.place(app.last),
    notifications: channelOf(settings, program),
    keepsTitle: isTrueValue(settingsEnv['CLAUDE_CODE_DISABLE_TERMINAL_TITLE'] ?? ''),
    now: () => systemClock.now(),
  })
  screen.start()
  void screen.background.then((background) => {
    theme.choose(firstTheme(chosen, env, background))
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
  if (app.last !== undefined) output.out(sessions.resumeHint(app.last))
  return exitCode
}

/** How to alert the person: according to settings, else as configured in Claude Code, which is read in the background. */
function channelOf(settings: Settings, { cwd, env }: Program): () => NotificationChannel {
  let channel = settings.preferredNotifChannel
  if (channel === undefined)
    void notificationChannelOfClaude({ cwd, env, home: homeFolder(env) }).then(
      (chosen) => (channel = chosen),
      () => undefined,
    )
  return () => channel ?? 'auto'
}

/** The sessions of this machine or of a cluster, as the program uses them. */
interface Sessions {
  readonly files: FileList | undefined
  readonly open: AppOptions['openSession']
  /** The location of a session in a few words. */
  place(open: OpenSession | undefined): string
  /** The last line of the program: how to resume the session; '' if there is nothing to resume. */
  resumeHint(open: OpenSession): string
}

function localSessions({ cwd, env }: Program, changed: () => void): Sessions {
  const branchOf = branchReader(cwd, () => performance.now())
  const tree = watchWorktree(cwd, env, changed)
  let isFirst = true
  return {
    files: fileList(cwd, () => performance.now()),
    async open(chosen, around) {
      // Loaded after the screen is visible.
      const { openLiveSession } = await import('../flags/open-session.ts')
      const { ServerQuestions } = await import('./app/server-questions.ts')
      const questions = new ServerQuestions((text) => around.output.err(programMessage(oneLine(text, 1_000))))
      const live = await openLiveSession(chosen, around, {
        answersQuestions: true,
        confinesEdits: true,
        unmetWithoutWork: 'end',
        background: 'keep',
        isOneShot: isFirst,
        runLimit: runLimitOfTerminal,
        waitDefault: waitOfPeople,
        elicit: questions.ask,
      })
      questions.attach(live.session)
      isFirst = false
      live.session.listen((event) => tree.onEvent(event))
      tree.refresh()
      return openSessionOf(live, changed, questions)
    },
    place() {
      const branch = branchOf()
      return branch !== '' && tree.hasChanges ? `${branch}*` : branch
    },
    resumeHint({ session: { id, snapshot } }) {
      const isThere = snapshot.file !== undefined && snapshot.last !== undefined
      return isThere ? `Resume: halting --resume ${id}\n` : ''
    },
  }
}

function clusterSessions(cluster: TerminalCluster): Sessions {
  return {
    files: undefined,
    open: (chosen, around) => cluster.open(chosen, around),
    place: (open) => cluster.locationOf(open?.session),
    resumeHint: ({ session }) => cluster.resumeHint(session),
  }
}

async function openCluster({ cluster, admin }: Flags): Promise<TerminalCluster | undefined> {
  if (cluster === undefined) return undefined
  const { terminalCluster } = await import('../cluster/terminal-cluster.ts')
  return terminalCluster(cluster, admin)
}

/** Settings for sessions of this machine. */
async function localSettings(commandLineFlags: Flags, program: Program): Promise<RunSettings> {
  await trustAtStart(commandLineFlags, program, { stdin: program.stdin, stderr: process.stderr })
  const run = await settingsFor(commandLineFlags, program)
  // Before the screen starts: a missing key is reported on the plain terminal (spec R-SETUP-1a).
  checkModel(run, program)
  return run
}

/** Settings of this folder do not apply to a session on another machine. */
async function userSettings(program: Program): Promise<RunSettings> {
  return settingsFor({ settingSources: ['user'] }, program)
}
