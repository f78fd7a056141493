import { ConfigurationError } from '@halting/core'
import { commandNames, ownCommandNamed } from '../commands/table.ts'
import { readCommand } from '../commands/parse-command.ts'
import { ownCommandIn } from '../shell/own-command.ts'
import type { OwnCommands } from '../shell/own-commands.ts'
import { actionFor, type EndingAction } from '../view/ending-actions.ts'
import type { AppContext } from './context.ts'
import type { Conversation } from './conversation.ts'
import type { When } from './hand-in.ts'

/** An empty line so soon after an ending was meant for what stood there before. */
const strayMs = 500

/** What a line that was sent means: an offer of the last ending, a command, a command of the shell, or something to say. */
export function createSubmit(
  app: AppContext,
  conversation: Conversation,
  own: OwnCommands,
  now: () => number,
): (text: string, when: When) => void {
  return (text, when) => {
    const offer = actionFor(text, conversation.offered)
    const isStray = text.trim() === '' && now() - conversation.offeredAt < strayMs
    if (offer !== undefined && !isStray) return take(offer, app, conversation)
    if (text.trim() === '') return
    app.history.add(text)
    app.editor.remember(text)
    const shell = ownCommandIn(text)
    if (shell !== undefined) return own.run(shell)
    const written = app.open?.commands.map(({ name }) => name) ?? []
    const read = readCommand(text, commandNames, written)
    // Which ones there are is known when the session is open: it says so then.
    if (read.kind === 'unknown' && app.open !== undefined) {
      // It stays where it can be put right.
      app.editor.setText(text)
      return app.note(read.says)
    }
    if (read.kind === 'own') {
      const command = ownCommandNamed(read.name)
      void (async () => command?.run(app, read.argument))().catch((thrown: unknown) => app.fail(thrown))
      return
    }
    conversation.withdrawOffers()
    app.handIn.send(text, when)
  }
}

/** Goes on after an ending, as it was offered. */
function take({ deed }: EndingAction, app: AppContext, conversation: Conversation): void {
  const session = app.open?.session
  if (session === undefined) return
  if (deed.type === 'why') {
    void (async () => ownCommandNamed('why')?.run(app, ''))().catch((thrown: unknown) => app.fail(thrown))
    return
  }
  try {
    if (deed.type === 'go_on') session.resume(deed.limits)
    else if (deed.type === 'compact') session.compact()
    else if (deed.type === 'approve') session.approve(deed.approvals)
    else {
      if (Object.keys(deed.limits).length > 0) session.set({ limits: deed.limits })
      app.handIn.send(deed.text, 'next')
    }
    conversation.withdrawOffers()
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown
    app.note(thrown.message)
  }
}
