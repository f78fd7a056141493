import type { SessionChoices } from '../open-session/choices.ts'
import type { SessionNotice } from '../open-session/ports.ts'

/** Options of `codingAgent` whose session choice has another name. */
const names: { readonly [choice in keyof SessionChoices]: string } = {
  addDir: 'additionalDirectories',
  tools: 'codingTools',
  maxTokens: 'maxTotalTokens',
  maxDuration: 'maxDurationMs',
  waitForLimits: 'waitForLimitsMs',
}

/** The option of `codingAgent` for a session choice. */
export function nameOfOption(choice: keyof SessionChoices): string {
  return names[choice] ?? choice
}

/** The text of a notice, for programs without their own texts. */
export function noticeText(notice: SessionNotice): string {
  switch (notice.kind) {
    case 'instructions':
    case 'agents':
    case 'prompt':
    case 'server':
    case 'hook':
      return notice.text
    case 'instructions_read':
    case 'memory_read':
      return `read ${notice.path}`
    case 'untrusted_settings': {
      const { trusted, folder, because } = notice.folder
      const why = trusted ? `added after ${folder} was trusted` : `${folder} is not trusted, ${because}`
      return `Ignored settings (${why}): ${settingsIn(notice)}. Review with \`halting trust\`.`
    }
    case 'trust_needed':
      return 'Review with `halting trust`.'
    case 'plugin_problem':
      return `the plugin ${notice.problem.plugin}: ${notice.problem.message}.`
    case 'plugin_hooks_off':
      return `hooks of plugins (${notice.plugins.join(', ')}) are ignored because of ${notice.setting} in ${notice.from}.`
    case 'unreadable_agents':
      return `The option agents ${notice.problem}. Use { name: { description: '…', prompt: '…' } }.`
    case 'unknown_agent':
      return `Unknown agent ${notice.name}.`
    case 'unknown_tool':
      return `codingTools: unknown tool ${notice.name}. Use names from ${[...notice.known, 'Skill'].join(', ')}.`
    case 'commands_stopped':
      return `stopped with the session: ${notice.commands.join('; ')}`
    case 'run_left_open':
      return 'The previous run was interrupted. It is closed first.'
    case 'session_taken_over':
      return `continuing a session of ${notice.program} (${notice.path}) as session ${notice.sessionId}`
    case 'no_price':
      return `no price is known for ${notice.models.join(', ')}, so dollar limits in the settings cannot be enforced; maxTurns is ${notice.maxTurns}`
    case 'session_not_stored':
      return `this session is not stored: ${notice.why}`
    case 'checkpoints_stopped':
      return `file contents are no longer saved for undo: ${notice.problem}`
    case 'sessions_removed':
      return `removed ${notice.sessions} sessions not used for ${notice.days} days`
    case 'sandbox_file_created':
      return `a sandboxed command created ${notice.path}, which programs outside the sandbox execute`
    case 'confined_file_taken_back':
      return `a confined command created ${notice.path}, which programs outside of its confinement obey; it was moved to ${notice.movedTo}`
    case 'confined_command_unchecked':
      return `what a confined command created could not be checked: ${notice.why}`
    case 'edits_unconfined':
      return `commands ask in acceptEdits although they could run confined: ${notice.why}. ${notice.todo}`
    case 'budgets_ignored':
      return notice.uncounted === undefined
        ? `standing budgets are ignored: ${notice.budgets.join(', ')}`
        : `cost is not recorded for standing budgets: ${notice.uncounted}`
    case 'sandbox_network_refused':
      return `the sandbox refused the network: ${notice.host}: ${notice.why}`
  }
}

function settingsIn({ ignored }: SessionNotice & { readonly kind: 'untrusted_settings' }): string {
  return [...new Set(ignored.map(({ setting }) => setting))].join(', ')
}
