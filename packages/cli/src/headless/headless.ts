import type { MessageContent, QueryOptions, SdkMessage } from '@halting/core'
import { backgroundOf, endSession, type SessionJournal, type Settings } from '@halting/agent'
import type { Flags } from '../flags/flags.ts'
import { told } from '../io/figures.ts'
import { readPiped } from '../io/stdin.ts'
import { styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import { backgroundOptions } from '../session/background.ts'
import { wantedAfter } from '../session/after.ts'
import { agentsOf } from '../session/agents.ts'
import { briefingOf } from '../session/briefing.ts'
import { checkpointsOf } from '../session/checkpoints.ts'
import type { Ask } from '../session/go-on.ts'
import type { HookSession, SessionHooks } from '../session/hooks.ts'
import { chooseSession, type ChosenSession, closeSession, openSession } from '../session/kept-session.ts'
import { type Models, openModels } from '../session/models.ts'
import { queryOptionsOf } from '../session/options.ts'
import type { Briefing } from '../session/read-briefing.ts'
import { applyEnvironment, settingsFor } from '../session/run-settings.ts'
import type { SessionServers } from '../session/mcp.ts'
import { openToolbox, type Toolbox } from '../session/toolbox.ts'
import { whose } from '../session/whose.ts'
import { UsageError } from '../usage-error.ts'
import type { AfterTheRun } from './after.ts'
import { type Interruption, watchInterruption } from './interruption.ts'
import { createReport } from './report.ts'
import { type Disposal, runPrompt } from './run.ts'

/** `halting -p`: one prompt, one run, one ending; or a session that goes on. Returns the exit code. */
export async function headless(given: Flags, words: readonly string[], outer: Program): Promise<number> {
  const { output, cwd, stdin } = outer
  const [written = ''] = words
  const isNew = given.resume === undefined && given.continue !== true
  if (isNew && written.trim() === '' && stdin.isTTY) throw noPrompt()
  if (isNew) refuseCompact(written)
  const run = await settingsFor(given, outer)
  applyEnvironment(run)
  const { flags, env, settings } = run
  const program = { ...outer, env }
  const chosen = await chooseSession(flags, program)
  const checkpoints = checkpointsOf(flags, chosen, program)
  const toolbox = openToolbox(flags, cwd, env, settings, {
    ...chosen,
    ...(checkpoints !== undefined && { checkpoints }),
  })
  // A run that has no prompt says so before it asks for a key; one that has a prompt does not wait for a pipe to say what it lacks.
  const piped = written.trim() === '' ? await promptOf(written, program, isNew) : undefined
  const briefing = await briefingOf(run, program, toolbox)
  tellBriefing(briefing, flags, output)
  const said = piped ?? written
  const naming = namesSomething.test(said) ? await import('../session/said.ts') : undefined
  const forModel = (await naming?.withModelOfCommand(said, run, given, briefing, output)) ?? run
  const models = await openModels(forModel, cwd)
  for (const warning of models.warnings) output.err(told(warning))
  if (!models.keepsFiles) checkpoints?.turnOff()
  try {
    if (flags.sandbox === true || settings.sandbox !== undefined) {
      const { holdCommands } = await import('../session/sandbox.ts')
      await holdCommands(flags, settings, toolbox, program)
    }
    const servers = await serversOf(flags, settings, toolbox, program, models)
    try {
      const agents = await agentsOf(forModel, program, toolbox, models, briefing)
      for (const warning of agents?.warnings ?? []) output.err(told(warning))
      const options = await queryOptionsOf(flags, program, toolbox, models, briefing, agents)
      const prompt = piped ?? (await promptOf(written, program, isNew))
      const content = (await naming?.contentOf(said, prompt, briefing, toolbox, output)) ?? prompt
      const called = { flags, program, toolbox, options, written, prompt, content, chosen, settings, servers, models }
      return await runInSession(called)
    } finally {
      await servers?.end()
    }
  } finally {
    await models.close()
  }
}

/** Connects to the servers of the session, where it has some. */
async function serversOf(
  flags: Flags,
  settings: Settings,
  toolbox: Toolbox,
  program: Program,
  { model }: Pick<Models, 'model'>,
): Promise<SessionServers | undefined> {
  if (flags.mcpConfig === undefined && settings.mcpServers === undefined) return undefined
  const { openServers, serverEntries } = await import('../session/mcp.ts')
  const entries = await serverEntries(flags, settings, program, toolbox.workspace.env)
  if (entries.length === 0) return undefined
  return openServers({ entries, toolbox, settings, program, contextWindow: flags.contextWindow ?? model.contextWindow })
}

/** Where a prompt names a command or a file, as far as one can tell without looking. */
const namesSomething = /^\s*\/|(?:^|[\s(])@\S/

function tellBriefing(briefing: Briefing | undefined, flags: Flags, output: Program['output']): void {
  for (const line of briefing?.warnings ?? []) output.err(told(line))
  if (flags.verbose !== true) return
  for (const line of briefing?.read ?? []) output.err(told(line))
}

/** A run does not wait for it, and goes on without it: what is not removed today goes tomorrow. */
async function cleanUpBeside(settings: Settings, program: Program): Promise<void> {
  try {
    const { cleanUp } = await import('../session/clean-up.ts')
    await cleanUp(settings, program)
  } catch {
    // Nothing of a run depends on it.
  }
}

interface Called {
  readonly flags: Flags
  readonly program: Program
  readonly toolbox: Toolbox
  readonly options: QueryOptions
  readonly written: string
  readonly prompt: string
  /** The prompt as it is sent. */
  readonly content: MessageContent
  readonly chosen: ChosenSession
  readonly settings: Settings
  readonly servers: SessionServers | undefined
  readonly models: Pick<Models, 'smallModel'>
}

/** The session is written by this process alone until all of the run is on disk. */
async function runInSession(called: Called): Promise<number> {
  const { flags, program, toolbox, options, written, prompt, chosen, settings, servers } = called
  const { output, env, argv } = program
  const journal = await openSession(chosen, program)
  // The session of this run is held by now: however old it is, it stays.
  if (journal !== undefined) void cleanUpBeside(settings, program)
  const interruption = watchInterruption(output)
  let hasBegun = false
  try {
    const { ask, afterwards } = await askOf(called, journal, interruption.signal)
    // The mode may be that of a plan by now.
    const begun = { ...options.init, permissionMode: toolbox.permissions.mode }
    const init = withServers(begun, await servers?.begin())
    const { sessionId } = chosen
    const style = styleFor(output.isTerminal.stderr, env)
    const isKept = journal !== undefined
    const report = createReport({ flags, output, style, toolbox, sessionId, isKept, asked: { argv, written, prompt } })
    const watcher: typeof report = {
      ...report,
      hear(event) {
        hasBegun = true
        report.hear(event)
      },
      see(message) {
        if (!isOfBriefing(message)) report.see(message)
        // Whoever waits for the result alone need not read on, and gets the exit code of the run.
        if (message.type === 'result' && after !== undefined) output.readerMayLeave()
      },
    }
    const session = journal === undefined ? {} : { session: journal }
    const after = await afterOf(called, interruption.signal, journal !== undefined)
    const told = after === undefined ? {} : { called: after.called }
    const hooks = await hooksOf({ flags, program, toolbox, chosen, journal, settings, ...told }, options)
    const background = backgroundOf(toolbox.workspace, {
      ...backgroundOptions(flags, settings, env),
      ...(journal !== undefined && { session: journal }),
    })
    const all = { ...options, ...servers?.options, ...hooks?.options, ...session, init, background }
    const disposal = disposalOf(called, hooks)
    const watching = hooks?.watch(watcher) ?? watcher
    const exitCode = await runPrompt(ask, all, disposal, withHooks(interruption, hooks), watching, after)
    await afterwards?.()
    return exitCode
  } finally {
    interruption.release()
    await closeSession(journal, hasBegun, chosen)
  }
}

/** What `init` tells with the servers that are there: their prompts are commands beside those that people wrote. */
function withServers(init: QueryOptions['init'], told: QueryOptions['init']): QueryOptions['init'] {
  const commands = [...(init?.slash_commands ?? []), ...(told?.slash_commands ?? [])]
  return told === undefined ? init : { ...init, ...told, slash_commands: commands }
}

/** The program's own hook is no hook of a person's. */
function isOfBriefing(message: SdkMessage): boolean {
  return message.type === 'system' && 'hook_id' in message && message.hook_id === 'halting:folder'
}

/** What comes after the run, where something was asked for. Of a session that is not kept no notes are. */
async function afterOf(called: Called, signal: AbortSignal, isKept: boolean): Promise<AfterTheRun | undefined> {
  const { flags, settings, models, program, options, written } = called
  const wanted = wantedAfter(flags, settings, program.env)
  if (wanted === undefined) return undefined
  const { openAfter } = await import('./after.ts')
  const { stagesFor } = await import('../session/stages.ts')
  const { smallModel } = models
  // What was piped in is no word of the person, also where it is all of the prompt: others may have written it.
  const notes = { owner: whose(program), settings, model: smallModel ?? options.model, written }
  const stages = await stagesFor({ ...wanted, notes: wanted.notes && isKept }, notes)
  return openAfter({ ...wanted, stages, model: smallModel, signal, isVerbose: flags.verbose === true })
}

async function hooksOf(session: HookSession, options: QueryOptions): Promise<SessionHooks | undefined> {
  if (Object.keys(session.settings.hooks ?? {}).length === 0) return undefined
  const { openHooks } = await import('../session/hooks.ts')
  return openHooks(session, options)
}

function disposalOf(
  { toolbox: { workspace }, servers, program: { output } }: Called,
  hooks: SessionHooks | undefined,
): Disposal {
  return {
    begun: (engine) => servers?.attach(engine),
    dispose: () =>
      endSession({
        workspace,
        servers,
        hooks,
        onStopped: (commands) => output.err(told(`stopped with the run: ${commands.join('; ')}.`)),
      }),
  }
}

function withHooks(interruption: Interruption, hooks: SessionHooks | undefined): Interruption {
  if (hooks === undefined) return interruption
  return {
    signal: AbortSignal.any([interruption.signal, hooks.signal]),
    get exitCode() {
      return interruption.exitCode
    },
    release: () => interruption.release(),
  }
}

async function askOf(
  { flags, toolbox, prompt, content, chosen: { sessionId }, program, servers }: Called,
  journal: SessionJournal | undefined,
  signal: AbortSignal,
): Promise<Ask> {
  if (prompt === '' && journal !== undefined) {
    const { goOn } = await import('../session/go-on.ts')
    return goOn(journal, { sessionId, flags, permissions: toolbox.permissions }, program)
  }
  if (journal?.open !== undefined)
    program.output.err(
      told('the run before did not end. It is closed first: what it had begun and not finished is told as unknown.'),
    )
  const answered = prompt.startsWith('/mcp__') ? await servers?.prompt(prompt, signal) : undefined
  return { ask: (engine) => engine.submit(answered ?? content) }
}

/** What was written as an argument, and then what was piped in. A session that goes on needs none. */
async function promptOf(written: string, { stdin, output }: Program, isNeeded: boolean): Promise<string> {
  const hasPrompt = written.trim() !== ''
  const piped = await readPiped(stdin, output, hasPrompt || !isNeeded)
  const prompt = [written, piped].filter((part) => part.trim() !== '').join('\n\n')
  if (!isNeeded) return prompt
  if (prompt === '') throw noPrompt()
  refuseCompact(prompt)
  return prompt
}

/** @throws UsageError for a command that needs a conversation: there is none yet. */
function refuseCompact(prompt: string): void {
  if (!/^\/compact(?:\s|$)/.test(prompt)) return
  throw new UsageError(
    'There is no conversation to compact: halting -p begins a new one. A run makes room by itself when its window fills up; --autocompact says when.',
  )
}

function noPrompt(): UsageError {
  return new UsageError(
    'There is no prompt. Write it behind -p (halting -p "What does this project do?"), or pipe it in.',
  )
}
