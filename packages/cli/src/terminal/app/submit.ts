import { ConfigurationError } from '@halting/core'
import { undoChanges } from '../commands/session-commands.ts'
import { setAnotherModel } from '../commands/setting-commands.ts'
import { commandNames, runCommand } from '../commands/table.ts'
import { shellCommandIn } from '../shell/shell-command.ts'
import type { ShellCommands } from '../shell/shell-commands.ts'
import { actionFor, type OfferedAction } from '../view/ending-actions.ts'
import type { AppContext } from './context.ts'
import type { Conversation } from './conversation.ts'
import type { When } from './prompt-sender.ts'
import { nearest } from '../../flags/nearest.ts'

/** An empty line this soon after an ending, in milliseconds, was meant for the previous screen content. */
const strayMs = 500

/** The text that, sent alone, retries a service that the session waits for. */
export const retryKey = 'r'

export function isWaitingForService({ open }: Pick<AppContext, 'open'>): boolean {
  return (open?.session.snapshot.serviceWaits.length ?? 0) > 0
}

/** Handles a submitted line: an offered action, a command, a shell command, or a prompt. */
export function createSubmit(
  app: AppContext,
  conversation: Conversation,
  shell: ShellCommands,
  now: () => number,
): (text: string, when: When) => void {
  return (text, when) => {
    const offer = actionFor(text, conversation.offered)
    const isStray = text.trim() === '' && now() - conversation.offeredAt < strayMs
    if (offer !== undefined && !isStray) return runAction(offer, app, conversation)
    if (text.trim() === '') return
    // The key counts only if sent alone, like the offered actions, because a message may start with it.
    if (text.trim() === retryKey && isWaitingForService(app)) return runCommand(app, 'retry')
    // `exit` and `quit` end the program, as in a shell.
    if (/^\s*(?:exit|quit)\s*$/.test(text)) return runCommand(app, 'quit')
    app.history.add(text)
    app.editor.remember(text)
    const typed = shellCommandIn(text)
    if (typed !== undefined && app.cluster !== undefined) {
      app.editor.setText(text)
      return app.note(
        `Not run: ! runs commands on this machine, and this session is on the cluster ${app.cluster.url}.`,
      )
    }
    if (typed !== undefined) return shell.run(typed)
    const customCommands = app.open?.commands.map(({ name }) => name) ?? []
    const read = parseSlashCommand(text, commandNames, customCommands)
    // Custom commands are known only once the session is open, and those of a worker only once it has reported them.
    // Until then, an unknown command is sent to the session, which reports it.
    const isKnown = app.cluster === undefined || customCommands.length > 0
    if (read.kind === 'unknown' && app.open !== undefined && isKnown) {
      // The text returns to the editor, where it can be corrected.
      app.editor.setText(text)
      return app.note(read.says)
    }
    if (read.kind === 'own') return runCommand(app, read.name, read.argument)
    conversation.withdrawOffers()
    app.promptSender.send(text, when)
  }
}

/** Runs an action that was offered after an ending. */
function runAction({ effect }: OfferedAction, app: AppContext, conversation: Conversation): void {
  const session = app.open?.session
  if (session === undefined) return
  if (effect.type === 'why') return runCommand(app, 'why')
  // The actions stay available if nothing is chosen.
  if (effect.type === 'undo') return reportFailure(app, undoChanges(app))
  if (effect.type === 'another_model') {
    const { limits } = effect
    const resumeWithAnotherModel = async (): Promise<void> => {
      if (!(await setAnotherModel(app))) return
      session.resume(limits)
      conversation.withdrawOffers()
    }
    return reportFailure(app, resumeWithAnotherModel())
  }
  try {
    if (effect.type === 'go_on') session.resume(effect.limits)
    else if (effect.type === 'compact') session.compact()
    else if (effect.type === 'approve') session.approve(effect.approvals)
    else if (effect.type === 'last_answer') {
      if (Object.keys(effect.limits).length > 0) session.set({ limits: effect.limits })
      session.lastAnswer()
    } else app.promptSender.send(effect.text, 'next')
    conversation.withdrawOffers()
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown
    app.note(thrown.message)
  }
}

function reportFailure(app: AppContext, work: Promise<void>): void {
  void work.catch((thrown: unknown) => app.fail(thrown))
}

type SlashCommand =
  /** Not a command but a prompt. */
  | { readonly kind: 'prompt' }
  | { readonly kind: 'own'; readonly name: string; readonly argument: string }
  /** A command from a file or an MCP server: it is sent as a prompt. */
  | { readonly kind: 'written'; readonly name: string }
  | { readonly kind: 'unknown'; readonly says: string }

/** Parses a line that starts with a slash. A path is not a command. */
export function parseSlashCommand(
  text: string,
  builtin: readonly string[],
  customCommands: readonly string[],
): SlashCommand {
  const [, name = '', argument = ''] = /^\/([^\s/]+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? []
  if (name === '') return { kind: 'prompt' }
  if (builtin.includes(name)) return { kind: 'own', name, argument: argument.trim() }
  if (customCommands.includes(name)) return { kind: 'written', name }
  const suggestion = nearest(name, [...builtin, ...customCommands])
  const hint = suggestion === undefined ? '/help lists the commands.' : `Did you mean /${suggestion}?`
  return { kind: 'unknown', says: `Unknown command /${name}. ${hint}` }
}
