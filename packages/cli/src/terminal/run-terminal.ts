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
import { oneLine, told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { checkModel } from '@halting/agent/session-settings'
import { type RunSettings, settingsFor } from '../flags/session-ports.ts'
import { isTrueValue } from '../telemetry/true-value.ts'
import { trustAtStart } from '../trust/trust-question.ts'
import { UsageError } from '../usage-error.ts'
import { type AppOptions, createApp } from './app/app.ts'
import type { OpenSession } from './app/context.ts'
import { branchReader } from './app/branch.ts'
import { workTree } from './app/work-tree.ts'
import { openSessionOf } from './app/open-session.ts'
import { type FileList, fileList } from './completion/file-list.ts'
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
  const cluster = await shownCluster(given)
  const { settings, env: settingsEnv } =
    cluster === undefined ? await ownSettings(given, program) : await settingsOfPerson(program)
  const folder = ownFolder(program)
  const bindings = await readKeybindings(folder)
  const redactKeys = createKeyRedactor(env)
  const history = await openHistory({
    folder,
    cwd,
    redact: (text) => (settings.redactSecrets === true ? redactSecrets(redactKeys(text)) : redactKeys(text)),
    now: () => new Date(),
    onProblem: (message) => app.note(message),
  })
  // `--resume` alone asks which.
  const { resume, ...others } = given
  const flags = resume === '' ? others : given
  const screen = createScreen(processTerminal(stdin, process.stdout), {
    onSignal: (signal) => app.leave(signalExitCodes[signal]),
  })
  const asked = given.theme ?? themeNamed(settings.theme)
  const theme = createTheme(firstTheme(asked, env, undefined))
  const sessions = cluster === undefined ? sessionsHere(program, () => screen.requestFrame()) : sessionsOf(cluster)
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
  if (app.last !== undefined) output.out(sessions.comingBack(app.last))
  return exitCode
}

/** How a person wants to be called: by their settings here, else as they told Claude Code. That is read beside, and nobody waits for it. */
function channelOf(settings: Settings, { cwd, env }: Program): () => NotificationChannel {
  let channel = settings.preferredNotifChannel
  if (channel === undefined)
    void notificationChannelOfClaude({ cwd, env, home: homeFolder(env) }).then(
      (chosen) => (channel = chosen),
      () => undefined,
    )
  return () => channel ?? 'auto'
}

/** Where sessions are, as the program shows them. */
interface Sessions {
  readonly files: FileList | undefined
  readonly open: AppOptions['openSession']
  /** Where this one is, in a few words. */
  place(open: OpenSession | undefined): string
  /** The last line: how one goes on with it; '' where there is nothing to go on with. */
  comingBack(open: OpenSession): string
}

function sessionsHere({ cwd, env }: Program, changed: () => void): Sessions {
  const branchOf = branchReader(cwd, () => performance.now())
  const tree = workTree(cwd, env, changed)
  let isFirst = true
  return {
    files: fileList(cwd, () => performance.now()),
    async open(chosen, around) {
      // Loaded when the screen is there already.
      const { openLiveSession } = await import('../flags/open-session.ts')
      const { ServerQuestions } = await import('./app/server-questions.ts')
      const questions = new ServerQuestions((text) => around.output.err(told(oneLine(text, 1_000))))
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
      tree.look()
      return openSessionOf(live, changed, questions)
    },
    place() {
      const branch = branchOf()
      return branch !== '' && tree.hasChanges ? `${branch}*` : branch
    },
    comingBack({ session: { id, snapshot } }) {
      const isThere = snapshot.file !== undefined && snapshot.last !== undefined
      return isThere ? `Resume: halting --resume ${id}\n` : ''
    },
  }
}

function sessionsOf(cluster: TerminalCluster): Sessions {
  return {
    files: undefined,
    open: (chosen, around) => cluster.open(chosen, around),
    place: (open) => cluster.locationOf(open?.session),
    comingBack: ({ session }) => cluster.resumeHint(session),
  }
}

async function shownCluster({ cluster, admin }: Flags): Promise<TerminalCluster | undefined> {
  if (cluster === undefined) return undefined
  const { terminalCluster } = await import('../cluster/terminal-cluster.ts')
  return terminalCluster(cluster, admin)
}

/** For a session of this machine. */
async function ownSettings(given: Flags, program: Program): Promise<RunSettings> {
  await trustAtStart(given, program, { stdin: program.stdin, stderr: process.stderr })
  const run = await settingsFor(given, program)
  // Before the screen: without a key the first start is told on the plain terminal (spec R-SETUP-1a).
  checkModel(run, program)
  return run
}

/** Nothing of this folder means anything to a session that is elsewhere. */
async function settingsOfPerson(program: Program): Promise<RunSettings> {
  return settingsFor({ settingSources: ['user'] }, program)
}
